import { brand } from '@gatehouse/web/brand';
import { dateAndTimeText, duration } from '@gatehouse/web/formatting';
import { t } from '../../texts/texts.ts';
import { type Mail, mail, type Occasion, occasion, plainName } from './mail-document.ts';
import { UNDO_HOURS } from './notice.ts';

export function verifyEmailMail(model: { link: string; username: string }): Mail {
  const account = { product: brand().name, username: plainName(model.username) };
  return mail(t('Confirm your email address'), [
    t('The {product} account “{username}” has this email address. Is it yours?', account),
    t('Open this link, sign in to that account, and press the button there:'),
    { link: model.link, label: t('Confirm my email address') },
    t('If this is not your account, you need not do anything. Somebody may have mistyped an email address.'),
  ]);
}

/** For who has confirmed the address, with their own username. */
export function addressClaimedMail({ username }: { username: string }): Mail {
  const account = { product: brand().name, username: plainName(username) };
  return mail(t('Somebody tried to create an account with your address'), [
    t(
      'Somebody gave this email address for a new {product} account. It belongs to your account {username}, and still does.',
      account,
    ),
    t(
      'If it was you, sign in to the account that you have. On the page where you sign in, “Forgotten your password?” helps.',
    ),
    t(
      'If it was not you, you need not do anything. Nobody else can confirm your address, or sign in with it.',
    ),
  ]);
}

/** After its owner has deleted an account. */
export function accountDeletedMail({ username }: { username: string }): Mail {
  const account = { product: brand().name, username: plainName(username) };
  return mail(t('Your account is deleted'), [
    t('The {product} account {username} is deleted, with the data that belongs to it alone.', account),
    t('If it was not you, tell the people who run this site: somebody else was signed in to your account.'),
  ]);
}

/** `days`: how long the link works. */
export type InvitationMail = {
  link: string;
  days: number;
  /** The name of the admin who sent it. */
  inviter: string;
  /** Of the account. */
  role: string;
  /** The application that the account joins as a member, and the role there. */
  member?: { application: string; role: string } | undefined;
};

export function invitationMail(model: InvitationMail): Mail {
  const product = brand().name;
  const { inviter, role, member } = model;
  return mail(t('You are invited to {product}', { product }), [
    t('{inviter} has invited you.', { inviter }),
    ...(role === 'user' ? [] : [t('Your account will have the role {role}.', { role })]),
    ...(member === undefined
      ? []
      : [t('You will be a member of the application {application}, with the role {role}.', member)]),
    t('You can create a {product} account with this email address:', { product }),
    { link: model.link, label: t('Create an account') },
    t('The link works once, for {days} days. Give it to nobody.', { days: model.days }),
    t('If you do not expect this, you need not do anything.'),
  ]);
}

/** `minutes`: how long the link works. */
export function newPasswordMail(model: { link: string; minutes: number }): Mail {
  return mail(t('Choose a new password'), [
    t('Somebody asked for a new password for your {product} account. If it was you, open this link:', {
      product: brand().name,
    }),
    { link: model.link, label: t('Choose a new password') },
    t('It works once, for {time}.', { time: duration(model.minutes * 60) }),
    t('If it was not you, you need not do anything. Your password stays as it is. Give the link to nobody.'),
  ]);
}

/** After a change was undone: the password no longer works. `minutes`: how long the link works. */
export function undoneMail(model: { link: string; username: string; minutes: number }): Mail {
  const account = { product: brand().name, username: plainName(model.username) };
  return mail(t('Choose a new password'), [
    t(
      'You have undone a change of your {product} account {username}. All its sessions have ended, and its password no longer works. Choose a new one:',
      account,
    ),
    { link: model.link, label: t('Choose a new password') },
    t(
      'This link works once, for {time}. Later, “Forgotten your password?” on the page where you sign in sends another one.',
      { time: duration(model.minutes * 60) },
    ),
    t('If you got mails about other changes that were not yours, open the links in those as well.'),
  ]);
}

/** The stage of a removal of lost second factors that a mail tells: it was asked for, it is near, or it can be done. */
export type FactorRecoveryMail = {
  stage: 'requested' | 'soon' | 'ready';
  readyAt: Date;
  address?: string | undefined;
};

/** `link` stops it, or in the last mail removes the factors. */
export function factorRecoveryMail(
  { stage, readyAt, address }: FactorRecoveryMail,
  { link, username }: { link: string; username: string },
): Mail {
  const account = { product: brand().name, username: plainName(username) };
  const time = dateAndTimeText(readyAt);
  const password = t(
    'If it was not you, somebody else knows your password. Change it at once: that stops it as well, and so does each sign-in with a code or a passkey.',
  );
  const more = [
    t('If it was you, wait for that mail.'),
    password,
    t('Or open this link:'),
    { link, label: t('Stop this') },
  ];
  switch (stage) {
    case 'ready':
      return mail(t('Remove the app and the recovery codes'), [
        t(
          'Somebody who knows the password of your {product} account {username} has lost its authenticator app and its recovery codes. If it was you, open this link to remove them. Your password alone signs you in then:',
          account,
        ),
        { link, label: t('Remove the app and the codes') },
        t('It works once, for 72 hours. Give the link to nobody.'),
        password,
      ]);
    case 'requested':
      return mail(t('Somebody cannot enter a code for your account'), [
        address === undefined
          ? t(
              'Somebody who knows the password of your {product} account {username} said that its authenticator app and its recovery codes are lost. We send a link to this address on {time}, which removes them.',
              { ...account, time },
            )
          : t(
              'Somebody who knows the password of your {product} account {username}, from the address {address}, said that its authenticator app and its recovery codes are lost. We send a link to this address on {time}, which removes them.',
              { ...account, address, time },
            ),
        ...more,
      ]);
    case 'soon':
      return mail(t('The app and the recovery codes can soon be removed'), [
        t(
          'On {time} we send a link to this address, which removes the authenticator app and the recovery codes of your {product} account {username}, as somebody who knows its password has asked.',
          { ...account, time },
        ),
        ...more,
      ]);
  }
}

const restoring = (link: string) => [
  t('If it was not you, somebody else may be in your account. Open this link to restore this address:'),
  { link, label: t('Restore this address') },
  t(
    'It works once, for {hours} hours. It ends all sessions of the account, removes its passkeys, and an authenticator app that was set up lately, and you get a link to choose a new password. Give the link to nobody.',
    { hours: UNDO_HOURS },
  ),
];

/** For the address that the account had before; without a link if none gives it back. */
export function emailChangedMail(model: { link: string | undefined; username: string } & Occasion): Mail {
  const { link } = model;
  const values = { product: brand().name, username: plainName(model.username), when: occasion(model) };
  return mail(t('Your email address has been changed'), [
    t('The {product} account {username} got a new email address in place of this one on {when}.', values),
    t('If it was you, you need not do anything.'),
    ...(link === undefined
      ? [
          t(
            'If it was not you, tell the people who run this site. Where the account had another address in the last 72 hours, a link in the mail to that address restores it.',
          ),
        ]
      : restoring(link)),
  ]);
}

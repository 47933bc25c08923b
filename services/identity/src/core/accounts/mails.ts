import { PRODUCT } from '@gatehouse/web/document';
import { dateAndTimeText, duration } from '@gatehouse/web/formatting';
import { type Content, type Html, html, render } from '@gatehouse/web/html';

/** A mail without its addresses; `text` and `html` say the same. */
export type Mail = { subject: string; text: string; html: string };

export function verifyEmailMail(model: { link: string; username: string }): Mail {
  return mail('Confirm your email address', [
    `The ${PRODUCT} account “${plainName(model.username)}” has this email address. Is it yours?`,
    'Open this link, sign in to that account, and press the button there:',
    { link: model.link, label: 'Confirm my email address' },
    'If this is not your account, you need not do anything. Somebody may have mistyped an email address.',
  ]);
}

/** For who has confirmed the address, with their own username. */
export function addressClaimedMail({ username }: { username: string }): Mail {
  return mail('Somebody tried to create an account with your address', [
    `Somebody gave this email address for a new ${PRODUCT} account. It belongs to your account ${plainName(username)}, and still does.`,
    'If it was you, sign in to the account that you have. On the page where you sign in, “Forgotten your password?” helps.',
    'If it was not you, you need not do anything. Nobody else can confirm your address, or sign in with it.',
  ]);
}

/** `minutes`: how long the link works. */
export function newPasswordMail(model: { link: string; minutes: number }): Mail {
  return mail('Choose a new password', [
    `Somebody asked for a new password for your ${PRODUCT} account. If it was you, open this link:`,
    { link: model.link, label: 'Choose a new password' },
    `It works once, for ${duration(model.minutes * 60)}.`,
    'If it was not you, you need not do anything. Your password stays as it is. Give the link to nobody.',
  ]);
}

/** After a change was undone: the password no longer works. `minutes`: how long the link works. */
export function undoneMail(model: { link: string; username: string; minutes: number }): Mail {
  return mail('Choose a new password', [
    `You have undone a change of your ${PRODUCT} account ${plainName(model.username)}. All its sessions have ended, and its password no longer works. Choose a new one:`,
    { link: model.link, label: 'Choose a new password' },
    `This link works once, for ${duration(model.minutes * 60)}. Later, “Forgotten your password?” on the page where you sign in sends another one.`,
    'If you got mails about other changes that were not yours, open the links in those as well.',
  ]);
}

/** What a mail about the removal of lost second factors says: that it was asked for, that it is near, or that it can be done. */
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
  const account = `your ${PRODUCT} account ${plainName(username)}`;
  const from = address === undefined ? '' : `, from the address ${address},`;
  const password =
    'If it was not you, somebody else knows your password. Change it at once: that stops it as well, and so does each sign-in with a code or a passkey.';
  const stop = [password, 'Or open this link:', { link, label: 'Stop this' }];
  if (stage === 'ready') {
    return mail('Remove the app and the recovery codes', [
      `Somebody who knows the password of ${account} has lost its authenticator app and its recovery codes. If it was you, open this link to remove them. Your password alone signs you in then:`,
      { link, label: 'Remove the app and the codes' },
      'It works once, for 72 hours. Give the link to nobody.',
      password,
    ]);
  }
  return stage === 'requested'
    ? mail('Somebody cannot enter a code for your account', [
        `Somebody who knows the password of ${account}${from} said that its authenticator app and its recovery codes are lost. We send a link to this address on ${dateAndTimeText(readyAt)}, which removes them.`,
        'If it was you, wait for that mail.',
        ...stop,
      ])
    : mail('The app and the recovery codes can soon be removed', [
        `On ${dateAndTimeText(readyAt)} we send a link to this address, which removes the authenticator app and the recovery codes of ${account}, as somebody who knows its password has asked.`,
        'If it was you, wait for that mail.',
        ...stop,
      ]);
}

/** When a person did something, and the IP address that it came from, if that is known. */
export type Occasion = { at: Date; address?: string | undefined };

/** The kinds of new credentials of an application. */
export type NewCredential =
  | { what: 'a client secret' | 'public keys' }
  | { what: 'an API key' | 'an API key in place of another'; name: string };

/** For how many hours a link in a mail about a change undoes it. */
export const UNDO_HOURS = 72;

/** Changes of how an account is signed in to, which a link in the mail undoes. */
export const CHANGES = [
  'password_changed',
  'recovery_used',
  'passkey_added',
  'passkey_removed',
  'app_added',
  'app_removed',
  'recovery_codes_renewed',
  'identity_linked',
  'identity_unlinked',
] as const;

/** An event that a person gets a mail about, as somebody else may have caused it. `removed` is the id of what was removed. */
export type Notice =
  | ({ kind: 'password_changed' } & Occasion)
  /** A new password was set with a mailed link. */
  | ({ kind: 'recovery_used' } & Occasion)
  | { kind: 'new_device'; device: string; address: string; at: Date }
  | ({ kind: 'passkey_added' | 'passkey_removed'; passkey: string; removed?: string } & Occasion)
  | ({ kind: 'app_added' | 'app_removed' | 'recovery_codes_renewed'; removed?: string } & Occasion)
  /** Somebody signed in with a recovery code; `left` are the others. */
  | ({ kind: 'recovery_code_used'; left: number } & Occasion)
  | ({ kind: 'set_up_link_created' } & Occasion)
  /** Somebody who knows the password has entered too many wrong codes. */
  | ({ kind: 'codes_guessed' } & Occasion)
  /** `provider` is its name for people. */
  | ({ kind: 'identity_linked' | 'identity_unlinked'; provider: string; removed?: string } & Occasion)
  | ({ kind: 'new_credential'; application: string } & NewCredential)
  | { kind: 'application_given' | 'application_offered'; application: string };

/** `undo` is the link that undoes it, for one of CHANGES. */
export function noticeMail(
  notice: Notice,
  { username, undo = '' }: { username: string; undo?: string | undefined },
): Mail {
  const account = `your ${PRODUCT} account ${plainName(username)}`;
  const fine = 'If it was you, you need not do anything.';
  const ask =
    'Ask for a new password at once: open the page where you sign in, and choose “Forgotten your password?”. Then remove the passkeys of your account that are not yours.';
  const undoing = [
    'If it was not you, somebody else may be in your account. Open this link, which undoes it:',
    { link: undo, label: 'This was not me' },
    `It works once, for ${UNDO_HOURS} hours, and asks before it changes anything. Then all sessions of your account end, and you get a link to choose a new password. Give the link to nobody.`,
  ];
  switch (notice.kind) {
    case 'password_changed':
      return mail('Your password has been changed', [
        `The password of ${account} was changed or removed on ${occasion(notice)}. Other devices and all programs are signed out.`,
        fine,
        ...undoing,
      ]);
    case 'recovery_used':
      return mail('A link for a new password was used', [
        `A link that we sent to this address was used to choose a new password for ${account}, on ${occasion(notice)}.`,
        fine,
        'If it was not you, somebody else can read your mail. Change the password of your mailbox first.',
        ...undoing,
      ]);
    case 'new_device':
      return mail('A sign-in from a new device', [
        `Somebody signed in to ${account} from a device that we have not seen before:`,
        `${plainName(notice.device)}, at the address ${notice.address}, on ${dateAndTimeText(notice.at)}.`,
        fine,
        'If it was not you, somebody else can sign in as you. Sign in, change the password, and look at the sessions and passkeys of your account.',
      ]);
    case 'passkey_added':
      return mail('A passkey was added to your account', [
        `The passkey “${plainName(notice.passkey)}” was added to ${account} on ${occasion(notice)}. Whoever has it can sign in without your password.`,
        fine,
        ...undoing,
      ]);
    case 'passkey_removed':
      return mail('A passkey was removed from your account', [
        `The passkey “${plainName(notice.passkey)}” of ${account} was removed on ${occasion(notice)}. It no longer signs anybody in.`,
        fine,
        ...undoing,
      ]);
    case 'app_added':
      return mail('An authenticator app was set up for your account', [
        `An authenticator app was set up for ${account} on ${occasion(notice)}. Signing in with your password takes a code of that app from now on.`,
        fine,
        ...undoing,
      ]);
    case 'app_removed':
      return mail('The authenticator app was removed from your account', [
        `The authenticator app of ${account} was removed on ${occasion(notice)}. Your password alone signs you in.`,
        'If it was you, or you asked an admin for it, you need not do anything.',
        ...undoing,
      ]);
    case 'recovery_codes_renewed':
      return mail('You have new recovery codes', [
        `New recovery codes were made for ${account} on ${occasion(notice)}. The old ones no longer work.`,
        fine,
        ...undoing,
      ]);
    case 'recovery_code_used':
      return mail('A recovery code was used', [
        `Somebody signed in to ${account} with your password and a recovery code on ${occasion(notice)}. ${notice.left === 0 ? 'You have no codes left: get new ones on the page “Security” of your account.' : `You have ${notice.left} left.`}`,
        fine,
        `If it was not you, somebody else has your password and your codes. ${ask} Get new recovery codes as well.`,
      ]);
    case 'set_up_link_created':
      return mail('An admin created a link for your account', [
        `An admin created a link on ${occasion(notice)}, with which you set up anew how you sign in to ${account}. The admin gives it to you, and it works once, for 24 hours. It removes your password, your passkeys and your authenticator app.`,
        'If you asked for it, you need not do anything.',
        'If not, somebody may pretend to be you: tell an admin, and change your password. The link no longer works then.',
      ]);
    case 'codes_guessed':
      return mail('Somebody has your password', [
        `Somebody entered the password of ${account} and then too many wrong codes, last on ${occasion(notice)}. Nobody could sign in that way.`,
        fine,
        `If it was not you, somebody else knows your password. ${ask}`,
      ]);
    case 'identity_linked':
      return mail(`${notice.provider} was connected to your account`, [
        `A ${notice.provider} account was connected to ${account} on ${occasion(notice)}. It signs its owner in to your account from now on.`,
        fine,
        ...undoing,
      ]);
    case 'identity_unlinked':
      return mail(`${notice.provider} was disconnected from your account`, [
        `The ${notice.provider} account that signed you in to ${account} was disconnected on ${occasion(notice)}. It no longer signs you in.`,
        fine,
        ...undoing,
      ]);
    case 'application_given':
      return mail('Your application has a new owner', [
        `The application “${plainName(notice.application)}” of ${account} has a new owner. You can no longer manage it, and its secrets and API keys no longer work.`,
        'If you transferred it, or an admin told you about it, you need not do anything.',
        'If not, somebody else may be in your account. Sign in, change the password, and ask an admin to transfer the application back to you.',
      ]);
    case 'application_offered':
      return mail('An application is offered to you', [
        `Somebody wants to transfer the application “${plainName(notice.application)}” to ${account}. Nothing changes unless you accept.`,
        'To see its permissions, and to accept or decline it, sign in to the dashboard and open the page “Applications”. The offer expires after 7 days.',
        'If you did not expect it, decline it.',
      ]);
    case 'new_credential':
      return mail('A new API credential was created', [
        `Your application “${plainName(notice.application)}” got ${notice.what}${'name' in notice ? `, “${plainName(notice.name)}”` : ''}. It belongs to ${account}.`,
        fine,
        'If it was not you, somebody else is in your account. Sign in, change the password, and end all secrets and API keys of your applications on the page that follows.',
      ]);
  }
}

/** For the address that the account had before. */
export function emailChangedMail(model: { link: string; username: string } & Occasion): Mail {
  return mail('Your email address has been changed', [
    `The ${PRODUCT} account ${plainName(model.username)} got a new email address in place of this one on ${occasion(model)}.`,
    'If it was you, you need not do anything.',
    'If it was not you, somebody else may be in your account. Open this link to restore this address:',
    { link: model.link, label: 'Restore this address' },
    `It works once, for ${UNDO_HOURS} hours. It ends all sessions of the account, removes its passkeys, and an authenticator app that was set up lately, and you get a link to choose a new password. Give the link to nobody.`,
  ]);
}

function occasion({ at, address }: Occasion): string {
  return dateAndTimeText(at) + (address === undefined ? '' : `, from the address ${address}`);
}

type Paragraph = string | { link: string; label: string };

function mail(subject: string, paragraphs: readonly Paragraph[]): Mail {
  const text = paragraphs.map((it) => (typeof it === 'string' ? it : it.link)).join('\n\n');
  const body = paragraphs.map((it) =>
    typeof it === 'string'
      ? html`<p>${it}</p>`
      : html`<p><a href="${it.link}">${it.label}</a></p>
<p>${it.link}</p>`,
  );
  return { subject: `${subject} – ${PRODUCT}`, text: `${text}\n`, html: render(document(subject, body)) };
}

function document(subject: string, body: Content): Html {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${subject}</title><meta name="color-scheme" content="light dark"><meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no"></head>
<body><h1>${subject}</h1>
${body}
</body>
</html>
`;
}

/** The longest name in a mail, in characters: shorter than what would pass for a sentence of ours. */
const MAX_NAME = 40;

/**
 * A name that somebody chose, in a mail to somebody else or to them: one line, without what mail programs turn into links
 * (addresses, host names, phone numbers) and without what ends a sentence.
 */
function plainName(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replace(/(?<=\S)[.。](?=\S)/gu, '·')
    .replace(/[^\p{L}\p{M}\p{N}·_'&+()\u2019-]+/gu, ' ')
    .replace(/\d{3}(?=[ ()+-]*\d)/g, '$&·')
    .trim();
  return [...plain].length > MAX_NAME ? `${[...plain].slice(0, MAX_NAME - 1).join('')}…` : plain;
}

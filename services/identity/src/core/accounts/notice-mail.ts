import { brand } from '@gatehouse/web/brand';
import { dateAndTimeText, deviceName } from '@gatehouse/web/formatting';
import { t } from '../../texts/texts.ts';
import type { Account } from './account.ts';
import { type Mail, mail, type Occasion, occasion, plainName, sentences } from './mail-document.ts';

/** For how many hours a link in a mail about a change undoes it. */
export const UNDO_HOURS = 72;

/** For how many hours the users service holds a username for the person who had it. */
const HELD_HOURS = 72;

/** The kinds of new credentials of an application. */
export type NewCredential =
  | { what: 'a client secret' | 'public keys' }
  | { what: 'an API key' | 'an API key in place of another'; name: string };

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

/** Another person who has done something in an application. */
type Maker = Pick<Account, 'username' | 'role'>;

/** An event that a person gets a mail about, as somebody else may have caused it. `removed` is the id of what was removed. */
export type Notice =
  | ({ kind: 'password_changed' } & Occasion)
  /** A new password was set with a mailed link. */
  | ({ kind: 'recovery_used' } & Occasion)
  /** `isHeld`: nobody else gets the username of before for HELD_HOURS. */
  | ({ kind: 'username_changed'; before: string; isHeld: boolean } & Occasion)
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
  /** All access, or all secrets and keys of the person's applications, have ended by the person or an admin. */
  | ({ kind: 'access_revoked' | 'credentials_ended' } & Occasion)
  /** `by` is the id of a person other than the owner, who made it. */
  | ({ kind: 'new_credential'; application: string; by?: string | undefined } & NewCredential)
  /** Somebody else proved that the URL of the resource is theirs. */
  | { kind: 'resource_replaced'; resource: string }
  | { kind: 'registration_token_created'; token: string; machines: boolean }
  | {
      kind:
        | 'application_given'
        | 'application_offered'
        | 'member_invited'
        | 'member_invitation_sent'
        | 'member_removed'
        | 'credentials_taken_over';
      application: string;
    }
  /** `by` is the id of the member. */
  | { kind: 'member_left'; application: string; by: string };

/** `undo` is the link that undoes it, for one of CHANGES; `by`, the person whose id the notice has. */
export function noticeMail(
  notice: Notice,
  { username, undo = '', by }: { username: string; undo?: string | undefined; by?: Maker | undefined },
): Mail {
  const account = { product: brand().name, username: plainName(username) };
  const when = () => ({ ...account, when: 'at' in notice ? occasion(notice) : '' });
  const fine = t('If it was you, you need not do anything.');
  const ask = t(
    'Ask for a new password at once: open the page where you sign in, and choose “Forgotten your password?”. Then remove the passkeys of your account that are not yours.',
  );
  const revoke = sentences(
    t('If it was not you, somebody else may be in your account.'),
    t(
      'Choose a new password at once: open the page where you sign in, and choose “Forgotten your password?”. Then revoke all access on the page “Applications” of your account.',
    ),
  );
  const undoing = [
    t('If it was not you, somebody else may be in your account. Open this link, which undoes it:'),
    { link: undo, label: t('This was not me') },
    t(
      'It works once, for {hours} hours, and asks before it changes anything. Then all sessions of your account end, and you get a link to choose a new password. Give the link to nobody.',
      { hours: UNDO_HOURS },
    ),
  ];
  switch (notice.kind) {
    case 'password_changed':
      return mail(t('Your password has been changed'), [
        t(
          'The password of your {product} account {username} was changed or removed on {when}. Other devices and all programs are signed out.',
          when(),
        ),
        fine,
        ...undoing,
      ]);
    case 'recovery_used':
      return mail(t('A link for a new password was used'), [
        t(
          'A link that we sent to this address was used to choose a new password for your {product} account {username}, on {when}.',
          when(),
        ),
        fine,
        t('If it was not you, somebody else can read your mail. Change the password of your mailbox first.'),
        ...undoing,
      ]);
    case 'username_changed':
      return mail(t('Your username has been changed'), [
        sentences(
          t(
            'The username of your {product} account was changed on {when}. It was {before}, and is {username} now.',
            {
              ...when(),
              before: plainName(notice.before),
            },
          ),
          notice.isHeld
            ? t('For {hours} hours nobody else can take the name of before, and you can change back to it.', {
                hours: HELD_HOURS,
              })
            : '',
        ),
        t('If it was you, or you asked an admin for it, you need not do anything.'),
        revoke,
      ]);
    case 'new_device':
      return mail(t('A sign-in from a new device'), [
        t(
          'Somebody signed in to your {product} account {username} from a device that we have not seen before:',
          account,
        ),
        t('{device}, at the address {address}, on {time}.', {
          device: plainName(deviceName(notice.device)),
          address: notice.address,
          time: dateAndTimeText(notice.at),
        }),
        fine,
        sentences(t('If it was not you, somebody else can sign in as you.'), ask),
      ]);
    case 'passkey_added':
      return mail(t('A passkey was added to your account'), [
        t(
          'The passkey “{passkey}” was added to your {product} account {username} on {when}. Whoever has it can sign in without your password.',
          { ...when(), passkey: plainName(notice.passkey) },
        ),
        fine,
        ...undoing,
      ]);
    case 'passkey_removed':
      return mail(t('A passkey was removed from your account'), [
        t(
          'The passkey “{passkey}” of your {product} account {username} was removed on {when}. It no longer signs anybody in.',
          { ...when(), passkey: plainName(notice.passkey) },
        ),
        fine,
        ...undoing,
      ]);
    case 'app_added':
      return mail(t('An authenticator app was set up for your account'), [
        t(
          'An authenticator app was set up for your {product} account {username} on {when}. Signing in with your password takes a code of that app from now on.',
          when(),
        ),
        fine,
        ...undoing,
      ]);
    case 'app_removed':
      return mail(t('The authenticator app was removed from your account'), [
        t(
          'The authenticator app of your {product} account {username} was removed on {when}. Your password alone signs you in.',
          when(),
        ),
        t('If it was you, or you asked an admin for it, you need not do anything.'),
        ...undoing,
      ]);
    case 'recovery_codes_renewed':
      return mail(t('You have new recovery codes'), [
        t(
          'New recovery codes were made for your {product} account {username} on {when}. The old ones no longer work.',
          when(),
        ),
        fine,
        ...undoing,
      ]);
    case 'recovery_code_used':
      return mail(t('A recovery code was used'), [
        sentences(
          t(
            'Somebody signed in to your {product} account {username} with your password and a recovery code on {when}.',
            when(),
          ),
          notice.left === 0
            ? t('You have no codes left: get new ones on the page “Security” of your account.')
            : t('You have {count} left.', { count: notice.left }),
        ),
        fine,
        sentences(
          t('If it was not you, somebody else has your password and your codes.'),
          ask,
          t('Get new recovery codes as well.'),
        ),
      ]);
    case 'set_up_link_created':
      return mail(t('An admin created a link for your account'), [
        t(
          'An admin created a link on {when}, with which you set up again how you sign in to your {product} account {username}. The admin gives it to you, and it works once, for 24 hours. It removes your password, your passkeys and your authenticator app.',
          when(),
        ),
        t('If you asked for it, you need not do anything.'),
        t(
          'If not, somebody may pretend to be you: tell an admin, and change your password. The link no longer works then.',
        ),
      ]);
    case 'codes_guessed':
      return mail(t('Somebody has your password'), [
        t(
          'Somebody entered the password of your {product} account {username} and then too many wrong codes, last on {when}. Nobody could sign in that way.',
          when(),
        ),
        fine,
        sentences(t('If it was not you, somebody else knows your password.'), ask),
      ]);
    case 'identity_linked': {
      const { provider } = notice;
      return mail(t('{provider} was connected to your account', { provider }), [
        t(
          'A {provider} account was connected to your {product} account {username} on {when}. It signs its owner in to your account from now on.',
          { ...when(), provider },
        ),
        fine,
        ...undoing,
      ]);
    }
    case 'identity_unlinked': {
      const { provider } = notice;
      return mail(t('{provider} was disconnected from your account', { provider }), [
        t(
          'The {provider} account that signed you in to your {product} account {username} was disconnected on {when}. It no longer signs you in.',
          { ...when(), provider },
        ),
        fine,
        ...undoing,
      ]);
    }
    case 'resource_replaced':
      return mail(t('Your API was registered by somebody else'), [
        t(
          'The server of the API “{resource}” of your {product} account {username} names another owner, who has registered it. Your registration was deleted, and applications no longer get tokens for it.',
          { ...account, resource: plainName(notice.resource) },
        ),
        t('If the server is yours, somebody else can change what it responds with.'),
      ]);
    case 'application_given':
      return mail(t('Your application has a new owner'), [
        t(
          'The application “{application}” of your {product} account {username} has a new owner. You can no longer manage it, and its secrets and API keys no longer work.',
          { ...account, application: plainName(notice.application) },
        ),
        t('If you transferred it, or an admin told you about it, you need not do anything.'),
        sentences(
          t('If not, somebody else may be in your account.'),
          ask,
          t('Ask an admin to transfer the application back to you.'),
        ),
      ]);
    case 'application_offered':
      return mail(t('An application is offered to you'), [
        t(
          'Somebody wants to transfer the application “{application}” to your {product} account {username}. Nothing changes unless you accept.',
          { ...account, application: plainName(notice.application) },
        ),
        t(
          'To see its permissions, and to accept or decline it, sign in to the dashboard and open the page “Applications”. The offer expires after 7 days.',
        ),
        t('If you did not expect it, decline it.'),
      ]);
    case 'member_invited':
      return mail(t('You are invited to an application'), [
        t(
          'Somebody wants to add your {product} account {username} to the application “{application}”. Nothing changes unless you accept. The invitation is in the dashboard, on the page “Applications”.',
          { ...account, application: plainName(notice.application) },
        ),
        t('If you did not expect it, decline it.'),
      ]);
    case 'member_invitation_sent':
      return mail(t('Somebody was invited to your application'), [
        t(
          'Somebody was invited to become a member of the application “{application}” of your {product} account {username}. The page “Members” of the application shows who.',
          { ...account, application: plainName(notice.application) },
        ),
        fine,
        revoke,
      ]);
    case 'member_removed':
      return mail(t('You are no longer a member of an application'), [
        t(
          'Your {product} account {username} was removed from the application “{application}”. The secrets and API keys that you made there have ended, unless its owner took them over.',
          { ...account, application: plainName(notice.application) },
        ),
      ]);
    case 'member_left':
      return mail(t('A member left your application'), [
        t(
          '{name} left the application “{application}” of your {product} account {username}. The secrets and API keys that this member made there have ended. The member may know others: replace them.',
          { ...account, name: plainName(by?.username ?? ''), application: plainName(notice.application) },
        ),
      ]);
    case 'access_revoked':
      return mail(t('All access to your account has been revoked'), [
        t(
          'All access to your {product} account {username} was revoked on {when}. All sessions, programs, secrets, keys and members have ended, except those that were kept, and webhooks are paused.',
          when(),
        ),
        t('If it was you, or you asked an admin for it, you need not do anything.'),
        sentences(t('If not, somebody else may be in your account.'), ask),
      ]);
    case 'credentials_ended':
      return mail(t('All secrets and keys of your applications have ended'), [
        t(
          'All secrets and keys of your {product} account {username} were ended on {when}. The members of your applications, registration tokens and logins of programs have ended, too, and webhooks are paused.',
          when(),
        ),
        t('If it was you, or you asked an admin for it, you need not do anything.'),
        sentences(t('If not, somebody else may be in your account.'), ask),
      ]);
    case 'credentials_taken_over':
      return mail(t('An admin took over credentials of your application'), [
        t(
          'An admin took over credentials of the application “{application}” of your {product} account {username} from a member, whom the admin removed. They work as long as the admin is one.',
          { ...account, application: plainName(notice.application) },
        ),
        t('If you do not want that, remove the credentials on the page of the application.'),
      ]);
    case 'registration_token_created': {
      const token = { ...account, token: plainName(notice.token) };
      return mail(t('A registration token was created'), [
        notice.machines
          ? t(
              'The registration token “{token}” was created for your {product} account {username}. Programs that register with it can act as you.',
              token,
            )
          : t(
              'The registration token “{token}” was created for your {product} account {username}. Programs that register with it become your applications.',
              token,
            ),
        fine,
        revoke,
      ]);
    }
    case 'new_credential':
      return mail(t('A new API credential was created'), [
        sentences(credential(notice), t('It belongs to your {product} account {username}.', account)),
        ...(by === undefined ? [fine, revoke] : [madeBy(by)]),
      ]);
  }
}

function madeBy({ username, role }: Maker): string {
  const name = plainName(username);
  return sentences(
    role === 'admin'
      ? t('The credential was made by {name}, an admin.', { name })
      : t('The credential was made by {name}, a member of the application.', { name }),
    t('If you did not expect it, remove it in the dashboard.'),
  );
}

function credential(notice: Extract<Notice, { kind: 'new_credential' }>): string {
  const application = plainName(notice.application);
  switch (notice.what) {
    case 'a client secret':
      return t('Your application “{application}” got a client secret.', { application });
    case 'public keys':
      return t('Your application “{application}” got public keys.', { application });
    case 'an API key':
      return t('Your application “{application}” got an API key, “{key}”.', {
        ...{ application, key: plainName(notice.name) },
      });
    case 'an API key in place of another':
      return t('Your application “{application}” got an API key in place of another, “{key}”.', {
        ...{ application, key: plainName(notice.name) },
      });
  }
}

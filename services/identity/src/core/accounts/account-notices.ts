import { dateAndTimeText, deviceName } from '@gatehouse/web/formatting';
import { t } from '../../texts/texts.ts';
import { mail, type Occasion, occasion, plainName, sentences } from './mail-document.ts';
import {
  askForNewPassword,
  type Notice,
  nothingToDo,
  nothingToDoWithAdmin,
  revokeAllAccess,
  type UndoableChange,
} from './notice.ts';

/** For how many hours the users service holds a username for the person who had it. */
const HELD_HOURS = 72;

export const PASSWORD_CHANGED: UndoableChange = {
  name: 'password_changed',
  done: 'The password was changed or removed.',
};
export const RECOVERY_USED: UndoableChange = {
  name: 'recovery_used',
  done: 'A new password was chosen with a mailed link.',
};

/** `isGivenBack`: by an admin, or with a link of one. The mail may come to a thief's address, and has no link. */
export function passwordChanged(when: Occasion, isGivenBack = false): Notice {
  return {
    kind: PASSWORD_CHANGED.name,
    ...(isGivenBack ? {} : { undo: { change: PASSWORD_CHANGED } }),
    write: ({ account, undoing }) =>
      mail(t('Your password has been changed'), [
        t(
          'The password of your {product} account {username} was changed or removed on {when}. Other devices and all programs are signed out.',
          { ...account, when: occasion(when) },
        ),
        isGivenBack ? nothingToDoWithAdmin() : nothingToDo(),
        ...(isGivenBack ? [] : undoing),
      ]),
  };
}

/** A new password was set with a mailed link. */
export function recoveryUsed(when: Occasion): Notice {
  return {
    kind: RECOVERY_USED.name,
    undo: { change: RECOVERY_USED },
    write: ({ account, undoing }) =>
      mail(t('A link for a new password was used'), [
        t(
          'A link that we sent to this address was used to choose a new password for your {product} account {username}, on {when}.',
          { ...account, when: occasion(when) },
        ),
        nothingToDo(),
        t('If it was not you, somebody else can read your mail. Change the password of your mailbox first.'),
        ...undoing,
      ]),
  };
}

/** `isHeld`: nobody else gets the username of before for HELD_HOURS. */
export function usernameChanged(
  { before, isHeld }: { before: string; isHeld: boolean },
  when: Occasion,
): Notice {
  return {
    kind: 'username_changed',
    write: ({ account }) =>
      mail(t('Your username has been changed'), [
        sentences(
          t(
            'The username of your {product} account was changed on {when}. It was {before}, and is {username} now.',
            { ...account, when: occasion(when), before: plainName(before) },
          ),
          isHeld
            ? t(
                'For {hours} hours nobody else can take your previous username, and you can change back to it.',
                {
                  hours: HELD_HOURS,
                },
              )
            : '',
        ),
        nothingToDoWithAdmin(),
        revokeAllAccess(),
      ]),
  };
}

export function signedInFromNewDevice(from: { device: string; address: string; at: Date }): Notice {
  return {
    kind: 'new_device',
    write: ({ account }) =>
      mail(t('A sign-in from a new device'), [
        t(
          'Somebody signed in to your {product} account {username} from a device that we have not seen before:',
          account,
        ),
        t('{device}, at the address {address}, on {time}.', {
          device: plainName(deviceName(from.device)),
          address: from.address,
          time: dateAndTimeText(from.at),
        }),
        nothingToDo(),
        sentences(t('If it was not you, somebody else can sign in as you.'), askForNewPassword()),
      ]),
  };
}

export function setUpLinkCreated(when: Occasion): Notice {
  return {
    ...{ kind: 'set_up_link_created', isUnlimited: true },
    write: ({ account }) =>
      mail(t('An admin created a link for your account'), [
        t(
          'An admin created a link for your {product} account {username} on {when}. With it, you choose a new password, which removes your passkeys, your connected accounts and your authenticator app. The link works once, for 24 hours, and the admin gives it to you.',
          { ...account, when: occasion(when) },
        ),
        t('If you asked for it, you need not do anything.'),
        t(
          'If not, somebody may be pretending to be you. Tell an admin, and change your password: the link then stops working.',
        ),
      ]),
  };
}

/** Somebody who knows the password has entered too many wrong codes. */
export function codesGuessed(when: Occasion): Notice {
  return {
    kind: 'codes_guessed',
    write: ({ account }) =>
      mail(t('Somebody has your password'), [
        t(
          'Somebody entered the password of your {product} account {username} and then too many wrong codes, last on {when}. Nobody could sign in that way.',
          { ...account, when: occasion(when) },
        ),
        nothingToDo(),
        sentences(t('If it was not you, somebody else knows your password.'), askForNewPassword()),
      ]),
  };
}

/** All access of a person has ended, by the person or an admin. */
export function accessRevoked(when: Occasion): Notice {
  return {
    kind: 'access_revoked',
    write: ({ account }) =>
      mail(t('All access to your account has been revoked'), [
        t(
          'All access to your {product} account {username} was revoked on {when}. You are signed out everywhere, and programs no longer have access. The secrets, keys and members of your applications were removed, except those that you or an admin chose to keep. Your webhooks are paused.',
          { ...account, when: occasion(when) },
        ),
        nothingToDoWithAdmin(),
        sentences(t('If not, somebody else may be in your account.'), askForNewPassword()),
      ]),
  };
}

/** All secrets and keys of a person's applications have ended, by the person or an admin. */
export function credentialsEnded(when: Occasion): Notice {
  return {
    kind: 'credentials_ended',
    write: ({ account }) =>
      mail(t('All secrets and keys of your applications have ended'), [
        t(
          'All secrets and keys of your {product} account {username} were ended on {when}. Your registration tokens and the logins of your programs have ended, too, and your applications no longer have members. Your webhooks are paused.',
          { ...account, when: occasion(when) },
        ),
        nothingToDoWithAdmin(),
        sentences(t('If not, somebody else may be in your account.'), askForNewPassword()),
      ]),
  };
}

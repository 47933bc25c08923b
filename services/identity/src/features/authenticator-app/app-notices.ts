import { mail, type Occasion, occasion, sentences } from '../../core/accounts/mail-document.ts';
import {
  askForNewPassword,
  type Notice,
  nothingToDo,
  nothingToDoWithAdmin,
  type UndoableChange,
} from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

const ADDED: UndoableChange = { name: 'app_added', done: 'An authenticator app was set up.' };
const REMOVED: UndoableChange = {
  name: 'app_removed',
  done: 'The authenticator app was removed.',
  undone:
    'The authenticator app is asked for again, unless it was set up in the last 72 hours. Passkeys and connected accounts that were added then stop working.',
};
const RENEWED: UndoableChange = { name: 'recovery_codes_renewed', done: 'New recovery codes were made.' };
export const APP_CHANGES = [ADDED, REMOVED, RENEWED];

export function appAdded(when: Occasion): Notice {
  return {
    kind: ADDED.name,
    undo: { change: ADDED },
    write: ({ account, undoing }) =>
      mail(t('An authenticator app was set up for your account'), [
        t(
          'An authenticator app was set up for your {product} account {username} on {when}. Signing in with your password takes a code of that app from now on.',
          { ...account, when: occasion(when) },
        ),
        nothingToDo(),
        ...undoing,
      ]),
  };
}

export function appRemoved(when: Occasion, id?: string): Notice {
  return {
    kind: REMOVED.name,
    undo: { change: REMOVED, removed: id },
    write: ({ account, undoing }) =>
      mail(t('The authenticator app was removed from your account'), [
        t(
          'The authenticator app of your {product} account {username} was removed on {when}. Your password alone signs you in.',
          { ...account, when: occasion(when) },
        ),
        nothingToDoWithAdmin(),
        ...undoing,
      ]),
  };
}

export function recoveryCodesRenewed(when: Occasion): Notice {
  return {
    kind: RENEWED.name,
    undo: { change: RENEWED },
    write: ({ account, undoing }) =>
      mail(t('You have new recovery codes'), [
        t(
          'New recovery codes were made for your {product} account {username} on {when}. The old ones no longer work.',
          { ...account, when: occasion(when) },
        ),
        nothingToDo(),
        ...undoing,
      ]),
  };
}

/** Somebody signed in with a recovery code; `left` are the others. */
export function recoveryCodeUsed(left: number, when: Occasion): Notice {
  return {
    kind: 'recovery_code_used',
    write: ({ account }) =>
      mail(t('A recovery code was used'), [
        sentences(
          t(
            'Somebody signed in to your {product} account {username} with your password and a recovery code on {when}.',
            { ...account, when: occasion(when) },
          ),
          left === 0
            ? t('You have no codes left: get new ones on the page “Security” of your account.')
            : t('You have {count} left.', { count: left }),
        ),
        nothingToDo(),
        sentences(
          t('If it was not you, somebody else has your password and your codes.'),
          askForNewPassword(),
          t('Get new recovery codes as well.'),
        ),
      ]),
  };
}

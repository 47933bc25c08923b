import { mail, type Occasion, occasion, plainName } from '../../core/accounts/mail-document.ts';
import { type Notice, nothingToDo, type UndoableChange } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

const ADDED: UndoableChange = { name: 'passkey_added', done: 'A passkey was added.' };
const REMOVED: UndoableChange = {
  name: 'passkey_removed',
  done: 'A passkey was removed.',
  undone:
    'The passkey works again, unless it was added in the last 72 hours. Others that were added then stop working, and so do connected accounts, authenticator apps and recovery codes.',
};
export const PASSKEY_CHANGES = [ADDED, REMOVED];

export function passkeyAdded({ name }: { name: string }, when: Occasion): Notice {
  return {
    kind: ADDED.name,
    undo: { change: ADDED },
    write: ({ account, undoing }) =>
      mail(t('A passkey was added to your account'), [
        t(
          'The passkey “{passkey}” was added to your {product} account {username} on {when}. Whoever has it can sign in without your password.',
          { ...account, when: occasion(when), passkey: plainName(name) },
        ),
        nothingToDo(),
        ...undoing,
      ]),
  };
}

export function passkeyRemoved({ id, name }: { id: string; name: string }, when: Occasion): Notice {
  return {
    kind: REMOVED.name,
    undo: { change: REMOVED, removed: id },
    write: ({ account, undoing }) =>
      mail(t('A passkey was removed from your account'), [
        t(
          'The passkey “{passkey}” of your {product} account {username} was removed on {when}. It no longer signs anybody in.',
          { ...account, when: occasion(when), passkey: plainName(name) },
        ),
        nothingToDo(),
        ...undoing,
      ]),
  };
}

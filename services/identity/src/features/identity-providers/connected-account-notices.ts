import { mail, type Occasion, occasion } from '../../core/accounts/mail-document.ts';
import { type Notice, nothingToDo, type UndoableChange } from '../../core/accounts/notice.ts';
import { t } from '../../texts/texts.ts';

const LINKED: UndoableChange = {
  name: 'identity_linked',
  done: 'An account at another provider was connected.',
};
const UNLINKED: UndoableChange = {
  name: 'identity_unlinked',
  done: 'A connected account was disconnected.',
  undone:
    'The account is connected again, unless it was connected in the last 72 hours. Passkeys, authenticator apps and recovery codes that were added then stop working.',
};
export const CONNECTED_ACCOUNT_CHANGES = [LINKED, UNLINKED];

/** `provider` is its name for people. */
export function accountConnected(provider: string, when: Occasion): Notice {
  return {
    kind: LINKED.name,
    undo: { change: LINKED },
    write: ({ account, undoing }) =>
      mail(t('{provider} was connected to your account', { provider }), [
        t(
          'A {provider} account was connected to your {product} account {username} on {when}. It signs its owner in to your account from now on.',
          { ...account, when: occasion(when), provider },
        ),
        nothingToDo(),
        ...undoing,
      ]),
  };
}

/** `id` is that of the connection. */
export function accountDisconnected(provider: string, when: Occasion, id?: string): Notice {
  return {
    kind: UNLINKED.name,
    undo: { change: UNLINKED, removed: id },
    write: ({ account, undoing }) =>
      mail(t('{provider} was disconnected from your account', { provider }), [
        t(
          'The {provider} account that signed you in to your {product} account {username} was disconnected on {when}. It no longer signs you in.',
          { ...account, when: occasion(when), provider },
        ),
        nothingToDo(),
        ...undoing,
      ]),
  };
}

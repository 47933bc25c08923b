import { ServiceError } from '@gatehouse/kit/errors';
import { omitUndefined } from '@gatehouse/kit/omit-undefined';
import {
  type Account,
  type AccountChanged,
  type SecurityChange,
  type User,
  type UserChanges,
  type UserEvent,
  WrongPasswordError,
} from './user.ts';

export const ACCOUNT_CHANGED = 'users.account.changed';

type Revision = Pick<User, 'version' | 'updatedAt'>;

/** An AccountChanged as sent to identity. */
type AccountEvent = {
  subject: typeof ACCOUNT_CHANGED;
  data: { user_id: string; epoch: number; sign_in_epoch: number; reason: AccountChanged['reason'] };
};

/** The account after a change, and the events of it; `accountChanges` are among those. */
export type AccountUpdate = {
  next: Account;
  accountChanges: AccountChanged[];
  events: (AccountEvent | UserEvent)[];
};

/** The names of fields in events. */
const NAMES_IN_EVENTS = {
  username: 'username',
  email: 'email',
  name: 'name',
  firstName: 'first_name',
  lastName: 'last_name',
  phone: 'phone',
  picture: 'picture',
  role: 'role',
  status: 'status',
  emailVerified: 'email_verified',
  passwordHash: 'password',
} satisfies Partial<Record<keyof Account, string>>;

/** The event of a creation. */
export function userCreated({ id, version }: Account): UserEvent {
  return { subject: 'users.user.created', data: { user_id: id, version } };
}

/** Changes fields. A new role, status or password ends tokens, each with its own epoch and event. */
export function changeUser(
  current: Account,
  changes: UserChanges & { passwordHash?: string },
  revision: Revision,
): AccountUpdate {
  const next = { ...current, ...omitUndefined(changes) };
  // A new address is not verified.
  return updated(
    current,
    { ...next, emailVerified: next.emailVerified && next.email === current.email },
    revision,
  );
}

/** Marks the address as verified; throws `conflict` when it is not the current one. */
export function verifyEmail(current: Account, email: string, revision: Revision): AccountUpdate {
  if (current.email !== email) {
    throw new ServiceError('conflict', 'This is not the current email address any more.', {
      details: [{ field: 'email', message: 'is not the current one' }],
    });
  }
  return updated(current, { ...current, emailVerified: true }, revision);
}

/**
 * Undefined when the user already has the role or status. Throws a WrongPasswordError when the password has changed since
 * it was checked.
 */
export function changeSecurity(
  current: Account,
  change: SecurityChange,
  revision: Revision,
): AccountUpdate | undefined {
  switch (change.reason) {
    case 'password': {
      const { passwordHash, currentHash = current.passwordHash } = change;
      if (currentHash !== current.passwordHash) throw new WrongPasswordError();
      return changeUser(current, { passwordHash }, revision);
    }
    case 'role':
      return change.role === current.role ? undefined : changeUser(current, { role: change.role }, revision);
    case 'status':
      return change.status === current.status
        ? undefined
        : changeUser(current, { status: change.status }, revision);
  }
}

/** A deletion, which ends tokens and sessions. */
export function deleteUser(current: Account, { version }: Revision) {
  const { id, epoch, signInEpoch } = current;
  const accountChange: AccountChanged = {
    userId: id,
    epoch: epoch + 1,
    signInEpoch: signInEpoch + 1,
    reason: 'deleted',
  };
  const deleted: UserEvent = { subject: 'users.user.deleted', data: { user_id: id, version } };
  return { accountChange, events: [accountEvent(accountChange), deleted] };
}

function updated(current: Account, next: Account, revision: Revision): AccountUpdate {
  let { epoch, signInEpoch } = current;
  const accountChanges = securityChanges(current, next).map(({ reason, endsSessions }): AccountChanged => {
    epoch += 1;
    signInEpoch += endsSessions ? 1 : 0;
    return { userId: current.id, epoch, signInEpoch, reason };
  });
  const changed = Object.entries(NAMES_IN_EVENTS)
    .filter(([field]) => next[field as keyof Account] !== current[field as keyof Account])
    .map(([, name]) => name);
  const data = { user_id: current.id, version: revision.version, changed };
  return {
    next: { ...next, epoch, signInEpoch, ...revision },
    accountChanges,
    events: [...accountChanges.map(accountEvent), { subject: 'users.user.changed', data }],
  };
}

/** The reasons why tokens end, and whether sessions end too; in order, as if each had been a change of its own. */
function securityChanges(current: Account, next: Account) {
  const all: { reason: SecurityChange['reason']; happens: boolean; endsSessions: boolean }[] = [
    { reason: 'role', happens: next.role !== current.role, endsSessions: false },
    { reason: 'status', happens: next.status !== current.status, endsSessions: next.status === 'inactive' },
    { reason: 'password', happens: next.passwordHash !== current.passwordHash, endsSessions: true },
  ];
  return all.filter(({ happens }) => happens);
}

function accountEvent({ userId, epoch, signInEpoch, reason }: AccountChanged): AccountEvent {
  return {
    subject: ACCOUNT_CHANGED,
    data: { user_id: userId, epoch, sign_in_epoch: signInEpoch, reason },
  };
}

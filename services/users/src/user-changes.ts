import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { ERASING_SERVICES } from '@gatehouse/core/services';
import { inSnakeCase } from '@gatehouse/domain/fields';
import type { RequestedBy } from '@gatehouse/server/requests';
import {
  type Account,
  type AccountChanged,
  type AccountChanges,
  EPOCHS,
  type Epoch,
  type SecurityChange,
  type User,
  type UserEvent,
  WrongPasswordError,
} from './user.ts';
import { CHANGEABLE_FIELDS } from './user-fields.ts';

export const ACCOUNT_CHANGED = 'users.account.changed';
/** The subject of changes that only the audit log needs. Events that end tokens never wait behind them. */
export const ACCOUNT_RECORDED = 'users.account.recorded';

/** The subject of the events on which a service erases what it holds about a deleted person. */
export const erasureSubject = (service: string) => `users.erasure.${service}`;

/** The subject of the event to identity. A new address ends nothing, but the previous one has to be notified. */
export function subjectOf({ reason, previousEmail }: AccountChanged): AccountEvent['subject'] {
  const isOnlyRecorded =
    reason === 'created' || reason === 'username' || (reason === 'email' && previousEmail === undefined);
  return isOnlyRecorded ? ACCOUNT_RECORDED : ACCOUNT_CHANGED;
}

type Revision = Pick<User, 'version' | 'updatedAt'> & { by?: RequestedBy | undefined };

/** An AccountChanged as sent to identity. */
type AccountEvent = {
  subject: typeof ACCOUNT_CHANGED | typeof ACCOUNT_RECORDED;
  data: {
    user_id: string;
    epoch: number;
    sign_in_epoch: number;
    reason: AccountChanged['reason'];
    details?: NonNullable<AccountChanged['details']>;
    previous_email?: string;
    by?: RequestedBy;
  };
};

/** The account after a change, and the events of it; `accountChanges` are among those. */
export type AccountUpdate = {
  next: Account;
  accountChanges: AccountChanged[];
  events: (AccountEvent | UserEvent)[];
};

/** The fields whose changes events name, and under which names. */
const NAMES_IN_EVENTS = [...CHANGEABLE_FIELDS, 'emailVerified', 'passwordHash'].map((field) => ({
  field: field as keyof Account,
  name: field === 'passwordHash' ? 'password' : inSnakeCase(field),
}));

/**
 * The events of a creation. The audit log has only that of an account with a higher role: programs create
 * ordinary ones by the thousand, and each entry costs more than half of what the creation does.
 */
export function createUser(
  { id, epoch, signInEpoch, version, role, status }: Account,
  by?: RequestedBy,
): Pick<AccountUpdate, 'accountChanges' | 'events'> {
  const details = { role, status };
  const accountChanges: AccountChanged[] =
    role === 'user'
      ? []
      : [{ userId: id, epoch, signInEpoch, reason: 'created', details, ...omitUndefined({ by }) }];
  const event: UserEvent = { subject: 'users.user.created', data: { user_id: id, version } };
  return { accountChanges, events: [...accountChanges.map(accountEvent), event] };
}

/**
 * Changes fields. A new role, status or password ends tokens, each with its own epoch and event. Throws a
 * WrongPasswordError when the password has changed since it was checked.
 */
export function changeUser(
  current: Account,
  { currentHash = current.passwordHash, ...changes }: AccountChanges,
  revision: Revision,
): AccountUpdate {
  if (currentHash !== current.passwordHash) throw new WrongPasswordError();
  const next = { ...current, ...omitUndefined(changes) };
  if (next.email === current.email) return updated(current, next, revision);
  // A new address is not verified.
  return updated(current, { ...next, emailVerified: false, emailContested: false }, revision);
}

/**
 * Undoes a change of the address. The person who made it may know the password and be signed in, so both end: a new password
 * is set by a link to the address.
 */
export function restoreEmail(current: Account, email: string, revision: Revision): AccountUpdate {
  const restored = { email, emailVerified: true, emailContested: false, passwordHash: null };
  return updated(current, { ...current, ...restored }, revision, [
    { reason: 'email_restored', raises: ['epoch', 'signInEpoch', 'recoveryEpoch'] },
  ]);
}

/** Marks the address as verified; throws `conflict` when it is not the current one. */
export function verifyEmail(current: Account, email: string, revision: Revision): AccountUpdate {
  if (current.email !== email) {
    throw new ServiceError('conflict', 'This is not the current email address any more.', {
      details: [{ field: 'email', message: 'is not the current one' }],
    });
  }
  return updated(current, { ...current, emailVerified: true, emailContested: false }, revision);
}

/** Takes an address from an account that has not verified it; undefined when it has, or has it no longer. */
export function releaseEmail(current: Account, email: string, revision: Revision): AccountUpdate | undefined {
  if (current.emailVerified || current.email !== email) return undefined;
  return updated(current, { ...current, email: null, emailContested: false }, revision);
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
      const { reason: _, isRecovery = false, ...changes } = change;
      const update = changeUser(current, changes, revision);
      const recoveryEpoch = current.recoveryEpoch + (isRecovery ? 1 : 0);
      return { ...update, next: { ...update.next, recoveryEpoch } };
    }
    case 'role':
      return change.role === current.role ? undefined : changeUser(current, { role: change.role }, revision);
    case 'status':
      return change.status === current.status
        ? undefined
        : changeUser(current, { status: change.status }, revision);
    case 'revoked': {
      const raises: readonly Epoch[] = change.everything ? EPOCHS : ['epoch', 'authorityEpoch'];
      const { everything, kept = [] } = change;
      const scope = everything ? 'everything' : 'credentials';
      const details = { scope, ...(kept.length > 0 ? { kept } : {}) };
      return updated(current, current, revision, [{ reason: 'revoked', raises, details }]);
    }
  }
}

/** A deletion, which ends tokens and sessions, and by which every service erases what it holds about the person. */
export function deleteUser(current: Account, { version, by }: Revision) {
  const { id, epoch, signInEpoch } = current;
  const accountChange: AccountChanged = {
    userId: id,
    epoch: epoch + 1,
    signInEpoch: signInEpoch + 1,
    reason: 'deleted',
    ...omitUndefined({ by }),
  };
  const deleted: UserEvent = { subject: 'users.user.deleted', data: { user_id: id, version } };
  const erasures = ERASING_SERVICES.map((name) => ({ subject: erasureSubject(name), data: { user_id: id } }));
  return { accountChange, events: [accountEvent(accountChange), deleted, ...erasures] };
}

/** Nothing that a deactivation ends comes back with a later activation. */
const DEACTIVATION: readonly Epoch[] = ['epoch', 'signInEpoch', 'authorityEpoch'];

type Reason = {
  reason: AccountChanged['reason'];
  raises: readonly Epoch[];
  details?: NonNullable<AccountChanged['details']>;
  previousEmail?: string;
};

function updated(
  current: Account,
  next: Account,
  { by, ...revision }: Revision,
  reasons = reasonsOf(current, next, by),
): AccountUpdate {
  const epochs = Object.fromEntries(EPOCHS.map((name) => [name, current[name]])) as Record<Epoch, number>;
  const accountChanges = reasons.map(({ raises, ...reason }): AccountChanged => {
    for (const name of raises) epochs[name] += 1;
    const { epoch, signInEpoch } = epochs;
    return { userId: current.id, epoch, signInEpoch, ...reason, ...omitUndefined({ by }) };
  });
  const changed = NAMES_IN_EVENTS.filter(({ field }) => next[field] !== current[field]).map(
    ({ name }) => name,
  );
  const data = { user_id: current.id, version: revision.version, changed };
  return {
    next: { ...next, ...epochs, ...revision },
    accountChanges,
    events: [...accountChanges.map(accountEvent), { subject: 'users.user.changed', data }],
  };
}

/**
 * The effects of the change on tokens and sessions, and its entry for the audit log: what one signs in with, and what
 * one may do. In order, as if each had been a change of its own. Identity's own pages record themselves what ends nothing.
 */
function reasonsOf(current: Account, next: Account, by: RequestedBy | undefined): Reason[] {
  const reasons: Reason[] = [];
  const { email, emailVerified, role, status } = current;
  // An address that nobody has confirmed may be a stranger's, whom the account does not concern.
  const previous = email !== null && emailVerified ? { previousEmail: email } : undefined;
  if (next.email !== email && (previous ?? by) !== undefined)
    reasons.push({ reason: 'email', raises: [], ...previous });
  if (next.username !== current.username && by !== undefined)
    reasons.push({ reason: 'username', raises: [] });
  if (next.role !== role) {
    const details = { from: role, to: next.role };
    reasons.push({ reason: 'role', raises: ['epoch'], details });
  }
  if (next.status !== status) {
    const details = { from: status, to: next.status };
    reasons.push({ reason: 'status', raises: next.status === 'active' ? ['epoch'] : DEACTIVATION, details });
  }
  if (next.passwordHash !== current.passwordHash)
    reasons.push({ reason: 'password', raises: ['epoch', 'signInEpoch'] });
  return reasons;
}

function accountEvent(change: AccountChanged): AccountEvent {
  const { userId, epoch, signInEpoch, reason, details, previousEmail, by } = change;
  return {
    subject: subjectOf(change),
    data: {
      user_id: userId,
      epoch,
      sign_in_epoch: signInEpoch,
      reason,
      ...omitUndefined({ details, previous_email: previousEmail, by }),
    },
  };
}

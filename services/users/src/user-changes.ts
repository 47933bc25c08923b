import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { ERASING_SERVICES } from '@gatehouse/core/services';
import { inSnakeCase } from '@gatehouse/domain/fields';
import { emailKey } from '@gatehouse/domain/folded-key';
import type { RequestedBy } from '@gatehouse/server/requests';
import { usernameLookAlike } from './look-alikes/look-alikes.ts';
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
import { CHANGEABLE_FIELDS, USER_ROLES } from './user-fields.ts';

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

/** `isSetUp`: made with a link of an admin. */
type Revision = Pick<User, 'version' | 'updatedAt'> & { by?: RequestedBy | undefined; isSetUp?: boolean };

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
    previous_username?: string;
    restorable?: true;
    given_back?: true;
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
  const changed = { ...current, ...omitUndefined(changes) };
  const next = { ...changed, ...heldUsername(current, changed, revision) };
  if (next.email === current.email) return updated(current, next, revision);
  // A new address is not verified.
  const address = { emailVerified: false, emailContested: false, ...replacedEmail(current, next, revision) };
  return updated(current, { ...next, ...address }, revision);
}

/** For how long a username is held that its owner no longer has. */
const HELD_MS = 72 * 3600_000;

/** Of several usernames, the first is held, which others know: an account that changes its name often hoards none. */
function heldUsername(
  { username, heldUsername, usernameHeldUntil }: Account,
  next: Account,
  { updatedAt }: Revision,
) {
  const [before, after] = [usernameLookAlike(username), usernameLookAlike(next.username)];
  if (after === before) return {};
  if (after === heldUsername) return { heldUsername: null, usernameHeldUntil: null };
  const isHeld = usernameHeldUntil !== null && usernameHeldUntil > updatedAt;
  return isHeld ? {} : { heldUsername: before, usernameHeldUntil: new Date(updatedAt.getTime() + HELD_MS) };
}

/** For how long a link gives an address back, and an address must have been there for a link to give it back. */
const RESTORABLE_MS = 72 * 3600_000;

/**
 * Whether a link gives the address back when it is replaced. One that itself took the place of another in the last 72 hours may be a
 * thief's, who would get the account back from the owner.
 */
function isRestorable(
  { email, emailVerified, earlierEmail, emailReplacedAt }: Account,
  { updatedAt }: Revision,
): boolean {
  const isRecent =
    emailReplacedAt !== null && updatedAt.getTime() - emailReplacedAt.getTime() < RESTORABLE_MS;
  return emailVerified && (!isRecent || email === earlierEmail);
}

/** Whether somebody else made a change: an admin. A machine may act for the person, and so for a thief. */
function isByAdmin({ id }: Account, { by }: Revision): boolean {
  return by !== undefined && by.user_id !== null && by.user_id !== id;
}

/** The earlier address of an account that gets another one. An admin decides whose the account is, and no link undoes that. */
function replacedEmail(current: Account, next: Account, revision: Revision) {
  const { email, emailVerified, earlierEmail, emailReplacedAt } = current;
  const isFirst = !emailVerified && emailReplacedAt === null;
  const kept = isRestorable(current, revision) ? email : earlierEmail;
  return {
    earlierEmail: isByAdmin(current, revision) ? next.email : kept,
    emailReplacedAt: isFirst ? null : revision.updatedAt,
  };
}

/**
 * An account that an admin has given back: earlier links undo nothing and restore no earlier address. If the
 * present address ever replaced another, it counts as new, and no link restores it either.
 */
function givenBack(account: Account, { updatedAt }: Revision): Account {
  const { email, earlierEmail, emailReplacedAt } = account;
  const isUndisputed = emailReplacedAt === null || email === earlierEmail;
  const address = isUndisputed ? {} : { earlierEmail: null, emailReplacedAt: updatedAt };
  return { ...account, ...address, givenBackAt: updatedAt };
}

/**
 * Undoes a change of the address. The person who made it may know the password and be signed in, so both end: a new password
 * is set by a link to the address. Throws `conflict` when the address is neither the present one nor the one that a link gives back.
 */
export function restoreEmail(current: Account, email: string, revision: Revision): AccountUpdate {
  const isPresent = current.emailVerified && current.email === email;
  if (!isPresent && current.earlierEmail !== email) {
    throw new ServiceError('conflict', 'This email address cannot be restored any more.');
  }
  const restored = { email, emailVerified: true, emailContested: false, passwordHash: null };
  return updated(current, { ...current, ...restored }, revision, [
    {
      ...{ reason: 'email_restored', raises: ['epoch', 'signInEpoch', 'recoveryEpoch'] },
      ...(isPresent ? {} : previousOf(current)),
    },
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

/**
 * Takes an address from an account that has not verified it, because another account has verified `proven`. An account whose address
 * only looks like that one keeps it, as contested. Undefined when the account has verified its address, or no longer has it.
 */
export function releaseEmail(
  current: Account,
  { email, proven }: { email: string; proven: string },
  revision: Revision,
): AccountUpdate | undefined {
  if (current.emailVerified || current.email !== email) return undefined;
  const isSame = emailKey(email) === emailKey(proven);
  const address = isSame ? { email: null, emailContested: false } : { emailContested: true };
  return updated(current, { ...current, ...address }, revision);
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
      const { reason: _, isRecovery = false, isSetUp = false, ...changes } = change;
      const update = changeUser(current, changes, { ...revision, isSetUp });
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
  const { id, username, epoch, signInEpoch } = current;
  const accountChange: AccountChanged = {
    userId: id,
    epoch: epoch + 1,
    signInEpoch: signInEpoch + 1,
    reason: 'deleted',
    // Kept until identity has taken the event, so that it can write to the person.
    ...(by === undefined ? {} : { ...previousOf(current), previousUsername: username }),
    ...omitUndefined({ by }),
  };
  const deleted: UserEvent = { subject: 'users.user.deleted', data: { user_id: id, version } };
  const erasures = ERASING_SERVICES.map((name) => ({ subject: erasureSubject(name), data: { user_id: id } }));
  return { accountChange, events: [accountEvent(accountChange), deleted, ...erasures] };
}

/** Nothing that a deactivation ends comes back with a later activation. */
const DEACTIVATION: readonly Epoch[] = ['epoch', 'signInEpoch', 'authorityEpoch'];
/** By these an admin gives an account back. Those that its own password or its mailbox can cause are open to a thief as well. */
const GIVING_BACK: ReadonlySet<AccountChanged['reason']> = new Set(['password', 'status', 'revoked']);

type Reason = {
  reason: AccountChanged['reason'];
  raises: readonly Epoch[];
  details?: NonNullable<AccountChanged['details']>;
  previousEmail?: string;
  previousUsername?: string;
  isRestorable?: true;
};

/** For how long the tokens of an application may still be accepted after a demotion has ended its trust. */
const STILL_ACCEPTED_MS = 10_000;

/** Of an inactive account, nothing; else the rank of the role, from 1. */
const powerOf = ({ role, status }: Account) => (status === 'active' ? USER_ROLES.indexOf(role) + 1 : 0);

const isActiveAdmin = ({ role, status }: Account) => role === 'admin' && status === 'active';

/** Throws `conflict` if an application makes an admin of somebody whom another caller has just lowered, as that may have ended its own trust. */
function assertNotUndone({ loweredAt, loweredBy }: Account, { by, updatedAt }: Revision): void {
  const isRecent = loweredAt !== null && updatedAt.getTime() - loweredAt.getTime() < STILL_ACCEPTED_MS;
  if (by?.user_id !== null || loweredBy === by.client_id || !isRecent) return;
  throw new ServiceError(
    'conflict',
    'This account has just been demoted or deactivated. Try again in ten seconds, if that is to be undone.',
  );
}

function updated(
  current: Account,
  changed: Account,
  made: Revision,
  reasons = reasonsOf(current, changed, made),
): AccountUpdate {
  const { by, isSetUp = false, ...revision } = made;
  const isLowered = powerOf(changed) < powerOf(current);
  if (isActiveAdmin(changed) && !isActiveAdmin(current)) assertNotUndone(current, made);
  const isOfAdmin = isSetUp || isByAdmin(current, made);
  const isGivenBack = isOfAdmin && reasons.some(({ reason }) => GIVING_BACK.has(reason));
  const kept = isGivenBack ? givenBack(changed, made) : changed;
  const next = isLowered
    ? { ...kept, loweredAt: made.updatedAt, loweredBy: by?.user_id ?? by?.client_id ?? null }
    : kept;
  const epochs = Object.fromEntries(EPOCHS.map((name) => [name, current[name]])) as Record<Epoch, number>;
  const accountChanges = reasons.map(({ raises, ...reason }): AccountChanged => {
    for (const name of raises) epochs[name] += 1;
    const { epoch, signInEpoch } = epochs;
    const given = isGivenBack ? { isGivenBack: true as const } : {};
    return { userId: current.id, epoch, signInEpoch, ...reason, ...given, ...omitUndefined({ by }) };
  });
  const names = NAMES_IN_EVENTS.filter(({ field }) => next[field] !== current[field]);
  const data = {
    user_id: current.id,
    version: revision.version,
    changed: names.map(({ name }) => name),
    ...(by?.actors && { actors: by.actors }),
  };
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
function reasonsOf(current: Account, next: Account, revision: Revision): Reason[] {
  const reasons: Reason[] = [];
  const { email, role, status } = current;
  const { by } = revision;
  const previous = previousOf(current);
  if (next.email !== email && (previous ?? by) !== undefined) {
    const restorable = email !== null && next.earlierEmail === email ? { isRestorable: true as const } : {};
    reasons.push({ reason: 'email', raises: [], ...previous, ...restorable });
  }
  if (next.username !== current.username) {
    const held =
      next.heldUsername === usernameLookAlike(current.username) ? { isRestorable: true as const } : {};
    reasons.push({ reason: 'username', raises: [], previousUsername: current.username, ...held });
  }
  if (next.role !== role) {
    const details = { from: role, to: next.role };
    reasons.push({ reason: 'role', raises: role === 'admin' ? ['epoch', 'adminEpoch'] : ['epoch'], details });
  }
  if (next.status !== status) {
    const details = { from: status, to: next.status };
    reasons.push({ reason: 'status', raises: next.status === 'active' ? ['epoch'] : DEACTIVATION, details });
  }
  if (next.passwordHash !== current.passwordHash)
    reasons.push({ reason: 'password', raises: ['epoch', 'signInEpoch'] });
  return reasons;
}

/** An address that nobody has confirmed may be a stranger's, whom the account does not concern. */
function previousOf({ email, emailVerified }: Account): { previousEmail: string } | undefined {
  return email !== null && emailVerified ? { previousEmail: email } : undefined;
}

function accountEvent(change: AccountChanged): AccountEvent {
  const { userId, epoch, signInEpoch, reason, details, isRestorable, isGivenBack, by } = change;
  const { previousEmail: previous_email, previousUsername: previous_username } = change;
  return {
    subject: subjectOf(change),
    data: {
      user_id: userId,
      epoch,
      sign_in_epoch: signInEpoch,
      reason,
      ...omitUndefined({ details, previous_email, previous_username, restorable: isRestorable, by }),
      ...omitUndefined({ given_back: isGivenBack }),
    },
  };
}

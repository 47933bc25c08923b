import { foldedKey } from '@gatehouse/kit/folded-key';
import { newId } from '@gatehouse/kit/ids';
import type { AccountChanged, StandingChange, UserChanges, UserEvent } from './user.ts';
import { ACCOUNT_CHANGED, type StoredEvent } from './user-store-document.ts';

/** Later than before, also within one millisecond or when the clock goes back. */
const LATER = { $max: ['$$NOW', { $add: ['$updated_at', 1] }] };
const raised = (field: string, by: unknown = 1) => ({ $add: [{ $ifNull: [`$${field}`, 0] }, by] });
/** Keeps a value that begins with a dollar sign from being read as a path. */
const literal = (value: unknown) => ({ $literal: value });

/**
 * One write as an update pipeline, whose expressions all see the document as it was; and the ids of the events of
 * the account that it may append, in their order.
 */
export type Write = { stages: Record<string, unknown>[]; eventIds: string[] };

/** An expression for events that are appended when `when` holds. */
type Candidate = { event: Record<string, unknown>; when?: unknown };

/** Fields that change, and what ends with those that end tokens. */
export function changeOf({
  username,
  email,
  role,
  status,
  passwordHash,
  ...others
}: UserChanges & { passwordHash?: string }): Write {
  const names = {
    ...(username === undefined ? {} : { username }),
    ...(email === undefined ? {} : { email }),
    ...storedNames(others),
  };
  const keys = {
    ...(username === undefined ? {} : { username_key: foldedKey(username) }),
    ...(email === undefined ? {} : { email_key: foldedKey(email) }),
  };
  const verified =
    email === undefined
      ? {}
      : { email_verified: { $and: ['$email_verified', { $eq: ['$email', literal(email)] }] } };
  const standing = {
    ...(role === undefined ? {} : { role }),
    ...(status === undefined ? {} : { status }),
  };
  // One after the other, as if they had been changed one by one: each has its epoch and its event.
  let epoch: unknown = 0;
  let signInEpoch: unknown = status === 'inactive' ? oneIf(differs('status', status)) : 0;
  const accountEvents: Candidate[] = [];
  for (const [reason, value] of Object.entries(standing)) {
    const when = differs(reason, value);
    epoch = { $add: [epoch, oneIf(when)] };
    const epochs = {
      epoch: raised('epoch', epoch),
      sign_in_epoch: raised('sign_in_epoch', reason === 'status' ? signInEpoch : 0),
    };
    accountEvents.push({ event: accountEvent(reason as 'role' | 'status', epochs), when });
  }
  if (passwordHash !== undefined) {
    epoch = { $add: [epoch, 1] };
    signInEpoch = { $add: [signInEpoch, 1] };
    const epochs = { epoch: raised('epoch', epoch), sign_in_epoch: raised('sign_in_epoch', signInEpoch) };
    accountEvents.push({ event: accountEvent('password', epochs) });
  }
  return written({
    set: {
      ...literals({ ...names, ...keys, ...standing, password_hash: passwordHash }),
      ...verified,
      ...(accountEvents.length === 0
        ? {}
        : { epoch: raised('epoch', epoch), sign_in_epoch: raised('sign_in_epoch', signInEpoch) }),
    },
    accountEvents,
    changed: {
      $concatArrays: [
        ...Object.entries({ ...names, ...standing }).map(([field, value]) => ({
          $cond: [differs(field, value), [field], []],
        })),
        ...(email === undefined
          ? []
          : [{ $cond: [{ $and: ['$email_verified', differs('email', email)] }, ['email_verified'], []] }]),
        ...(passwordHash === undefined ? [] : [['password']]),
      ],
    },
  });
}

/** That the address is verified. */
export function verificationOf(): Write {
  return written({
    set: { email_verified: true },
    accountEvents: [],
    changed: { $cond: ['$email_verified', [], ['email_verified']] },
  });
}

/** A change of standing, which the condition holds for (see conditionOf). */
export function standingChangeOf(standing: StandingChange): Write {
  const endsSessions =
    standing.reason === 'password' || (standing.reason === 'status' && standing.status === 'inactive');
  const epochs = {
    epoch: raised('epoch'),
    sign_in_epoch: raised('sign_in_epoch', endsSessions ? 1 : 0),
  };
  return written({
    set: { ...literals(fieldOf(standing)), ...epochs },
    accountEvents: [{ event: accountEvent(standing.reason, epochs) }],
    changed: [standing.reason],
  });
}

/** What must hold of a user for a change of standing to be one. */
export function conditionOf(standing: StandingChange): Record<string, unknown> {
  if (standing.reason !== 'password')
    return { [standing.reason]: { $ne: fieldOf(standing)[standing.reason] } };
  return standing.currentHash === undefined ? {} : { password_hash: standing.currentHash };
}

function fieldOf(standing: StandingChange): Record<string, string> {
  switch (standing.reason) {
    case 'password':
      return { password_hash: standing.passwordHash };
    case 'role':
      return { role: standing.role };
    case 'status':
      return { status: standing.status };
  }
}

/** What is left of who is deleted: nothing of the person. */
export function deletion(): Write {
  const epochs = { epoch: raised('epoch'), sign_in_epoch: raised('sign_in_epoch') };
  const version = raised('version');
  const account = accountEvent('deleted', epochs);
  const outbox = appended([{ event: account }, { event: userEvent('users.user.deleted', version) }]);
  return {
    stages: [{ $replaceWith: { _id: '$_id', ...epochs, version, deleted_at: '$$NOW', outbox } }],
    eventIds: [account.id],
  };
}

/** The event of a creation, which is an insert. */
export function creationEvent(id: string, version: number, at: Date): StoredEvent {
  return { id: newId('evt'), subject: 'users.user.created', at, data: { user_id: id, version } };
}

/** The outbox with the events of one write alone, as a projection. */
export function eventsOf({ eventIds }: Write) {
  return {
    $filter: { input: { $ifNull: ['$outbox', []] }, cond: { $in: ['$$this.id', eventIds] } },
  };
}

/** What others learn, of an outbox as eventsOf projects it. */
export function announcements(outbox: readonly StoredEvent[] = []): AccountChanged[] {
  return outbox.flatMap((event) => {
    if (event.subject !== ACCOUNT_CHANGED) return [];
    const { user_id: userId, epoch, sign_in_epoch: signInEpoch, reason } = event.data;
    return [{ userId, epoch, signInEpoch, reason }];
  });
}

function written({
  set,
  accountEvents,
  changed,
}: {
  set: Record<string, unknown>;
  accountEvents: Candidate[];
  changed: unknown;
}): Write {
  const version = raised('version');
  const outbox = appended([
    ...accountEvents,
    { event: userEvent('users.user.changed', version, { changed }) },
  ]);
  return {
    stages: [{ $set: { ...set, version, updated_at: LATER, outbox } }],
    eventIds: accountEvents.map(({ event }) => event.id as string),
  };
}

function appended(candidates: Candidate[]) {
  const lists = candidates.map(({ event, when }) =>
    when === undefined ? [event] : { $cond: [when, [event], []] },
  );
  return { $concatArrays: [{ $ifNull: ['$outbox', []] }, ...lists] };
}

function accountEvent(reason: AccountChanged['reason'], epochs: { epoch: unknown; sign_in_epoch: unknown }) {
  return {
    id: newId('evt'),
    subject: ACCOUNT_CHANGED,
    at: '$$NOW',
    data: { user_id: '$_id', ...epochs, reason },
  };
}

function userEvent(subject: UserEvent['subject'], version: unknown, more: { changed?: unknown } = {}) {
  return { id: newId('evt'), subject, at: '$$NOW', data: { user_id: '$_id', version, ...more } };
}

/** A field that is absent in an older document is as good as null. */
function differs(field: string, value: unknown) {
  return { $ne: [{ $ifNull: [`$${field}`, null] }, literal(value)] };
}

function oneIf(condition: unknown) {
  return { $cond: [condition, 1, 0] };
}

/** The names under which the fields that need no key are stored; what is absent stays absent. */
export function storedNames(changes: Omit<UserChanges, 'username' | 'email' | 'role' | 'status'>) {
  const { name, firstName, lastName, phone, picture } = changes;
  const fields = { name, first_name: firstName, last_name: lastName, phone, picture };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function literals(fields: object): Record<string, unknown> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([key, value]) => [key, literal(value)]));
}

import { invalidFields } from '@gatehouse/api/http/schema';
import { derivedId, isUserId } from '@gatehouse/core/ids';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { Type } from 'typebox';
import type { NewUser } from '../user.ts';
import { draftProblems } from '../user-fields.ts';

/** The files of another program that accounts are imported from. */
export type Source = {
  /** How a place in the file is counted: lines from 1, elements of a list from 0. */
  place: 'line' | 'index';
  /** The records, one by one; undefined for one of more than RECORD_LIMIT bytes. */
  split(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer | undefined>;
  /** Throws `invalid`, without any text of a password hash. */
  read(record: unknown): ImportedAccount;
};

/** The largest record, in bytes. */
export const RECORD_LIMIT = 1024 * 1024;

const MAX_CLOCK_SKEW_MS = 3_600_000;

/** An account to be imported. */
export type ImportedAccount = {
  id: string;
  /** Its id in the file, if that is not `id`. */
  sourceId?: string;
  draft: Omit<NewUser, 'id' | 'password' | 'claimsEmail'>;
  createdAt: Date;
  /** As storedHash() returns it. */
  passwordHash: string | null;
};

/** The field of a record: null and the empty text are as good as none. */
export const Field = Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] }));
export const Flag = Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }));

type Given<T> = T | null | undefined;

/** Checks what a record says, by the rules by which users are created. Throws `invalid`. */
export function importedAccount(
  from: string,
  given: {
    id: Given<string>;
    username?: Given<string>;
    email: Given<string>;
    emailVerified: Given<boolean>;
    name?: Given<string>;
    firstName?: Given<string>;
    lastName?: Given<string>;
    role?: Given<string>;
    status?: Given<string>;
    /** ISO 8601, or in milliseconds. */
    createdAt?: Given<string | number>;
    passwordHash: string | undefined;
  },
): ImportedAccount {
  const { id, username, email, name, firstName, lastName, role, status, createdAt, passwordHash } = given;
  const emailKey = email ? foldedKey(email) : undefined;
  // Where addresses are usernames, one is derived; so is a name.
  const chosen = (text: Given<string>) => (text && foldedKey(text) !== emailKey ? text : undefined);
  const texts = { username: chosen(username), email, name: chosen(name), firstName, lastName, role, status };
  const draft = Object.fromEntries(Object.entries(texts).filter(([, text]) => text)) as {
    [K in keyof typeof texts]?: string;
  };
  const problems = draftProblems(draft);
  const now = Date.now();
  const time = createdAt == null ? now : new Date(createdAt).getTime();
  // The clocks of two machines differ.
  if (!(time >= 0 && time < now + MAX_CLOCK_SKEW_MS))
    problems.push({ field: 'The time of creation', message: 'must lie between 1970 and now' });
  const known = id || draft.username || draft.email;
  if (!known) problems.push({ field: 'id', message: 'or a username or an email is required' });
  if (problems.length > 0) throw invalidFields(problems);
  return {
    ...idsOf(from, id || '', known || ''),
    draft: { ...(draft as ImportedAccount['draft']), emailVerified: given.emailVerified === true },
    createdAt: new Date(Math.min(time, now)),
    passwordHash: passwordHash ?? null,
  };
}

/** An id that is fit for a user stays. Any other becomes one that is the same at each import. */
function idsOf(from: string, sourceId: string, known: string): { id: string; sourceId?: string } {
  if (isUserId(sourceId)) return { id: sourceId };
  const id = derivedId('usr', `${from}\n${known}`);
  return sourceId === '' ? { id } : { id, sourceId };
}

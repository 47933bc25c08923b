import { bodyValidator, invalidFields } from '@gatehouse/api/http/schema';
import { derivedId, isUserId } from '@gatehouse/core/ids';
import { emailKey } from '@gatehouse/domain/folded-key';
import { type Static, type TObject, type TProperties, Type } from 'typebox';
import { hashOf } from '../hashes/hash-notations.ts';
import type { Phc } from '../hashes/phc.ts';
import type { NewUser } from '../user.ts';
import { draftProblems } from '../user-fields.ts';

/** The files of a program that accounts are imported from. */
export type Source = {
  /** The name of the lists of accounts in a JSON document; without it, each line is an account. */
  list?: string;
  /**
   * The fields of an account under the names that they have here, unchecked, and its hash unless that is one of them. Throws
   * `invalid`, without any text of the hash.
   */
  read(record: unknown): { fields: unknown; hash?: string | Phc | null | undefined };
};

const nullable = <T>(...types: string[]) =>
  Type.Optional(Type.Unsafe<T | null>({ type: [...types, 'null'] }));
/** The fields of records: null and the empty text are as good as none. */
export const Text = nullable<string>('string');
export const Flag = nullable<boolean>('boolean');

/** Compiles a validator of these fields of a record; the others come as they are. */
export function recordValidator<P extends TProperties>(fields: P) {
  return bodyValidator(Type.Unsafe<Static<TObject<P>> & Record<string, unknown>>(Type.Object(fields)));
}

const readFields = recordValidator({
  id: Text,
  username: Text,
  email: Text,
  email_verified: Flag,
  name: Text,
  first_name: Text,
  last_name: Text,
  role: Text,
  status: Text,
  /** ISO 8601, or in milliseconds. */
  created_at: nullable<string | number>('string', 'integer'),
  password_hash: Text,
});

/** Lines of JSON with the fields that users have here, and the password hash as its program writes it. */
export const ndjson: Source = { read: (fields) => ({ fields }) };

const MAX_CLOCK_SKEW_MS = 3_600_000;

/**
 * Checks what a record says, by the rules by which users are created. An id that is fit for a user stays; any other becomes
 * one that is the same at each import; `sourceId` is that in the file. Throws `invalid`.
 *
 * @param from the name of the program
 */
export function importedAccount(from: string, { fields, hash }: ReturnType<Source['read']>) {
  const given = readFields(fields);
  const { email, role, status, first_name: firstName, last_name: lastName } = given;
  const addressKey = email ? emailKey(email) : undefined;
  // Where addresses are usernames, one is derived; so is a name.
  const chosen = (text: string | null | undefined) =>
    text && emailKey(text) !== addressKey ? text : undefined;
  const [username, name] = [chosen(given.username), chosen(given.name)];
  const texts = Object.entries({ username, email, name, firstName, lastName, role, status });
  const draft: NewUser = Object.fromEntries(texts.filter(([, text]) => text));
  const problems = draftProblems(draft);
  const now = Date.now();
  const time = given.created_at == null ? now : new Date(given.created_at).getTime();
  // The clocks of two machines differ.
  if (!(time >= 0 && time < now + MAX_CLOCK_SKEW_MS))
    problems.push({ field: 'The time of creation', message: 'must lie between 1970 and now' });
  const sourceId = given.id || undefined;
  const known = sourceId ?? draft.username ?? draft.email;
  if (!known) problems.push({ field: 'id', message: 'or a username or an email is required' });
  if (problems.length > 0) throw invalidFields(problems);
  const passwordHash = hash || given.password_hash;
  return {
    id: sourceId && isUserId(sourceId) ? sourceId : derivedId('usr', `${from}\n${known}`),
    sourceId,
    draft: { ...draft, emailVerified: given.email_verified === true },
    createdAt: new Date(Math.min(time, now)),
    passwordHash: passwordHash ? hashOf(passwordHash) : null,
  };
}

import { PASSWORD_LENGTH } from './user-fields.ts';

/**
 * The passwords that people use most, in lower case. Read when one is first asked for: half a megabyte, which the service
 * needs neither to start nor to sign people in.
 */
let common: Promise<ReadonlySet<string>> | undefined;

/** The list lacks most of what counts or repeats, which its library finds by other means than the list. */
const ORDERED = ['0123456789'.repeat(3), 'abcdefghijklmnopqrstuvwxyz'].flatMap((characters) => [
  characters,
  [...characters].reverse().join(''),
]);
const REPEATED = /^(.{1,4})\1+$/su;

/** Whether this is a password that others would try first, whatever its case (NIST SP 800-63B §5.1.1.2). */
export async function isCommonPassword(password: string): Promise<boolean> {
  const key = password.toLowerCase();
  if (REPEATED.test(key) || ORDERED.some((characters) => characters.includes(key))) return true;
  common ??= import('@zxcvbn-ts/language-common/src/passwords.json', { with: { type: 'json' } }).then(
    ({ default: passwords }) => new Set(passwords.filter(({ length }) => length >= PASSWORD_LENGTH.min)),
  );
  return (await common).has(key);
}

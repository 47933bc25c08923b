import { foldedKey } from '@gatehouse/kit/folded-key';
import { newId } from '@gatehouse/kit/ids';
import type { NewUser } from './user.ts';
import { USERNAME_LENGTH } from './user-fields.ts';

/** How many random characters are at the end: more with each attempt, as the one before was in use. */
const RANDOM = [0, 5, 8, 16];
export const DERIVATIONS = RANDOM.length;

/** What a username may not hold, or does not show; one dot stands for several in a row. */
const REFUSED = /(?:[^\p{L}\p{M}\p{N}_+-]|\p{Default_Ignorable_Code_Point})+/gu;
/** Dots at the ends, and marks that would stand on nothing. */
const LOOSE = /^[.\p{M}]+|\.+$/gu;

/**
 * A username for somebody who has chosen none, in lower case and allowed characters: made of the local part of their
 * email or, without an email, of their name. Attempt 0 is that alone; each later one, below DERIVATIONS, has a longer
 * random end.
 */
export function derivedUsername({ email, name, firstName, lastName }: NewUser, attempt: number): string {
  const fullName = name ?? [firstName, lastName].filter((part) => part !== undefined).join(' ');
  const source = typeof email === 'string' ? email.slice(0, email.lastIndexOf('@')) : fullName;
  const text = foldedKey(source).replace(REFUSED, '.').replace(LOOSE, '');
  const base = /[\p{L}\p{N}]/u.test(text) ? text : 'user';
  const isShort = [...base].length < USERNAME_LENGTH.min;
  const random = RANDOM[isShort ? Math.max(attempt, 1) : attempt] ?? 0;
  if (random === 0) return cut(base, USERNAME_LENGTH.max);
  // The end of an id is random.
  return `${cut(base, USERNAME_LENGTH.max - 1 - random)}-${newId('usr').slice(-random)}`;
}

/** At most so many characters, without a dot at the end. */
function cut(text: string, max: number): string {
  return [...text].slice(0, max).join('').replace(LOOSE, '');
}

import { newId } from '@gatehouse/core/ids';
import { foldedKey } from '@gatehouse/domain/folded-key';
import { USERNAME_LENGTH } from '@gatehouse/domain/user-inputs';
import type { NewUser } from './user.ts';
import { keepsToOneScript } from './username-scripts.ts';

/** The number of random characters at the end, by attempt. */
const SUFFIX_LENGTHS = [0, 5, 8, 16];
export const MAX_DERIVATIONS = SUFFIX_LENGTHS.length;

/** Characters that a username may not have, and invisible ones; a run of them becomes one dot. */
const DISALLOWED = /(?:[^\p{L}\p{M}\p{N}_+-]|\p{Default_Ignorable_Code_Point})+/gu;
/** Dots at either end, and combining marks at the beginning. */
const STRAY = /^[.\p{M}]+|\.+$/gu;

/**
 * A username for a person who has not chosen one, in lower case and allowed characters: the local part of their email or,
 * without an email, their name; `user` where that mixes scripts. Attempt 0 is that alone; each later attempt, below MAX_DERIVATIONS, has a longer random
 * suffix.
 */
export function derivedUsername({ email, name, firstName, lastName }: NewUser, attempt: number): string {
  const fullName = name ?? [firstName, lastName].filter((part) => part !== undefined).join(' ');
  const source = typeof email === 'string' ? email.slice(0, email.lastIndexOf('@')) : fullName;
  const text = foldedKey(source).replace(DISALLOWED, '.').replace(STRAY, '');
  const base = /[\p{L}\p{N}]/u.test(text) && keepsToOneScript(text) ? text : 'user';
  const isShort = [...base].length < USERNAME_LENGTH.min;
  const random = SUFFIX_LENGTHS[isShort ? Math.max(attempt, 1) : attempt] ?? 0;
  if (random === 0) return truncate(base, USERNAME_LENGTH.max);
  const beginning = truncate(base, USERNAME_LENGTH.max - 1 - random);
  // The end of an id is random. Its Latin letters do not go with every script.
  const end = newId('usr').slice(-random);
  const digits = end.replace(/[a-z]/g, (letter) => String(letter.charCodeAt(0) % 10));
  return keepsToOneScript(beginning + end) ? `${beginning}-${end}` : `${beginning}-${digits}`;
}

/** The first `max` characters, without a dot at the end. */
function truncate(text: string, max: number): string {
  return [...text].slice(0, max).join('').replace(STRAY, '');
}

import { emailKey, foldedKey } from '@gatehouse/domain/folded-key';
import confusables from './confusables.json' with { type: 'json' };

const prototypes = new Map(
  Object.entries(confusables.byPrototype).flatMap(([prototype, characters]) =>
    Array.from(characters, (character) => [character, prototype]),
  ),
);

/** Those among the ASCII characters of usernames (UTS #39), of which 0 looks like an O. */
const ASCII_PROTOTYPES: Readonly<Record<string, string>> = { 0: 'o', 1: 'l', m: 'rn' };

/** The skeleton (UTS #39 §4) of a folded text, in which ASCII characters stand for themselves. */
function skeletonOf(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text;
  return Array.from(text.normalize('NFD'), (it) => prototypes.get(it) ?? it)
    .join('')
    .normalize('NFC');
}

/** The key that is shared by all usernames that look like this one. It has no @. */
export function usernameLookAlike(username: string): string {
  return skeletonOf(foldedKey(username)).replace(/[01m]/g, (it) => ASCII_PROTOTYPES[it] ?? it);
}

/** The keys of a username, folded and as it is shown, with an I that looks like an l. Two names look alike if they share one. */
export function usernameLookAlikes(username: string): string[] {
  return [...new Set([username, username.replaceAll('I', 'l')].map(usernameLookAlike))];
}

/**
 * The key that is shared by all addresses of the domain that look like this one. Addresses in ASCII look like no others: people
 * do not choose theirs, and tom1@ is not toml@.
 */
export function emailLookAlike(email: string): string {
  const key = emailKey(email);
  const at = key.lastIndexOf('@');
  return skeletonOf(key.slice(0, at)) + key.slice(at);
}

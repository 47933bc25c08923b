import { asciiDomain } from './domain-name.ts';

/**
 * The key by which names are unique and sorted: toNFKC_Casefold(NFD(text)), by which identifiers match
 * whatever their case and Unicode form (The Unicode Standard §3.13, D147; UAX #31 §5). ß equals ss, ı is not i, and
 * characters that show nothing do not count.
 */
export function foldedKey(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  return Array.from(text.normalize('NFD'), foldedCharacter).join('').normalize('NFC');
}

/** The last @, in any width. */
const LAST_AT = /[@\ufe6b\uff20](?=[^@\ufe6b\uff20]*$)/u;

/**
 * The key of an email address, by which all addresses are compared: the foldedKey of what stands before the @, and the domain as
 * A-labels (see asciiDomain). Of another text, it is the foldedKey.
 */
export function emailKey(address: string): string {
  const [local = '', domain] = address.split(LAST_AT);
  if (domain === undefined) return foldedKey(address);
  return `${foldedKey(local)}@${asciiDomain(domain) ?? foldedKey(domain)}`;
}

/** More than any login in any spelling, in characters. */
const LONGEST_LOGIN = 1024;

/**
 * The key of what somebody types as their username or email address, by which the account is looked up and failures are counted:
 * all spellings that find an account have one key. A text that is too long, or shows nothing, has the key of no account.
 */
export function loginKey(login: string): string {
  // Trimmed once it is folded: what shows nothing may stand around the spaces.
  const key = login.length > LONGEST_LOGIN ? '' : emailKey(login).trim();
  return key === '' ? NO_SUCH_LOGIN : key;
}

/** Not empty: indexes hold no empty keys, so a search for one would scan the collection. */
const NO_SUCH_LOGIN = ' ';

/** The foldings of characters, cached: a stranger may send a thousand that take long, such as U+FDFA, which becomes eighteen. */
const known = new Map<string, string>();
const MAX_KNOWN = 10_000;

function foldedCharacter(character: string): string {
  const found = known.get(character);
  if (found !== undefined) return found;
  const folded = nfkcCasefold(character);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(character, folded);
  return folded;
}

/** The property NFKC_Casefold of a character (DerivedNormalizationProps.txt). */
function nfkcCasefold(character: string): string {
  let folded = character;
  for (let before = ''; folded !== before; ) {
    before = folded;
    const visible = folded.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
    folded = Array.from(visible, caseFold).join('').normalize('NFKC');
  }
  return folded;
}

/**
 * The full case folding of a character (CaseFolding.txt, C and F). It is the lower case of its upper case, but for ı,
 * whose upper case is that of i, and for Cherokee, which folds to its older upper case.
 */
function caseFold(character: string): string {
  if (character === 'ı') return character;
  if (/\p{Script=Cherokee}/u.test(character)) return character.toUpperCase();
  return Array.from(character.toLowerCase().toUpperCase(), (it) => it.toLowerCase()).join('');
}

/**
 * The characters of Default_Ignorable_Code_Point, as in a class of a regular expression: that property is one that few
 * programs know besides those that run on JavaScript.
 */
export const IGNORABLE = [
  String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164`,
  String.raw`\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8`,
  // Beyond four digits, escapes are written differently in each language.
  ...[0x1bca0, 0x1bca3, 0x1d173, 0x1d17a, 0xe0000, 0xe0fff].map(
    (code, i) => String.fromCodePoint(code) + '-'.repeat(1 - (i % 2)),
  ),
].join('');

/**
 * The key by which usernames and emails are unique and sorted: toNFKC_Casefold(NFD(text)), by which identifiers match
 * whatever their case and Unicode form (The Unicode Standard §3.13, D147; UAX #31 §5). ß equals ss, ı is not i, and
 * characters that show nothing do not count.
 */
export function foldedKey(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text.toLowerCase();
  return Array.from(text.normalize('NFD'), nfkcCasefold).join('').normalize('NFC');
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

/**
 * The key by which usernames and emails are unique and sorted: two spellings that differ in case or in
 * Unicode form only are one (NFKC, case-folded). Lower, upper and lower case once more fold ß and
 * ẞ with ss.
 */
export function foldedKey(text: string): string {
  return text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}

/**
 * The key by which usernames and emails are unique and sorted: NFKC and case-folded, so that spellings that differ only
 * in case or Unicode form are equal. Converting to lower, upper and lower case makes ß and ẞ equal to ss.
 */
export function foldedKey(text: string): string {
  return text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC');
}

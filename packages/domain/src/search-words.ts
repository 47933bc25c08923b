import { foldedKey } from './folded-key.ts';

/** A text has at most so many words, and a word so many characters: what is beyond is not found. */
const MAX_WORDS = 300;
const MAX_LENGTH = 40;

const segmenter = new Intl.Segmenter('und', { granularity: 'word' });

/**
 * The distinct words of a text, as they are stored and looked for: case-folded and without diacritics, so that "cafe"
 * finds "Café". Also words of languages that are written without spaces.
 */
export function wordsOf(text: string): string[] {
  // Combining diacritical marks only: the vowel signs of other scripts are letters.
  const folded = foldedKey(text)
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f]/g, '');
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmenter.segment(folded)) {
    if (isWordLike === true) words.add(segment.slice(0, MAX_LENGTH));
    if (words.size >= MAX_WORDS) break;
  }
  return [...words];
}

/** The words of names and addresses, which end at every dot, underscore and apostrophe as well: "ann.lee" has two. */
export function nameWordsOf(text: string): string[] {
  return wordsOf(foldedKey(text).replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' '));
}

import { foldedKey } from '@gatehouse/domain/folded-key';
import type { ApiPage } from './pages.ts';

/** Whether each word of a search begins a word of one of these texts, whatever the case. */
export function matches(search: string, ...texts: readonly (string | null)[]): boolean {
  const wanted = wordsOf(search);
  const words = texts.flatMap((text) => (text === null ? [] : wordsOf(text)));
  return wanted.length > 0 && wanted.every((word) => words.some((it) => it.startsWith(word)));
}

/** The rows of a list that match a search, of which the API has none for this list. */
export function matching<T>(
  page: ApiPage<T>,
  search: string,
  textsOf: (row: T) => readonly (string | null)[],
): ApiPage<T> {
  return { data: page.data.filter((row) => matches(search, ...textsOf(row))) };
}

function wordsOf(text: string): readonly string[] {
  return foldedKey(text).match(/[\p{L}\p{N}]+/gu) ?? [];
}

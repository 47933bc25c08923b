import MiniSearch, { type SearchResult } from 'minisearch';
import type { Guide } from '../guides/library.ts';
import { profilesOf } from '../reference/operation-view.ts';
import type { Topic } from '../reference/topics.ts';

/** A section of a guide, or an operation. */
export type Entry = {
  /** The URL of the section or the operation, with its anchor. */
  href: string;
  title: string;
  /** The page or the topic that it is part of. */
  place: string;
  text: string;
  operation?: { method: string; path: string };
  /** Comes after what helps to use the interface. */
  isDecision?: boolean;
};
/** The words of the entry that were found, for marking them. */
export type Found = Entry & { words: readonly string[] };

/** Words that the documentation has another word for. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ['pagination', 'paging'],
  ['paginate', 'paging'],
  ['paginated', 'paging'],
  ['throttling', 'rate'],
  ['throttled', 'rate'],
  ['quota', 'rate'],
  ['ordering', 'sort'],
  ['renew', 'refresh'],
]);

/** Each word is looked for among all; further ones are left out. */
const MAX_WORDS = 10;
const MAX_RESULTS = 40;

/**
 * Searches guides by section, and operations. Beginnings of words are found, and words with a small mistake: one wrong
 * letter in five. All words have to be there; if nothing has all, any.
 */
export function createSearch(guides: readonly Guide[], topics: readonly Topic[]): (query: string) => Found[] {
  const entries = [...guides.flatMap(entriesOfGuide), ...topics.flatMap(entriesOfTopic)];
  const index = new MiniSearch<Entry & { id: number }>({
    fields: ['title', 'place', 'text', 'route'],
    extractField: (entry, field) => {
      const { operation } = entry;
      if (field === 'route') return operation === undefined ? '' : `${operation.method} ${operation.path}`;
      return entry[field as 'id' | 'title' | 'place' | 'text'] as string;
    },
    storeFields: ['isDecision'],
    tokenize: wordsOf,
    processTerm: (word) => SYNONYMS.get(word.toLowerCase()) ?? word.toLowerCase(),
    searchOptions: {
      boost: { title: 4, route: 3, place: 2 },
      boostDocument: (_id, _term, stored) => (stored?.isDecision === true ? 0.3 : 1),
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 3 ? 0.2 : false),
      maxFuzzy: 2,
    },
  });
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));

  return (query) => {
    const words = wordsOf(query).slice(0, MAX_WORDS).join(' ');
    const all = index.search(words, { combineWith: 'AND' });
    const results: SearchResult[] = all.length > 0 ? all : index.search(words);
    return results.slice(0, MAX_RESULTS).flatMap(({ id, terms }) => {
      const entry = entries[id as number];
      return entry === undefined ? [] : [{ ...entry, words: terms }];
    });
  };
}

const wordsOf = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];

function entriesOfGuide({ title, href, sections, kind }: Guide): Entry[] {
  const isDecision = kind === 'decision';
  const place = isDecision ? `Decision ${title}` : title;
  return sections
    .filter(({ text, heading }) => text !== '' || heading !== '')
    .map(({ id, heading, text }) => ({
      href: id === '' ? href : `${href}#${id}`,
      title: heading || title,
      place,
      text,
      isDecision,
    }));
}

function entriesOfTopic({ name, pages }: Topic): Entry[] {
  return pages.flatMap(({ href, operations }) =>
    operations.map(({ method, path, operation }) => {
      const { operationId, description = '', parameters = [] } = operation;
      const { summary, profiles } = profilesOf(operation);
      const names = parameters.filter((it) => it.deprecated !== true).map((it) => it.name);
      return {
        href: `${href}#${operationId}`,
        title: summary,
        place: `${name}${profiles.length > 0 ? `, profile ${profiles.join(', ')}` : ''}`,
        text: `${description} ${names.join(' ')}`.trim(),
        operation: { method, path },
      };
    }),
  );
}

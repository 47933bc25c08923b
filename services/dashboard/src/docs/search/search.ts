import MiniSearch, { type SearchResult } from 'minisearch';
import type { Guide, Kind } from '../guides/library.ts';
import type { ApiDescription } from '../openapi/source.ts';
import { profilesOf } from '../reference/operation-view.ts';
import { type Topic, topicsOf } from '../reference/topics.ts';

/** A section of a guide, or an operation. */
export type Entry = {
  /** The URL of the section or the operation, with its anchor. */
  href: string;
  title: string;
  /** The page or the topic that it is part of. */
  place: string;
  text: string;
  operation?: { method: string; path: string };
  /** Decisions come last, and background after what helps to use the interface. */
  kind?: Kind;
};
/** The words of the entry that were found, for marking them. */
export type Found = Entry & { words: readonly string[] };

/** `isExact`: only what has all words, without mistakes. */
type Search = (query: string, options?: { isExact?: boolean }) => Found[];
/** The search of the documentation as it is now. */
export type DocsSearch = (...query: Parameters<Search>) => Promise<Found[]>;

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
  ['block', 'deactivate'],
  ['ban', 'deactivate'],
  ['suspend', 'deactivate'],
  ['ttl', 'lifetime'],
  ['expiry', 'lifetime'],
  ['expiration', 'lifetime'],
  ['branding', 'brand'],
  ['mfa', 'factor'],
  ['2fa', 'factor'],
  // No plural.
  ['cors', 'cors'],
]);
/** Words that say nothing about what is looked for. */
const STOP_WORDS = new Set([
  'a',
  'an',
  'and',
  'do',
  'for',
  'how',
  'i',
  'in',
  'is',
  'of',
  'on',
  'the',
  'to',
  'with',
]);

/** Each word is looked for among all; further ones are left out. */
const MAX_WORDS = 10;
const MAX_RESULTS = 40;

/**
 * Searches guides by section, and operations. Words and beginnings of words are found, the words first. All of them have to be
 * there; where nothing has all, words with a small mistake are found as well, one wrong letter in five, and then any of the words.
 * Decisions come last.
 */
export function createSearch(guides: readonly Guide[], topics: readonly Topic[]): Search {
  const entries = [...guides.flatMap(entriesOfGuide), ...topics.flatMap(entriesOfTopic)];
  const index = new MiniSearch<Entry & { id: number }>({
    fields: ['title', 'place', 'text', 'route'],
    extractField: (entry, field) => {
      const { operation } = entry;
      if (field === 'route') return operation === undefined ? '' : `${operation.method} ${operation.path}`;
      return entry[field as 'id' | 'title' | 'place' | 'text'] as string;
    },
    storeFields: ['kind'],
    tokenize: wordsOf,
    processTerm: (word) => termOf(word.toLowerCase()),
    searchOptions: {
      boost: { title: 6, route: 3, place: 3 },
      boostDocument: (_id, _term, stored) => (stored?.kind === 'background' ? 0.4 : 1),
      prefix: (term) => term.length > 1,
      weights: { prefix: 0.2, fuzzy: 0.1 },
    },
  });
  index.addAll(entries.map((entry, id) => ({ ...entry, id })));

  return (query, { isExact = false } = {}) => {
    const all = wordsOf(query).slice(0, MAX_WORDS);
    const telling = all.filter((word) => !STOP_WORDS.has(word.toLowerCase()));
    const words = (telling.length > 0 ? telling : all).join(' ');
    const fuzzy = (term: string) => (term.length > 3 ? 0.2 : false);
    let results: SearchResult[] = [];
    const attempts = [{ combineWith: 'AND' }, { combineWith: 'AND', fuzzy }, { fuzzy }] as const;
    for (const options of isExact ? attempts.slice(0, 1) : attempts) {
      if (results.length === 0) results = index.search(words, options);
    }
    const isDecision = ({ kind }: SearchResult) => Number(kind === 'decision');
    const ordered = results.toSorted((a, b) => isDecision(a) - isDecision(b));
    return ordered.slice(0, MAX_RESULTS).flatMap(({ id, terms }) => {
      const entry = entries[id as number];
      return entry === undefined ? [] : [{ ...entry, words: terms }];
    });
  };
}

/** The search over the guides and the operations, made when it is first used. While a service is slow, it searches the last state. */
export function createDocsSearch(options: {
  describe: () => Promise<ApiDescription>;
  library: () => readonly Guide[];
}): DocsSearch {
  let made: { api: ApiDescription; search: Search } | undefined;
  return async (...query) => {
    const current = options.describe().then((api) => {
      if (made?.api !== api) made = { api, search: createSearch(options.library(), topicsOf(api.document)) };
      return made;
    });
    // A request that uses the last state does not wait for the error either.
    current.catch(() => {});
    const { search } = made ?? (await current);
    return search(...query);
  };
}

/** Without the s of a plural. */
const termOf = (word: string) => SYNONYMS.get(word) ?? word.replace(/(?<=\w{2}[^s])s$/, '');

const wordsOf = (text: string) =>
  text.replaceAll(/\blog(?:ging)?[- ]?(in|out)\b/gi, 'sign $1').match(/[\p{L}\p{N}]+/gu) ?? [];

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
      kind,
    }));
}

function entriesOfTopic({ name, pages }: Topic): Entry[] {
  return pages.flatMap(({ hrefs: [href], operations }) =>
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

import { ServiceError } from '@gatehouse/core/errors';
import type { DocumentCollection, IndexDefinition } from '@gatehouse/data/collection';
import { settleAll } from '@gatehouse/data/settle-all';
import type {
  Condition,
  Facets,
  KeysetPage,
  ListQuery,
  ListSource,
  OffsetPage,
  Position,
  Rows,
} from '@gatehouse/domain/list-query';
import { wordsOf } from '@gatehouse/domain/search-words';
import { LRUCache } from 'lru-cache';
import type { Product, ProductField, StoredField } from '../product.ts';
import { PRODUCT_FIELDS, PRODUCT_LISTS, type ProductDocument, productOf } from './product-document.ts';

type Filter = Record<string, unknown>;
type Found = { document: ProductDocument; tier: number };
type Counted = { total: number; facets: Facets };
/** `forget` is called after each write of this process, whose searches then count again. */
export type ProductSearch = ListSource<ProductField, Product> & { forget(): void };

/** With the category, so that facets are counted without reading documents. */
const WORDS_INDEX = { fields: { words: 1, category: 1 }, options: { name: 'words' } } as const;
export const SEARCH_INDEXES: readonly IndexDefinition[] = [
  WORDS_INDEX,
  // With the id, so that the products whose names have a word come in the order of results.
  { fields: { name_words: 1, _id: 1 }, options: { name: 'name_words_1__id_1' } },
];

/** A total and facets are counted up to so many matches. */
export const MAX_COUNTED = 1000;
const MAX_FACETS = 50;
/** How long counts are kept, and for how many searches: all pages of a search have the same counts. */
const COUNTED_MS = 2000;
const MAX_KEPT = 100;
/**
 * The time limit of a search in the database, in milliseconds. A search exceeds it if its filter matches so few of the products with the
 * words that nearly all of them would have to be read.
 */
const MAX_SEARCH_MS = 3000;

/** The stored fields by which a search can be sorted besides relevance. */
const SORTS: Partial<Record<ProductField, string>> = { id: '_id', price: 'price', createdAt: 'created_at' };

/**
 * Products that have all words of a text, the last of them as the beginning of a word. Sorted by relevance they are three
 * lists, one after the other and each in the order of the ids: products whose names have all words as they are, those whose
 * names have them with the last one as a beginning, and all others. The database chooses for each query between the index
 * of words, for rare ones, and that of the sort, for frequent ones.
 */
export function createProductSearch(collection: DocumentCollection): ProductSearch {
  const counted = new LRUCache<string, Promise<Counted>>({ max: MAX_KEPT, ttl: COUNTED_MS });

  /** At most `limit` results beyond a position, in ascending or descending order. */
  async function select(
    tiers: readonly Filter[],
    { field, isAscending }: { field: string; isAscending: boolean },
    {
      limit,
      skip,
      beyond,
      until,
    }: { limit: number; skip: number; beyond?: Bound | undefined; until: number },
  ): Promise<Found[]> {
    const found: Found[] = [];
    let toSkip = skip;
    const numbered = [...tiers.entries()];
    for (const [tier, filter] of isAscending ? numbered : numbered.reverse()) {
      if (found.length >= limit) break;
      const isPassed = beyond && (isAscending ? tier < beyond.tier : tier > beyond.tier);
      if (isPassed) continue;
      const bound =
        beyond?.tier === tier ? [sideOf(field, beyond.position, isAscending, beyond.inclusive)] : [];
      const direction = isAscending ? 1 : -1;
      const documents = await collection
        .find({ $and: [filter, ...bound] })
        .sort(field === '_id' ? { _id: direction } : { [field]: direction, _id: direction })
        .project<ProductDocument>({ ...PRODUCT_FIELDS, [field]: 1 })
        // The skipped rows may lie in several lists.
        .limit(limit - found.length + toSkip)
        // At least 1: of 0 the database takes that there is no limit.
        .maxTimeMS(Math.max(1, Math.round(until - performance.now())))
        .toArray();
      found.push(...documents.slice(toSkip).map((document) => ({ document, tier })));
      toSkip = Math.max(0, toSkip - documents.length);
    }
    return found;
  }

  /** The total and the facets of a search are one query, which all requests of the same moment share. */
  function count(conditions: readonly Condition<ProductField>[]): Promise<Counted> {
    const key = JSON.stringify(conditions);
    const known = counted.get(key);
    if (known !== undefined) return known;
    const counting = countNow(collection, conditions);
    counted.set(key, counting);
    counting.catch(() => {
      if (counted.peek(key) === counting) counted.delete(key);
    });
    return counting;
  }

  async function rows(
    { conditions, sort }: ListQuery<ProductField>,
    page: OffsetPage | KeysetPage,
  ): Promise<Rows<Product>> {
    const byRelevance = sort.field === 'relevance';
    const field = byRelevance ? '_id' : SORTS[sort.field];
    if (field === undefined) throw invalidSort();
    // Skipped rows are read, too.
    if ('offset' in page && page.offset > MAX_COUNTED) throw invalidOffset();
    const from = 'from' in page ? page.from : undefined;
    const isBackward = from?.direction === 'previous';
    const isAscending = sort.descending === isBackward;
    const tiers = tiersOf(conditions, byRelevance);
    const beyond = from && boundOf(from, byRelevance);
    const counts = from === undefined ? await count(conditions) : undefined;
    // One query shows that nothing is found, instead of one for each list.
    if (counts?.total === 0) return { facets: counts.facets, items: [], hasNext: false, hasPrevious: false };
    const until = performance.now() + MAX_SEARCH_MS;
    const [found, opposite] = await settleAll([
      select(
        tiers,
        { field, isAscending },
        { limit: page.limit + 1, skip: 'offset' in page ? page.offset : 0, beyond, until },
      ),
      beyond === undefined
        ? []
        : select(
            tiers,
            { field, isAscending: !isAscending },
            { limit: 1, skip: 0, beyond: { ...beyond, inclusive: !beyond.inclusive }, until },
          ),
    ]);
    const shown = found.slice(0, page.limit);
    if (isBackward) shown.reverse();
    const hasMore = found.length > page.limit;
    const hasOpposite = opposite.length > 0 || ('offset' in page && page.offset > 0 && found.length > 0);
    const [first, last] = [shown[0], shown.at(-1)];
    const positionOf = ({ document, tier }: Found): Position => ({
      value: byRelevance ? tier : sortValue(field, document),
      id: document._id,
    });
    return {
      items: shown.map(({ document }) => productOf(document)),
      hasNext: isBackward ? hasOpposite : hasMore,
      hasPrevious: isBackward ? hasMore : hasOpposite,
      ...(first && last && { first: positionOf(first), last: positionOf(last) }),
      ...(counts && { facets: counts.facets }),
    };
  }

  return {
    byOffset: rows,
    byKeyset: rows,
    count: async (conditions) => (await count(conditions)).total,
    forget: () => counted.clear(),
  };
}

/** The filters of the lists that the results are made of; none if there can be no result. */
function tiersOf(conditions: readonly Condition<ProductField>[], byRelevance: boolean): Filter[] {
  const { all, inName, wholeInName, others } = filtersOf(conditions) ?? {};
  if (all === undefined || others === undefined) return [];
  if (!byRelevance) return [{ $and: [all, ...others] }];
  return [
    { $and: [wholeInName, ...others] },
    { $and: [inName, ...others], $nor: [wholeInName] },
    { $and: [all, ...others], $nor: [inName] },
  ];
}

async function countNow(
  collection: DocumentCollection,
  conditions: readonly Condition<ProductField>[],
): Promise<Counted> {
  const { all, others = [] } = filtersOf(conditions) ?? {};
  if (all === undefined) return { total: 0, facets: { category: [] } };
  const groups = await collection
    .aggregate<{ _id: string; count: number }>(
      [
        { $match: { $and: [all, ...others] } },
        { $limit: MAX_COUNTED },
        { $group: { _id: '$category', count: { $sum: 1 } } },
        { $sort: { count: -1, _id: 1 } },
      ],
      { hint: WORDS_INDEX.options.name, maxTimeMS: MAX_SEARCH_MS },
    )
    .toArray();
  const category = groups
    .filter(({ _id }) => _id !== '')
    .slice(0, MAX_FACETS)
    .map(({ _id: value, count }) => ({ value, count }));
  return { total: groups.reduce((sum, { count }) => sum + count, 0), facets: { category } };
}

/**
 * The conditions of a search: on the words of a product, on those of its name, and on other fields. Undefined if nothing
 * can be found. A deleted product has no words.
 */
function filtersOf(conditions: readonly Condition<ProductField>[]) {
  const words = wordsOf(
    conditions.flatMap(({ field, values }) => (field === 'q' ? values.map(String) : [])).join(' '),
  );
  const last = words.at(-1);
  const stored = conditions.filter(({ field }) => field !== 'q') as Condition<StoredField>[];
  const other = stored.length === 0 ? {} : PRODUCT_LISTS.count(stored);
  if (last === undefined || other === undefined) return undefined;
  const have = (field: 'words' | 'name_words', whole: readonly string[], prefix?: string): Filter => ({
    $and: [
      ...whole.map((word) => ({ [field]: word })),
      // A quoted prefix is matched in the index alone; for a range of elements, each document would be read. No word has a backslash.
      ...(prefix === undefined ? [] : [{ [field]: { $regex: `^\\Q${prefix}\\E` } }]),
    ],
  });
  return {
    all: have('words', words.slice(0, -1), last),
    inName: have('name_words', words.slice(0, -1), last),
    wholeInName: have('name_words', words),
    others: Object.keys(other).length === 0 ? [] : [other],
  };
}

/** A position among the results; `tier` is that of its list. */
type Bound = { position: Position; tier: number; inclusive: boolean };

function boundOf({ position, inclusive }: NonNullable<KeysetPage['from']>, byRelevance: boolean): Bound {
  if (!byRelevance) return { position, tier: 0, inclusive };
  const { value: tier, id } = position;
  if (typeof tier !== 'number' || ![0, 1, 2].includes(tier)) throw invalidSort();
  return { position: { value: null, id }, tier, inclusive };
}

/** Matches the documents on one side of a position. */
function sideOf(field: string, { value, id }: Position, isAfter: boolean, inclusive: boolean): Filter {
  const operator = isAfter ? '$gt' : '$lt';
  const ofId = { _id: { [inclusive ? `${operator}e` : operator]: id } };
  if (field === '_id') return ofId;
  if (typeof value !== 'number') throw invalidSort();
  const stored = field === 'created_at' ? new Date(value) : value;
  return { $or: [{ [field]: { [operator]: stored } }, { [field]: stored, ...ofId }] };
}

function sortValue(field: string, document: ProductDocument): Position['value'] {
  if (field === '_id') return null;
  return field === 'price' ? document.price : document.created_at.getTime();
}

function invalidSort(): ServiceError {
  return new ServiceError('invalid', 'A search is sorted by relevance, price or created_at.', {
    details: [{ field: 'sort', message: 'must be relevance, price or created_at' }],
  });
}

function invalidOffset(): ServiceError {
  const message = `must not be beyond row ${MAX_COUNTED} of a search; go on with the cursor parameter`;
  return new ServiceError('invalid', `The page ${message}.`, { details: [{ field: 'page', message }] });
}

import { ServiceError } from '@gatehouse/kit/errors';
import type {
  Condition,
  Facets,
  KeysetPage,
  ListQuery,
  ListSource,
  OffsetPage,
  Position,
  Rows,
} from '@gatehouse/kit/list-query';
import type { DocumentCollection, IndexDefinition } from '@gatehouse/mongo/collection';
import { MAX_QUERY_MS } from '@gatehouse/mongo/database';
import type { Product, ProductField, StoredField } from '../product.ts';
import { wordsOf } from '../search-words.ts';
import { PRODUCT_FIELDS, PRODUCT_LISTS, type ProductDocument, productOf } from './product-document.ts';

type Stage = Record<string, unknown>;
type Ranked = ProductDocument & { rank: number };

export const WORDS_INDEX: IndexDefinition = { fields: { words: 1 }, options: { name: 'words' } };

/** By what a search can be sorted, as stored. */
const SORTS: Partial<Record<ProductField, string>> = {
  id: '_id',
  relevance: 'rank',
  price: 'price',
  createdAt: 'created_at',
};

/**
 * Products that have all words of a text, the last of them as the beginning of a word. The matches are found by the index of
 * words, then ranked and sorted by the database: the cost of a page depends on the number of matches, not on its position.
 */
export function createProductSearch(collection: DocumentCollection): ListSource<ProductField, Product> {
  function aggregate<T extends object>(stages: readonly Stage[]): Promise<T[]> {
    return collection
      .aggregate<T>([...stages], { hint: WORDS_INDEX.options.name, maxTimeMS: MAX_QUERY_MS })
      .toArray();
  }

  /** The stages that find and rank the matches; undefined if there can be none. */
  function matches(conditions: readonly Condition<ProductField>[]): Stage[] | undefined {
    const text = conditions
      .flatMap(({ field, values }) => (field === 'q' ? values.map(String) : []))
      .join(' ');
    const words = wordsOf(text);
    const last = words.pop();
    const others = conditions.filter(({ field }) => field !== 'q') as Condition<StoredField>[];
    const filter = PRODUCT_LISTS.count(others);
    if (last === undefined || filter === undefined) return undefined;
    const prefix = { $elemMatch: { $gte: last, $lt: `${last}\uffff` } };
    const all = [...words.map((word) => ({ words: word })), { words: prefix }, filter];
    const inName = { $size: { $setIntersection: ['$name_words', { $literal: words }] } };
    const begins = { $eq: [{ $indexOfCP: ['$$word', { $literal: last }] }, 0] };
    const lastInName = { $anyElementTrue: { $map: { input: '$name_words', as: 'word', in: begins } } };
    const wholeInName = { $in: [{ $literal: last }, '$name_words'] };
    const score = [inName, { $cond: [lastInName, 1, 0] }, { $cond: [wholeInName, 0.5, 0] }];
    // Negative, so that the best come first in ascending order.
    return [{ $match: { $and: all } }, { $set: { rank: { $multiply: [-1, { $add: score }] } } }];
  }

  async function rows(
    { conditions, sort }: ListQuery<ProductField>,
    page: OffsetPage | KeysetPage,
  ): Promise<Rows<Product>> {
    const found = matches(conditions);
    const field = SORTS[sort.field];
    if (found === undefined)
      return { items: [], hasNext: false, hasPrevious: false, facets: { category: [] } };
    if (field === undefined) throw invalidSort();
    const from = 'from' in page ? page.from : undefined;
    const isBackward = from?.direction === 'previous';
    const isAscending = sort.descending === isBackward;
    const select = (limit: number, skip: number, beyond: Stage[]) => [
      ...found,
      ...beyond,
      { $sort: { [field]: isAscending ? 1 : -1, _id: isAscending ? 1 : -1 } },
      ...(skip > 0 ? [{ $skip: skip }] : []),
      { $limit: limit },
      { $project: { ...PRODUCT_FIELDS, [field]: 1 } },
    ];
    const offset = 'offset' in page ? page.offset : 0;
    const beyond = from && [{ $match: sideOf(field, from.position, isAscending, from.inclusive) }];
    const before = from && [{ $match: sideOf(field, from.position, !isAscending, !from.inclusive) }];
    const [documents, opposite] = await Promise.all([
      aggregate<Ranked>(select(page.limit + 1, offset, beyond ?? [])),
      before === undefined ? [] : aggregate([...found, ...before, { $limit: 1 }, { $project: { _id: 1 } }]),
    ]);
    const hasMore = documents.length > page.limit;
    const hasOpposite = opposite.length > 0 || (offset > 0 && documents.length > 0);
    const shown = documents.slice(0, page.limit);
    if (isBackward) shown.reverse();
    const [first, last] = [shown[0], shown.at(-1)];
    return {
      items: shown.map(productOf),
      hasNext: isBackward ? hasOpposite : hasMore,
      hasPrevious: isBackward ? hasMore : hasOpposite,
      ...(first && last && { first: positionOf(field, first), last: positionOf(field, last) }),
      ...('offset' in page ? { facets: await facetsOf(found) } : {}),
    };
  }

  async function facetsOf(found: readonly Stage[]): Promise<Facets> {
    const groups = await aggregate<{ _id: string; count: number }>([
      ...found.slice(0, 1),
      { $match: { category: { $gt: '' } } },
      { $group: { _id: '$category', count: { $sum: 1 } } },
      { $sort: { count: -1, _id: 1 } },
      { $limit: MAX_FACETS },
    ]);
    return { category: groups.map(({ _id: value, count }) => ({ value, count })) };
  }

  return {
    byOffset: rows,
    byKeyset: rows,
    async count(conditions) {
      const found = matches(conditions);
      if (found === undefined) return 0;
      const [counted] = await aggregate<{ total: number }>([...found.slice(0, 1), { $count: 'total' }]);
      return counted?.total ?? 0;
    },
  };
}

const MAX_FACETS = 50;

/** Matches the documents on one side of a position. */
function sideOf(field: string, position: Position, isAfter: boolean, inclusive: boolean): Stage {
  const operator = isAfter ? '$gt' : '$lt';
  const ofId = { _id: { [inclusive ? `${operator}e` : operator]: position.id } };
  if (field === '_id') return ofId;
  const { value } = position;
  if (typeof value !== 'number') throw invalidSort();
  const stored = field === 'created_at' ? new Date(value) : value;
  return { $or: [{ [field]: { [operator]: stored } }, { [field]: stored, ...ofId }] };
}

function positionOf(field: string, document: Ranked): Position {
  if (field === '_id') return { value: null, id: document._id };
  const value = field === 'created_at' ? document.created_at.getTime() : document[field as 'rank' | 'price'];
  return { value, id: document._id };
}

function invalidSort(): ServiceError {
  return new ServiceError('invalid', 'A search is sorted by relevance, price or created_at.', {
    details: [{ field: 'sort', message: 'must be relevance, price or created_at' }],
  });
}

import type { DocumentCollection } from '@gatehouse/data/collection';
import { createCounts } from '@gatehouse/data/counts';
import { MAX_QUERY_MS } from '@gatehouse/data/database';
import { keysetPage, offsetPage } from '@gatehouse/data/keyset';
import type { Condition, ListSource } from '@gatehouse/domain/list-query';
import { wordsOf } from '@gatehouse/domain/search-words';
import type { Application, ApplicationField } from '../application.ts';

/** The indexes of the lists, by their names. */
const INDEXES = { owner: 'owner_1__id_1', words: 'words_1', all: '_id_' };

/** The lists of applications, in the order of their ids. Only a search sorts: what it finds, and no more. */
export function createApplicationLists<D>(
  collection: DocumentCollection,
  read: (document: D) => Application,
): ListSource<ApplicationField, Application> {
  const counts = createCounts();
  const rowsOf = <R extends { items: unknown[] }>(rows: R) => {
    return { ...rows, items: rows.items.map((document) => read(document as D)) };
  };
  const listOf = (conditions: readonly Condition<ApplicationField>[]) => {
    const { filter, index } = planOf(conditions);
    const sort = { field: '_id', type: 'string', unique: true, descending: false } as const;
    return { collection, projection: {}, sort, filter, index };
  };
  return {
    byOffset: async ({ conditions }, page) => rowsOf(await offsetPage(listOf(conditions), page)),
    byKeyset: async ({ conditions }, page) => rowsOf(await keysetPage(listOf(conditions), page)),
    count(conditions) {
      const { filter, index } = planOf(conditions);
      return counts.count(JSON.stringify(filter), () =>
        collection.countDocuments(filter, { hint: index, maxTimeMS: MAX_QUERY_MS }),
      );
    },
  };
}

function planOf(conditions: readonly Condition<ApplicationField>[]) {
  const valuesOf = (name: ApplicationField) =>
    conditions.filter(({ field }) => field === name).map(({ values }) => String(values[0]));
  const owners = valuesOf('owner').map((owner) => ({ owner }));
  const ids = conditions
    .filter(({ field }) => field === 'id')
    .map(({ values }) => ({ _id: { $in: values } }));
  const words = valuesOf('name').flatMap(searchFilters);
  const index =
    ids.length > 0
      ? INDEXES.all
      : owners.length > 0
        ? INDEXES.owner
        : words.length > 0
          ? INDEXES.words
          : INDEXES.all;
  return { filter: { $and: [{ deleted_at: null }, ...ids, ...owners, ...words] }, index };
}

/** Documents with all of these words, the last one as the beginning of a word. Without words, there are none. */
function searchFilters(text: string): object[] {
  const words = wordsOf(text);
  const last = words.pop();
  if (last === undefined) return [{ words: { $in: [] } }];
  return [
    ...words.map((word) => ({ words: word })),
    { words: { $elemMatch: { $gte: last, $lt: `${last}\uffff` } } },
  ];
}

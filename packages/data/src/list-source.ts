import type {
  Condition,
  KeysetPage,
  ListQuery,
  ListSource,
  OffsetPage,
  Rows,
} from '@gatehouse/domain/list-query';
import type { DocumentCollection, StoredDocument } from './collection.ts';
import type { Counts } from './counts.ts';
import { MAX_QUERY_MS } from './database.ts';
import { boundedScan, keysetPage, offsetPage, pageInMemory, type SortedList } from './keyset.ts';
import type { ListPlan, Search } from './list-plan.ts';
import { settleAll } from './settle-all.ts';

/** As many as a search may find, either way, to be sorted in memory. */
const MAX_SORTED = 2000;
/** How many documents are read to find a text in the middle of words. */
const MAX_SCANNED = 10_000;

/** The lists of a collection: of all documents or, with `within`, of those with one value of the plan's prefix. */
type ListSources<Field extends string, T> = ListSource<Field, T> & {
  within(value: string): ListSource<Field, T>;
};

/**
 * Lists of aggregates. The database never sorts: it reads an index in its order.
 *
 * @param options.projection the fields that `read` needs; the field that a list is sorted by is added
 */
export function createListSource<Field extends string, D extends { _id: string }, T>(options: {
  collection: DocumentCollection;
  plan: ListPlan<Field>;
  projection: Readonly<Record<string, 1>>;
  read: (document: D) => T;
  /** The stored fields of a property; without it, all are read. */
  storedAs?: ((property: string) => readonly string[]) | undefined;
  counts: Pick<Counts, 'count'>;
}): ListSources<Field, T> {
  const { collection, plan, read, storedAs, counts } = options;

  function projectionOf(properties: readonly string[] | undefined): Readonly<Record<string, 1>> {
    if (properties === undefined || storedAs === undefined) return options.projection;
    return Object.fromEntries(properties.flatMap(storedAs).map((field) => [field, 1]));
  }

  const readAll = (
    { filter = {}, index }: Pick<SortedList, 'filter' | 'index'>,
    projection: Readonly<Record<string, 1>>,
  ): Promise<StoredDocument[]> =>
    collection.find(filter, { hint: index, projection, maxTimeMS: MAX_QUERY_MS }).toArray();

  /**
   * All that a search finds, or undefined when words of many documents begin with its text: in the order of the list these are
   * close together, as few are not.
   */
  async function foundBy(search: Search, projection: Readonly<Record<string, 1>>) {
    const { beginning, index, others } = search;
    const limits = { limit: MAX_SORTED + 1, hint: index, maxTimeMS: MAX_QUERY_MS };
    if ((await collection.countDocuments(beginning, limits)) > MAX_SORTED) return undefined;
    const bounds = { most: MAX_SCANNED, limit: MAX_SORTED };
    const [known, scanned] = await settleAll([
      readAll(search, projection),
      others.inMemory
        ? readAll(others, projection).then((documents) => ({ documents, isIncomplete: false }))
        : boundedScan({ ...others, collection, projection }, bounds),
    ]);
    return { ...scanned, documents: [...known, ...scanned.documents] };
  }

  function within(value: string | undefined): ListSource<Field, T> {
    async function rows(query: ListQuery<Field>, page: OffsetPage | KeysetPage): Promise<Rows<T>> {
      const readPlan = plan.read(query, value);
      if (readPlan === undefined) return { items: [], hasNext: false, hasPrevious: false };
      const { inMemory, ...list } = readPlan;
      const projection = { ...projectionOf(query.properties), [list.sort.field]: 1 as const };
      const source = { ...list, collection, projection };
      const search = plan.search(query.conditions, value);
      const few = search && (await foundBy(search, projection));
      const all = few?.documents ?? (inMemory ? await readAll(list, projection) : undefined);
      const found =
        all !== undefined
          ? pageInMemory(list, all, page)
          : await ('offset' in page ? offsetPage(source, page) : keysetPage(source, page));
      const isIncomplete = search !== undefined && few?.isIncomplete !== false;
      const items = found.items.map((document) => read(document as unknown as D));
      return { ...found, items, ...(isIncomplete ? { isIncomplete } : {}) };
    }

    async function countNow(conditions: readonly Condition<Field>[], filter: object): Promise<number> {
      const search = plan.search(conditions, value);
      const few = search && (await foundBy(search, { _id: 1 }));
      // Without conditions and a hint the database would scan the documents.
      const hint = Object.keys(filter).length === 0 ? { hint: '_id_' } : {};
      return few?.documents.length ?? collection.countDocuments(filter, { maxTimeMS: MAX_QUERY_MS, ...hint });
    }

    return {
      byOffset: rows,
      byKeyset: rows,
      async count(conditions) {
        const filter = plan.count(conditions, value);
        if (filter === undefined) return 0;
        const isEverything = conditions.length === 0 && value === undefined;
        const key = isEverything ? '' : JSON.stringify([value, conditions]);
        return counts.count(key, () => countNow(conditions, filter));
      },
    };
  }

  return { ...within(undefined), within };
}

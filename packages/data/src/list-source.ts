import type { KeysetPage, ListQuery, ListSource, OffsetPage, Rows } from '@gatehouse/domain/list-query';
import type { DocumentCollection, StoredDocument } from './collection.ts';
import type { Counts } from './counts.ts';
import { MAX_QUERY_MS } from './database.ts';
import { keysetPage, offsetPage, pageInMemory } from './keyset.ts';
import type { ListPlan } from './list-plan.ts';

/** As many as a search may find to be sorted in memory. */
const MAX_SORTED = 2000;

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

  const countUpTo = ({ index, condition }: { index: string; condition: object }, limit: number) =>
    collection.countDocuments(condition, { limit, hint: index, maxTimeMS: MAX_QUERY_MS });

  function within(value: string | undefined): ListSource<Field, T> {
    async function rows(query: ListQuery<Field>, page: OffsetPage | KeysetPage): Promise<Rows<T>> {
      const readPlan = plan.read(query, value);
      if (readPlan === undefined) return { items: [], hasNext: false, hasPrevious: false };
      const { inMemory, search, ...list } = readPlan;
      const projection = { ...projectionOf(query.properties), [list.sort.field]: 1 };
      const source = { ...list, collection, projection };
      let found: Rows<StoredDocument>;
      const isFew = search !== undefined && (await countUpTo(search, MAX_SORTED + 1)) <= MAX_SORTED;
      if (inMemory || isFew) {
        const { filter = {}, index } = isFew ? search : list;
        const all = collection.find(filter).hint(index).project<StoredDocument>(projection);
        found = pageInMemory(list, await all.maxTimeMS(MAX_QUERY_MS).toArray(), page);
      } else {
        found = await ('offset' in page ? offsetPage(source, page) : keysetPage(source, page));
      }
      return { ...found, items: found.items.map((document) => read(document as unknown as D)) };
    }

    return {
      byOffset: rows,
      byKeyset: rows,
      async count(conditions) {
        const filter = plan.count(conditions, value);
        if (filter === undefined) return 0;
        const isEverything = conditions.length === 0 && value === undefined;
        const key = isEverything ? '' : JSON.stringify([value, conditions]);
        // Without conditions and a hint the database would scan the documents.
        const hint = Object.keys(filter).length === 0 ? { hint: '_id_' } : {};
        return counts.count(key, () =>
          collection.countDocuments(filter, { maxTimeMS: MAX_QUERY_MS, ...hint }),
        );
      },
    };
  }

  return { ...within(undefined), within };
}

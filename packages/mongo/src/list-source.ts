import type { KeysetPage, ListQuery, ListSource, OffsetPage, Rows } from '@gatehouse/kit/list-query';
import type { DocumentCollection, StoredDocument } from './collection.ts';
import type { Counts } from './counts.ts';
import { MAX_QUERY_MS } from './database.ts';
import { keysetPage, offsetPage, pageOfFew } from './keyset.ts';
import type { ListPlan } from './list-plan.ts';

/** The lists of a collection: of all documents and, with `within`, of those with one value of the plan's prefix. */
export type ListSources<Field extends string, T> = ListSource<Field, T> & {
  within(value: string): ListSource<Field, T>;
};

/**
 * Lists of documents as aggregates. The database sorts none of them: it reads an index in its order.
 *
 * @param options.projection what `read` needs; the fields that lists are sorted by come by themselves
 */
export function createListSource<Field extends string, D extends { _id: string }, T>(options: {
  collection: DocumentCollection;
  plan: ListPlan<Field>;
  projection: Readonly<Record<string, 1>>;
  read: (document: D) => T;
  counts: Pick<Counts, 'count'>;
}): ListSources<Field, T> {
  const { collection, plan, read, counts } = options;
  const projection = { ...options.projection, ...Object.fromEntries(plan.keys.map((key) => [key, 1])) };

  function within(value: string | undefined): ListSource<Field, T> {
    async function rows(query: ListQuery<Field>, page: OffsetPage | KeysetPage): Promise<Rows<T>> {
      const readPlan = plan.read(query, value);
      if (readPlan === undefined) return { items: [], hasNext: false, hasPrevious: false };
      const { few, ...list } = readPlan;
      const source = { ...list, collection, projection };
      let found: Rows<StoredDocument>;
      if (few) {
        const all = collection
          .find(list.filter ?? {})
          .hint(list.index)
          .project<StoredDocument>(projection);
        found = pageOfFew(list, await all.maxTimeMS(MAX_QUERY_MS).toArray(), page);
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
        // Without any condition the database would read the documents.
        const hint = Object.keys(filter).length === 0 ? { hint: '_id_' } : {};
        return counts.count(key, () =>
          collection.countDocuments(filter, { maxTimeMS: MAX_QUERY_MS, ...hint }),
        );
      },
    };
  }

  return { ...within(undefined), within };
}

import type { Condition, ListQuery, ListSource, Rows } from './list-query.ts';

/**
 * The list that a caller may read of another one.
 *
 * @param narrow returns the conditions that take the place of those in a query; called for each query
 * @param show what the caller may see of a row; by default, all of it
 */
export function narrowList<Field extends string, T>(
  source: ListSource<Field, T>,
  narrow: (conditions: readonly Condition<Field>[]) => Promise<readonly Condition<Field>[]>,
  show: (row: T) => T = (row) => row,
): ListSource<Field, T> {
  const narrowed = async (query: ListQuery<Field>) => ({
    ...query,
    conditions: await narrow(query.conditions),
  });
  const shown = (found: Rows<T>) => ({ ...found, items: found.items.map(show) });
  return {
    byOffset: async (query, page) => shown(await source.byOffset(await narrowed(query), page)),
    byKeyset: async (query, page) => shown(await source.byKeyset(await narrowed(query), page)),
    count: async (conditions) => source.count(await narrow(conditions)),
  };
}

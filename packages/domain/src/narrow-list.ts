import type { Condition, ListQuery, ListSource } from './list-query.ts';

/**
 * The list that a caller may read of another one.
 *
 * @param narrow returns the conditions that take the place of those in a query; called for each query
 */
export function narrowList<Field extends string, T>(
  source: ListSource<Field, T>,
  narrow: (conditions: readonly Condition<Field>[]) => Promise<readonly Condition<Field>[]>,
): ListSource<Field, T> {
  const narrowed = async (query: ListQuery<Field>) => ({
    ...query,
    conditions: await narrow(query.conditions),
  });
  return {
    byOffset: async (query, page) => source.byOffset(await narrowed(query), page),
    byKeyset: async (query, page) => source.byKeyset(await narrowed(query), page),
    count: async (conditions) => source.count(await narrow(conditions)),
  };
}

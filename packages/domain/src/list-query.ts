/** Queries of lists, in the types that HTTP, the aggregates and the stores share. */

export const FILTER_OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];
export type FilterValue = string | number | boolean | Date;

/** One condition of a list. `in` has one value or more, every other operator exactly one. */
export type Condition<Field extends string = string> = {
  field: Field;
  operator: FilterOperator;
  values: readonly FilterValue[];
};

/** The rows that meet all conditions, and their order; rows that are equal in it are ordered by their ids. */
export type ListQuery<Field extends string = string> = {
  conditions: readonly Condition<Field>[];
  sort: { field: Field; descending: boolean };
  /** The properties of a row that are needed; a store may leave the others at their defaults. By default all are. */
  properties?: readonly string[];
};

/**
 * The place of a row in a sorted list, even if the row no longer exists: its sort key as the store compares it (a date
 * in milliseconds; null when the list is sorted by id) and its id.
 */
export type Position = { value: string | number | boolean | null; id: string };

export type OffsetPage = { limit: number; offset: number };

/** A page next to a position; without one, the first page of the list. */
export type KeysetPage = {
  limit: number;
  from?: {
    position: Position;
    direction: 'next' | 'previous';
    /** Whether the page includes the row at the position. */
    inclusive: boolean;
  };
};

/** The rows of a page, in the order of the list. Without rows, `first` and `last` are absent. */
export type Rows<T> = {
  items: T[];
  first?: Position;
  last?: Position;
  hasNext: boolean;
  hasPrevious: boolean;
  /** A search has not looked at all rows of the list: others may meet its conditions. */
  isIncomplete?: boolean;
  /** How many rows of the whole list have each value of a field, where a store counts them. */
  facets?: Facets;
};

export type Facets = Readonly<Record<string, readonly { value: string; count: number }[]>>;

/** The queries that a list needs from a store. */
export type ListSource<Field extends string, T> = {
  byOffset(query: ListQuery<Field>, page: OffsetPage): Promise<Rows<T>>;
  byKeyset(query: ListQuery<Field>, page: KeysetPage): Promise<Rows<T>>;
  /** An exact count, which may be some seconds old. */
  count(conditions: readonly Condition<Field>[]): Promise<number>;
};

/** How lists are asked for, in the words that HTTP, the aggregates and the stores share. */

export const FILTER_OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in'] as const;
export type FilterOperator = (typeof FILTER_OPERATORS)[number];
export type FilterValue = string | number | boolean | Date;

/** One condition of a list. `in` has one value or more, every other operator exactly one. */
export type Condition<Field extends string = string> = {
  field: Field;
  operator: FilterOperator;
  values: readonly FilterValue[];
};

/** Which rows, all conditions together, and in which order; rows that are equal by it come in the order of their ids. */
export type ListQuery<Field extends string = string> = {
  conditions: readonly Condition<Field>[];
  sort: { field: Field; descending: boolean };
};

/**
 * Where a row stands in a sorted list, also when it is not there any more: its sort key as the store compares it
 * (a date in milliseconds; null when the list is sorted by id) and its id.
 */
export type Position = { value: string | number | boolean | null; id: string };

export type OffsetPage = { limit: number; offset: number };

/** A page beside a position; the first page of the list without one. */
export type KeysetPage = {
  limit: number;
  from?: {
    position: Position;
    direction: 'next' | 'previous';
    /** Whether the row at the position itself belongs to the page. */
    inclusive: boolean;
  };
};

/** The rows of a page in the order of the list. `first` and `last` are absent when there are none. */
export type Rows<T> = {
  items: T[];
  first?: Position;
  last?: Position;
  hasNext: boolean;
  hasPrevious: boolean;
};

/** What a list needs of whoever holds the rows. */
export type ListSource<Field extends string, T> = {
  byOffset(query: ListQuery<Field>, page: OffsetPage): Promise<Rows<T>>;
  byKeyset(query: ListQuery<Field>, page: KeysetPage): Promise<Rows<T>>;
  /** Counted exactly; may be some seconds old. */
  count(conditions: readonly Condition<Field>[]): Promise<number>;
};

import type { Condition, ListQuery } from '@gatehouse/domain/list-query';
import type { IndexDefinition } from './collection.ts';
import type { SortedList } from './keyset.ts';
import {
  containing,
  enumValues,
  type Filter,
  filtersOf,
  hasField,
  isEquality,
  isUnique,
  type ListField,
  matches,
  normalize,
  rangeOf,
} from './list-fields.ts';

/** The fields that the lists of a collection are filtered and sorted by. */
type ListTable<Field extends string> = {
  fields: Record<Field, ListField>;
  /**
   * A field such as `owner_id`: a list can be restricted to one value of it. There is a second set of indexes with this
   * prefix, so that such a list reads no documents of other values.
   */
  prefix?: string;
  /**
   * Matches every document that is not deleted, by an index. Only for a collection with tombstones, which have no field
   * but the id.
   */
  notDeleted?: Filter;
};

/**
 * How a list is read: by one index, in its order. With `inMemory`, all matching documents are read and then sorted: there
 * are at most as many as a condition has values.
 */
type ReadPlan = { inMemory: boolean } & Pick<SortedList, 'sort' | 'index' | 'prefix' | 'range' | 'filter'>;

/** How the documents are found that meet a condition on words. */
export type Search = {
  /** The condition on the beginnings of words alone, and the index that has these. */
  beginning: Filter;
  index: string;
  /** All conditions, with that one. */
  filter: Filter;
  /** The other documents, which only contain the text, the newest first. No index has them. */
  others: ReadPlan;
};

/**
 * `within` is the value of the table's prefix. `read` and `count` return undefined when no document can match the
 * conditions.
 */
export type ListPlan<Field extends string> = {
  /** The indexes of the lists, in addition to that on `_id`. */
  indexes: IndexDefinition[];
  read(query: ListQuery<Field>, within?: string): ReadPlan | undefined;
  count(conditions: readonly Condition<Field>[], within?: string): Filter | undefined;
  /** Undefined without a condition on words, and when no document can match. */
  search(conditions: readonly Condition<Field>[], within?: string): Search | undefined;
  /** The condition that the prefix has this value; an empty one without a value. */
  prefixOf(within: string | undefined): Filter;
};

/** An index that queries name. */
type NamedIndex = IndexDefinition & { options: { name: string } };

/** Plans the lists of a collection from a table of its fields, so that every list is read by an index. */
export function createListPlan<Field extends string>(table: ListTable<Field>): ListPlan<Field> {
  const { fields, prefix, notDeleted } = table;
  const hasTombstones = notDeleted !== undefined;
  const names = Object.keys(fields) as Field[];
  const { indexes, indexNameOf, isPrefix } = listIndexes(table);

  /** All conditions except those on one field. */
  function filterOf(first: readonly Filter[], byField: Map<Field, Condition[]>, except?: Field): Filter {
    const others = [...byField].filter(([name]) => name !== except);
    return allOf([...first, ...others.flatMap(([name, own]) => fieldFilters(name, own))]);
  }

  function fieldFilters(name: Field, conditions: readonly Condition[] = []): Filter[] {
    return conditions.flatMap((condition) => filtersOf(fields[name], condition, hasTombstones));
  }

  /** Conditions on any field but the id exclude tombstones, which have no other field. */
  function notDeletedUnlessImplied(byField: Map<Field, Condition[]>, within: string | undefined): Filter[] {
    const isImplied =
      within !== undefined || [...byField.keys()].some((name) => fields[name].stored !== '_id');
    return isImplied || notDeleted === undefined ? [] : [notDeleted];
  }

  const prefixOf = (within: string | undefined) => prefixFilter(prefix, within);

  function read(
    { conditions, sort: { field: name, descending } }: ListQuery<Field>,
    within?: string,
  ): ReadPlan | undefined {
    const byField = conditionsByField(table, conditions, within);
    if (byField === undefined) return undefined;
    const field = fields[name];
    if (field.type === 'words') throw new TypeError(`lists are not sorted by ${name}`);
    const type = field.type === 'folded' || field.type === 'enum' ? 'string' : field.type;
    const sort = { field: field.stored, type, unique: isUnique(field), descending };
    const isWithin = within !== undefined;
    const list = {
      inMemory: false,
      sort,
      index: indexNameOf(field, isWithin),
      prefix: prefixOf(within),
    };

    const uniqueName = names.find((key) => isUnique(fields[key]) && byField.get(key)?.some(isEquality));
    if (uniqueName !== undefined) {
      const filter = filterOf([list.prefix, notDeleted ?? {}], byField);
      return { inMemory: true, sort, index: indexNameOf(fields[uniqueName], false), filter };
    }
    if (isWithin && isPrefix(name)) {
      // All documents have the same value, so they are in the order of their ids.
      const limit = { value: within, inclusive: true };
      const range = { lower: limit, upper: limit };
      return {
        ...list,
        index: indexNameOf(field, false),
        prefix: {},
        range,
        filter: filterOf([], byField),
      };
    }
    if (!sort.unique) {
      const { range, isComplete } = rangeOf(field, byField.get(name) ?? [], hasTombstones);
      return { ...list, range, filter: filterOf([], byField, isComplete ? name : undefined) };
    }
    if (sort.field !== '_id') {
      return { ...list, filter: filterOf(hasTombstones ? [hasField(field)] : [], byField) };
    }
    const first = mostSelective(fields, byField);
    if (first === undefined)
      return { ...list, filter: filterOf(notDeletedUnlessImplied(byField, within), byField) };
    return {
      ...list,
      index: indexNameOf(fields[first], isWithin),
      prefix: { ...list.prefix, ...allOf(fieldFilters(first, byField.get(first))) },
      filter: filterOf([], byField, first),
    };
  }

  function search(conditions: readonly Condition<Field>[], within?: string): Search | undefined {
    const byField = conditionsByField(table, conditions, within);
    const name = names.find((it) => fields[it].type === 'words' && byField?.has(it));
    if (byField === undefined || name === undefined) return undefined;
    const field = fields[name] as ListField & { type: 'words' };
    const own = byField.get(name) ?? [];
    const beginning = allOf(fieldFilters(name, own));
    const either = own.map((it) => ({ $or: [allOf(fieldFilters(name, [it])), containing(field, it)] }));
    const newestFirst = { field: names.find((it) => fields[it].stored === '_id') as Field, descending: true };
    const rest = conditions.filter((it) => it.field !== name);
    const others = read({ conditions: rest, sort: newestFirst }, within) as ReadPlan;
    return {
      beginning,
      index: indexNameOf(field, within !== undefined),
      filter: filterOf([prefixOf(within)], byField),
      others: { ...others, filter: allOf([others.filter ?? {}, ...either, { $nor: [beginning] }]) },
    };
  }

  return {
    prefixOf,
    search,
    read,

    indexes,
    count(conditions, within) {
      const byField = conditionsByField(table, conditions, within);
      // A single condition can then be counted from its index, without reading documents.
      return byField && filterOf([prefixOf(within), ...notDeletedUnlessImplied(byField, within)], byField);
    },
  };
}

/** The indexes of the lists, and the name of the one in whose order a field is. */
function listIndexes<Field extends string>({ fields, prefix, notDeleted }: ListTable<Field>) {
  const names = Object.keys(fields) as Field[];
  /** Whether a field is the prefix. */
  const isPrefix = (name: Field) => fields[name].stored === prefix;

  function indexOf(field: ListField, isWithin: boolean): NamedIndex {
    // The id is the tie-breaker, so that a page can begin among documents with equal values.
    const key = [field.stored, ...(isUnique(field) ? [] : ['_id'])];
    const path = isWithin && prefix !== undefined ? [prefix, ...key] : key;
    const standardName = path.map((name) => `${name}_1`).join('_');
    const options = {
      ...(isUnique(field) ? { unique: true } : {}),
      // Tombstones have no key, and a unique index allows one missing key only.
      ...(isUnique(field) && notDeleted !== undefined ? { partialFilterExpression: hasField(field) } : {}),
    };
    return {
      fields: Object.fromEntries(path.map((name) => [name, 1])),
      options: isWithin ? { name: standardName } : { name: field.index ?? standardName, ...options },
    };
  }

  function indexNameOf(field: ListField, isWithin: boolean): string {
    return field.stored === '_id' && !isWithin ? '_id_' : indexOf(field, isWithin).options.name;
  }

  const indexes = [
    ...names.filter((name) => fields[name].stored !== '_id').map((name) => indexOf(fields[name], false)),
    ...(prefix === undefined ? [] : names)
      // Within the prefix, the ids are sorted by the index of the field that is the prefix, if there is one.
      .filter((name) => !isPrefix(name) && !(fields[name].stored === '_id' && names.some(isPrefix)))
      .map((name) => indexOf(fields[name], true)),
  ];
  return { indexes, indexNameOf, isPrefix };
}

/** The normalized conditions by field; undefined when no document can match them. */
function conditionsByField<Field extends string>(
  { fields, prefix }: ListTable<Field>,
  conditions: readonly Condition<Field>[],
  within: string | undefined,
): Map<Field, Condition[]> | undefined {
  const byField = new Map<Field, Condition[]>();
  for (const name of new Set(conditions.map(({ field }) => field))) {
    const given = conditions.filter(({ field }) => field === name);
    if (within !== undefined && fields[name].stored === prefix) {
      // All documents of the list have the same value of this field. So a condition on it holds for all or for none, and must not replace
      // that value.
      if (given.every((condition) => matches(within, condition))) continue;
      return undefined;
    }
    const own = normalize(fields[name], given);
    if (own === undefined) return undefined;
    if (own.length > 0) byField.set(name, own);
  }
  return byField;
}

/** The most selective field: a string equality, else an enum, preferably of uncommon values. */
function mostSelective<Field extends string>(
  fields: Record<Field, ListField>,
  byField: Map<Field, Condition[]>,
): Field | undefined {
  const strings = [...byField].filter(([name]) => ['string', 'folded'].includes(fields[name].type));
  const enums = (Object.keys(fields) as Field[]).filter(
    (name) => byField.has(name) && enumValues(fields[name]) !== undefined,
  );
  const isSelective = (name: Field) => {
    const { mostCommon } = { mostCommon: undefined, ...fields[name] };
    return mostCommon === undefined || !byField.get(name)?.some(({ values }) => values.includes(mostCommon));
  };
  const [equal] = strings.find(([, own]) => own.some(isEquality)) ?? [];
  return equal ?? enums.find(isSelective) ?? enums[0];
}

function prefixFilter(prefix: string | undefined, within: string | undefined): Filter {
  if (within === undefined) return {};
  if (prefix === undefined) throw new TypeError('these lists have no prefix');
  return { [prefix]: within };
}

function allOf(filters: readonly Filter[]): Filter {
  const all = filters.filter((filter) => Object.keys(filter).length > 0);
  return all.length > 1 ? { $and: all } : (all[0] ?? {});
}

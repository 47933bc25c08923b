import type { Condition, ListQuery } from '@gatehouse/kit/list-query';
import type { IndexDefinition } from './collection.ts';
import type { SortedList } from './keyset.ts';
import {
  choicesOf,
  type Filter,
  filtersOf,
  isPresent,
  isUnique,
  type ListField,
  rangeOf,
  sortTypeOf,
} from './list-fields.ts';

/** What the lists of a collection are filtered and sorted by, and how its documents are told apart. */
export type ListTable<Field extends string> = {
  fields: Record<Field, ListField>;
  /**
   * A field of one value of which a list may be, such as `owner_id`: every index is there a second time, beginning with
   * it, so that such a list reads nothing of the others.
   */
  prefix?: string;
  /**
   * Meets every document that is not deleted, by an index of its own. Only for a collection that keeps tombstones, in
   * which none of the fields but the id is left.
   */
  notDeleted?: Filter;
};

/**
 * How one list is read: by one index and in its order. Of `few` documents all are read by the filter: there are no
 * more than a condition has values.
 */
export type ReadPlan = { few: boolean } & Pick<SortedList, 'sort' | 'index' | 'prefix' | 'range' | 'filter'>;

/** Each answers undefined when no document can meet the conditions. `within` is the value of the table's prefix. */
export type ListPlan<Field extends string> = {
  /** The indexes that the lists are read by, beside that of the ids. */
  indexes: IndexDefinition[];
  /** The stored names of the fields. */
  keys: string[];
  read(query: ListQuery<Field>, within?: string): ReadPlan | undefined;
  count(conditions: readonly Condition<Field>[], within?: string): Filter | undefined;
};

/** What the conditions ask of a document, by the field that they are about. */
type Demands<Field extends string> = ReadonlyMap<Field, readonly Filter[]>;

/** Plans the lists of a collection by a table of its fields, so that no list is read without an index. */
export function createListPlan<Field extends string>(table: ListTable<Field>): ListPlan<Field> {
  const { fields, prefix, notDeleted } = table;
  const hasTombstones = notDeleted !== undefined;
  const names = Object.keys(fields) as Field[];

  function indexOf(field: ListField, isWithin: boolean): IndexDefinition {
    const { stored, index } = field;
    if (stored === '_id' && !isWithin) return { fields: { _id: 1 }, options: { name: '_id_' } };
    // With the id, so that documents that are equal by the field have an order, too, and a page can begin among them.
    const isUniqueHere = isUnique(field) && !isWithin;
    const path = [...(isWithin && prefix ? [prefix] : []), stored, ...(isUnique(field) ? [] : ['_id'])];
    return {
      fields: Object.fromEntries(path.map((name) => [name, 1])),
      options: {
        name: isWithin || index === undefined ? path.map((name) => `${name}_1`).join('_') : index,
        ...(isUniqueHere ? { unique: true } : {}),
        // Tombstones have no keys, of which there may be but one.
        ...(isUniqueHere && hasTombstones ? { partialFilterExpression: isPresent(field) } : {}),
      },
    };
  }

  function demandsOf(conditions: readonly Condition<Field>[]): Demands<Field> | undefined {
    const demands = new Map<Field, readonly Filter[]>();
    for (const name of new Set(conditions.map(({ field }) => field))) {
      const filters = filtersOf(fields[name], about(conditions, name), hasTombstones);
      if (filters === undefined) return undefined;
      if (filters.length > 0) demands.set(name, filters);
    }
    return demands;
  }

  /** The field by which few documents are left: one that few share the value of, or one of an unusual choice. */
  function narrowest(
    demands: Demands<Field>,
    conditions: readonly Condition<Field>[],
  ): (ListField & { name: Field }) | undefined {
    const asked = names.filter((name) => demands.has(name));
    const isEqual = (name: Field) =>
      (fields[name].type === 'string' || fields[name].type === 'folded') &&
      conditions.some((it) => it.field === name && isEquality(it));
    const choices = asked.filter((name) => choicesOf(fields[name], []) !== undefined);
    const isUnusual = (name: Field) => {
      const field = fields[name];
      return !('usual' in field) || !choicesOf(field, about(conditions, name))?.includes(field.usual ?? '');
    };
    const name = asked.find(isEqual) ?? choices.find(isUnusual) ?? choices[0];
    return name && { ...fields[name], name };
  }

  /** Tombstones have nothing but an id: a demand on anything else leaves them out. */
  function notDeletedUnlessSaid(demands: Demands<Field>, within: string | undefined): Filter[] {
    const isSaid = within !== undefined || [...demands.keys()].some((name) => fields[name].stored !== '_id');
    return isSaid || notDeleted === undefined ? [] : [notDeleted];
  }

  function prefixOf(within: string | undefined): Filter {
    if (within === undefined) return {};
    if (prefix === undefined) throw new TypeError('these lists have no prefix');
    return { [prefix]: within };
  }

  return {
    indexes: [false, ...(prefix === undefined ? [] : [true])]
      .flatMap((isWithin) => names.map((name) => indexOf(fields[name], isWithin)))
      .filter(({ options }) => options.name !== '_id_'),

    keys: names.map((name) => fields[name].stored),

    read({ conditions, sort: { field: name, descending } }, within) {
      const demands = demandsOf(conditions);
      if (demands === undefined) return undefined;
      const field = fields[name];
      const isWithin = within !== undefined;
      const sort = { field: field.stored, type: sortTypeOf(field), unique: isUnique(field), descending };
      const identified = names.find((it) => isUnique(fields[it]) && about(conditions, it).some(isEquality));
      if (identified !== undefined) {
        const filter = allOf([prefixOf(within), notDeleted ?? {}], demands);
        return { few: true, sort, index: indexOf(fields[identified], false).options.name, filter };
      }
      const list = {
        few: false,
        sort,
        index: indexOf(field, isWithin).options.name,
        prefix: prefixOf(within),
      };
      if (!sort.unique) {
        const { range, isComplete } = rangeOf(field, about(conditions, name), hasTombstones);
        return { ...list, range, filter: allOf([], isComplete ? without(demands, name) : demands) };
      }
      if (sort.field !== '_id') {
        return { ...list, filter: allOf(hasTombstones ? [isPresent(field)] : [], demands) };
      }
      const first = narrowest(demands, conditions);
      if (first === undefined) {
        return { ...list, filter: allOf(notDeletedUnlessSaid(demands, within), demands) };
      }
      const chosen = allOf([], new Map([[first.name, demands.get(first.name) ?? []]]));
      return {
        ...list,
        index: indexOf(first, isWithin).options.name,
        prefix: { ...list.prefix, ...chosen },
        filter: allOf([], without(demands, first.name)),
      };
    },

    count(conditions, within) {
      const demands = demandsOf(conditions);
      // One condition alone is then counted on its index, and no document is read.
      return demands && allOf([prefixOf(within), ...notDeletedUnlessSaid(demands, within)], demands);
    },
  };
}

function about<Field extends string>(conditions: readonly Condition<Field>[], name: Field) {
  return conditions.filter(({ field }) => field === name);
}

function isEquality({ operator }: Condition): boolean {
  return operator === 'eq' || operator === 'in';
}

function without<Field extends string>(demands: Demands<Field>, name: Field): Demands<Field> {
  return new Map([...demands].filter(([field]) => field !== name));
}

function allOf(first: readonly Filter[], demands: Demands<string>): Filter {
  const filters = [...first.filter((it) => Object.keys(it).length > 0), ...[...demands.values()].flat()];
  return filters.length > 1 ? { $and: filters } : (filters[0] ?? {});
}

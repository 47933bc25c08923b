import type { Condition, ListQuery } from '@gatehouse/kit/list-query';
import type { IndexDefinition } from './collection.ts';
import type { SortedList } from './keyset.ts';
import {
  choicesOf,
  type Filter,
  filtersOf,
  isEquality,
  isPresent,
  isUnique,
  type ListField,
  normalized,
  rangeOf,
} from './list-fields.ts';

/** What the lists of a collection are filtered and sorted by. */
export type ListTable<Field extends string> = {
  fields: Record<Field, ListField>;
  /**
   * A field that a list can be confined to one value of, such as `owner_id`. Every index is there a second time,
   * beginning with it, so that such a list reads nothing of the others.
   */
  prefix?: string;
  /**
   * Meets every document that is not deleted, by an index of its own. Only for a collection that keeps tombstones, which
   * have none of the fields but the id.
   */
  notDeleted?: Filter;
};

/**
 * How one list is read: by one index and in its order. Of `few` documents all are read by the filter: there are no
 * more than a condition has values.
 */
export type ReadPlan = { few: boolean } & Pick<SortedList, 'sort' | 'index' | 'prefix' | 'range' | 'filter'>;

/**
 * `within` is the one value of the table's prefix. `read` and `count` answer undefined when no document can meet the
 * conditions.
 */
export type ListPlan<Field extends string> = {
  /** The indexes that the lists are read by, beside that of the ids. */
  indexes: IndexDefinition[];
  /** The stored names of the fields. */
  keys: string[];
  read(query: ListQuery<Field>, within?: string): ReadPlan | undefined;
  count(conditions: readonly Condition<Field>[], within?: string): Filter | undefined;
};

/** Plans the lists of a collection by a table of its fields, so that no list is read without an index. */
export function createListPlan<Field extends string>(table: ListTable<Field>): ListPlan<Field> {
  const { fields, prefix, notDeleted } = table;
  const hasTombstones = notDeleted !== undefined;
  const names = Object.keys(fields) as Field[];

  function indexOf(field: ListField, isWithin: boolean): IndexDefinition {
    // With the id, so that documents that are equal by the field have an order, too, and a page can begin among them.
    const key = [field.stored, ...(isUnique(field) ? [] : ['_id'])];
    const path = isWithin && prefix !== undefined ? [prefix, ...key] : key;
    const standardName = path.map((name) => `${name}_1`).join('_');
    const options = {
      ...(isUnique(field) ? { unique: true } : {}),
      // Tombstones have no keys, of which there may be but one.
      ...(isUnique(field) && hasTombstones ? { partialFilterExpression: isPresent(field) } : {}),
    };
    return {
      fields: Object.fromEntries(path.map((name) => [name, 1])),
      options: isWithin ? { name: standardName } : { name: field.index ?? standardName, ...options },
    };
  }

  function indexNameOf(field: ListField, isWithin: boolean): string {
    return field.stored === '_id' && !isWithin ? '_id_' : indexOf(field, isWithin).options.name;
  }

  /** The normalized conditions on each field; undefined when no document can meet them. */
  function askedOf(conditions: readonly Condition<Field>[]): Map<Field, Condition[]> | undefined {
    const asked = new Map<Field, Condition[]>();
    for (const name of new Set(conditions.map(({ field }) => field))) {
      const own = normalized(
        fields[name],
        conditions.filter(({ field }) => field === name),
      );
      if (own === undefined) return undefined;
      if (own.length > 0) asked.set(name, own);
    }
    return asked;
  }

  /** All that is asked, but on the field `apart`. */
  function filterOf(first: readonly Filter[], asked: Map<Field, Condition[]>, apart?: Field): Filter {
    const others = [...asked].filter(([name]) => name !== apart);
    return allOf([...first, ...others.flatMap(([name, own]) => demandsOn(name, own))]);
  }

  function demandsOn(name: Field, conditions: readonly Condition[] = []): Filter[] {
    return conditions.flatMap((condition) => filtersOf(fields[name], condition, hasTombstones));
  }

  /** The field by which few documents are left: an equal text, or else a choice, rather an unusual one. */
  function narrowest(asked: Map<Field, Condition[]>): Field | undefined {
    const texts = [...asked].filter(([name]) => ['string', 'folded'].includes(fields[name].type));
    const choices = names.filter((name) => asked.has(name) && choicesOf(fields[name]) !== undefined);
    const isUnusual = (name: Field) => {
      const { usual } = { usual: undefined, ...fields[name] };
      return usual === undefined || !asked.get(name)?.some(({ values }) => values.includes(usual));
    };
    const [equal] = texts.find(([, own]) => own.some(isEquality)) ?? [];
    return equal ?? choices.find(isUnusual) ?? choices[0];
  }

  /** Tombstones have nothing but an id: whatever is asked of anything else leaves them out. */
  function notDeletedUnlessSaid(asked: Map<Field, Condition[]>, within: string | undefined): Filter[] {
    const isSaid = within !== undefined || [...asked.keys()].some((name) => fields[name].stored !== '_id');
    return isSaid || notDeleted === undefined ? [] : [notDeleted];
  }

  function prefixOf(within: string | undefined): Filter {
    if (within === undefined) return {};
    if (prefix === undefined) throw new TypeError('these lists have no prefix');
    return { [prefix]: within };
  }

  return {
    indexes: (prefix === undefined ? [false] : [false, true]).flatMap((isWithin) =>
      names
        .filter((name) => isWithin || fields[name].stored !== '_id')
        .map((name) => indexOf(fields[name], isWithin)),
    ),

    keys: names.map((name) => fields[name].stored),

    read({ conditions, sort: { field: name, descending } }, within) {
      const asked = askedOf(conditions);
      if (asked === undefined) return undefined;
      const field = fields[name];
      const type = field.type === 'folded' || field.type === 'choice' ? 'string' : field.type;
      const sort = { field: field.stored, type, unique: isUnique(field), descending };
      const isWithin = within !== undefined;
      const list = { few: false, sort, index: indexNameOf(field, isWithin), prefix: prefixOf(within) };

      const identified = names.find((it) => isUnique(fields[it]) && asked.get(it)?.some(isEquality));
      if (identified !== undefined) {
        const filter = filterOf([list.prefix, notDeleted ?? {}], asked);
        return { few: true, sort, index: indexNameOf(fields[identified], false), filter };
      }
      if (!sort.unique) {
        const { range, isComplete } = rangeOf(field, asked.get(name) ?? [], hasTombstones);
        return { ...list, range, filter: filterOf([], asked, isComplete ? name : undefined) };
      }
      if (sort.field !== '_id') {
        return { ...list, filter: filterOf(hasTombstones ? [isPresent(field)] : [], asked) };
      }
      const first = narrowest(asked);
      if (first === undefined)
        return { ...list, filter: filterOf(notDeletedUnlessSaid(asked, within), asked) };
      return {
        ...list,
        index: indexNameOf(fields[first], isWithin),
        prefix: { ...list.prefix, ...allOf(demandsOn(first, asked.get(first))) },
        filter: filterOf([], asked, first),
      };
    },

    count(conditions, within) {
      const asked = askedOf(conditions);
      // One condition alone is then counted on its index, and no document is read.
      return asked && filterOf([prefixOf(within), ...notDeletedUnlessSaid(asked, within)], asked);
    },
  };
}

function allOf(filters: readonly Filter[]): Filter {
  const all = filters.filter((filter) => Object.keys(filter).length > 0);
  return all.length > 1 ? { $and: all } : (all[0] ?? {});
}

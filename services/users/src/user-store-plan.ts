import { foldedKey } from '@gatehouse/kit/folded-key';
import type { Condition, ListQuery } from '@gatehouse/kit/list-query';
import type { Limit, SortedList } from '@gatehouse/mongo/keyset';
import { USER_ROLES, USER_STATUSES, type UserField } from './user.ts';
import { INDEX, LIVING, NO_ADDRESS } from './user-store-document.ts';

type Filter = Record<string, unknown>;
type Conditions = readonly Condition<UserField>[];
/** What the conditions ask of a document, by the field that they are about. */
type Demands = ReadonlyMap<UserField, readonly Filter[]>;

/** How a list is read. Of `few` users all are read by the filter: there are no more than a condition has values. */
export type Plan = { few: boolean } & Pick<SortedList, 'sort' | 'index' | 'prefix' | 'range' | 'filter'>;

const STORED: Record<UserField, string> = {
  id: '_id',
  username: 'username_key',
  email: 'email_key',
  role: 'role',
  status: 'status',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
};
const UNIQUE = ['id', 'username', 'email'] as const;
/** Fields of few values: these, in their order. */
const CHOICES = { role: USER_ROLES.toSorted(), status: USER_STATUSES.toSorted() };
/** What most users are. */
const USUAL = { role: 'user', status: 'active' };

/** As LIVING, for the index on email_key. */
const LIVING_BY_EMAIL = { email_key: { $gt: '' } };
const WITH_ADDRESS = { email_key: { $gte: `${NO_ADDRESS}\uffff` } };
/** The first date that there is. Whoever is deleted has none. */
const FIRST_DATE = new Date(-8_640_000_000_000_000);

/** How a list is read by one index and in its order; undefined when no user can meet the conditions. */
export function planOf({ conditions, sort: by }: ListQuery<UserField>): Plan | undefined {
  const demands = demandsOf(conditions);
  if (demands === undefined) return undefined;
  const { field, descending } = by;
  const sort = {
    field: STORED[field],
    type: isDate(field) ? ('date' as const) : ('string' as const),
    unique: isUnique(field),
    descending,
  };
  const identified = UNIQUE.find((name) =>
    conditions.some((it) => it.field === name && (it.operator === 'eq' || it.operator === 'in')),
  );
  if (identified !== undefined) {
    return { few: true, sort, index: INDEX[identified], filter: allOf(demands, LIVING) };
  }
  if (field === 'username') return { few: false, sort, index: INDEX[field], filter: allOf(demands, LIVING) };
  if (field === 'email') {
    return { few: false, sort, index: INDEX[field], filter: allOf(demands, LIVING_BY_EMAIL) };
  }
  if (field === 'id') {
    const first = rarest(demands, conditions);
    if (first === undefined) {
      return { few: false, sort, index: INDEX.id, filter: allOf(demands, ...livingUnlessSaid(demands)) };
    }
    const prefix = allOf(new Map([[first, demands.get(first) ?? []]]));
    return { few: false, sort, index: INDEX[first], prefix, filter: allOf(without(demands, first)) };
  }
  const { range, isAll } = rangeOf(field, conditions);
  const filter = allOf(isAll ? without(demands, field) : demands);
  return { few: false, sort, index: INDEX[field], range, filter };
}

/** What is to be counted; undefined when no user can meet the conditions. */
export function countFilterOf(conditions: Conditions): Filter | undefined {
  const demands = demandsOf(conditions);
  // One condition alone is then counted on its index, and no document is read.
  return demands && allOf(demands, ...livingUnlessSaid(demands));
}

/** Undefined when no user can meet the conditions. */
function demandsOf(conditions: Conditions): Demands | undefined {
  const demands = new Map<UserField, readonly Filter[]>();
  for (const field of new Set(conditions.map((it) => it.field))) {
    const own = conditions.filter((it) => it.field === field);
    if (field === 'role' || field === 'status') {
      const chosen = chosenOf(field, own);
      if (chosen.length === 0) return undefined;
      if (chosen.length < CHOICES[field].length) demands.set(field, [{ [field]: { $in: chosen } }]);
    } else {
      demands.set(field, own.flatMap(demandsOfOne));
    }
  }
  return demands;
}

/** Of a condition on a field that has many values. */
function demandsOfOne({ field, operator, values }: Condition<UserField>): Filter[] {
  const stored = STORED[field];
  const wanted =
    field === 'username' || field === 'email' ? values.map((it) => foldedKey(String(it))) : values;
  const demand = { [stored]: { [`$${operator}`]: operator === 'in' ? wanted : wanted[0] } };
  if (field === 'username') return [LIVING, demand];
  if (field === 'email') {
    const isBelow = operator === 'lt' || operator === 'lte';
    return [isBelow ? WITH_ADDRESS : LIVING_BY_EMAIL, demand];
  }
  // Whoever is deleted is other than any date, too.
  return isDate(field) && operator === 'ne' ? [{ [stored]: { $gte: FIRST_DATE } }, demand] : [demand];
}

/** The values of a choice that meet the conditions on it, in their order. */
function chosenOf(field: 'role' | 'status', conditions: Conditions): string[] {
  const own = conditions.filter((it) => it.field === field);
  return CHOICES[field].filter((value) => own.every((condition) => meets(value, condition)));
}

function meets(value: string, { operator, values }: Condition): boolean {
  const [wanted = ''] = values.map(String);
  switch (operator) {
    case 'eq':
      return value === wanted;
    case 'ne':
      return value !== wanted;
    case 'gt':
      return value > wanted;
    case 'gte':
      return value >= wanted;
    case 'lt':
      return value < wanted;
    case 'lte':
      return value <= wanted;
    case 'in':
      return values.includes(value);
  }
}

/** Where a list that is sorted by the field begins and ends, and whether that is all that the conditions on it say. */
function rangeOf(
  field: 'role' | 'status' | 'createdAt' | 'updatedAt',
  conditions: Conditions,
): { range: { lower?: Limit; upper?: Limit }; isAll: boolean } {
  if (field === 'role' || field === 'status') {
    const chosen = chosenOf(field, conditions);
    const [first = '', last = ''] = [chosen[0], chosen.at(-1)];
    const between = CHOICES[field].filter((value) => value >= first && value <= last);
    return {
      range: { lower: { value: first, inclusive: true }, upper: { value: last, inclusive: true } },
      isAll: between.length === chosen.length,
    };
  }
  let lower: Limit = { value: FIRST_DATE, inclusive: true };
  let upper: Limit | undefined;
  let isAll = true;
  for (const { operator, values } of conditions.filter((it) => it.field === field)) {
    const dates = values.map((value) => value as Date).sort((a, b) => a.getTime() - b.getTime());
    const [value, last] = [dates[0], dates.at(-1)];
    if (operator === 'ne' || (operator === 'in' && dates.length > 1)) isAll = false;
    const isEqual = operator === 'eq' || operator === 'in';
    if (operator === 'gt' || operator === 'gte' || isEqual) {
      lower = narrower(lower, { value, inclusive: operator !== 'gt' }, 1);
    }
    if (operator === 'lt' || operator === 'lte' || isEqual) {
      upper = narrower(upper, { value: last, inclusive: operator !== 'lt' }, -1);
    }
  }
  return { range: { lower, ...(upper === undefined ? {} : { upper }) }, isAll };
}

/** The narrower of two limits of dates; `sign` is 1 for lower ones, of which the later is, and -1 for upper ones. */
function narrower(a: Limit | undefined, b: Limit, sign: 1 | -1): Limit {
  if (a === undefined) return b;
  const order = sign * (Number(a.value) - Number(b.value));
  return order > 0 || (order === 0 && !a.inclusive) ? a : b;
}

/** The choice by whose index a list in the order of ids is read: rather one that most users do not meet. */
function rarest(demands: Demands, conditions: Conditions): 'role' | 'status' | undefined {
  const choices = (['role', 'status'] as const).filter((field) => demands.has(field));
  return choices.find((field) => !chosenOf(field, conditions).includes(USUAL[field])) ?? choices[0];
}

/** Whoever is deleted has nothing but an id: a demand on anything else leaves them out. */
function livingUnlessSaid(demands: Demands): Filter[] {
  return [...demands.keys()].some((field) => field !== 'id') ? [] : [LIVING];
}

function without(demands: Demands, field: UserField): Demands {
  return new Map([...demands].filter(([name]) => name !== field));
}

function allOf(demands: Demands, ...more: Filter[]): Filter {
  const filters = [...more, ...[...demands.values()].flat()];
  if (filters.length > 1) return { $and: filters };
  return filters[0] ?? {};
}

function isUnique(field: UserField): boolean {
  return UNIQUE.some((name) => name === field);
}

function isDate(field: UserField): boolean {
  return field === 'createdAt' || field === 'updatedAt';
}

import type { FieldProblem } from '@gatehouse/core/errors';
import { date, type EntityOf, id, type ListFieldOf, number, text } from '@gatehouse/domain/fields';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';

export const ITEM = {
  id: id(),
  /** The person who created it; null if a machine did. */
  ownerId: text().default(null),
  name: text().list(),
  /** The JSON text of the value, as it was sent: BSON would lose digits of numbers, and does not allow every key. */
  value: text(),
  version: number().default(0),
  createdAt: date().list(),
  updatedAt: date(),
};
export type Item = EntityOf<typeof ITEM>;

/** The fields that lists of items are sorted and filtered by. */
export type ItemField = ListFieldOf<typeof ITEM>;

export type NewItem = Pick<Item, 'name' | 'value'>;
export type ItemChanges = Partial<NewItem>;

/** The store as the use cases need it. Its lists are of all items or, with `within`, of one owner's. */
export type ItemStore = ListSource<ItemField, Item> & {
  within(owner: string): ListSource<ItemField, Item>;
  /** Throws `conflict` when there is an item with this id. */
  insert(item: Item): Promise<unknown>;
  /** With an owner, undefined for an item of another. */
  findById(id: string, owner?: string): Promise<Item | undefined>;
  /** Throws `not_found`, and `precondition_failed` unless the item is at one of these versions. */
  update(id: string, changes: ItemChanges, ifVersion: IfVersion): Promise<Item>;
  /** As update. */
  remove(id: string, ifVersion: IfVersion): Promise<void>;
  /** Removes all items of an owner. */
  removeAllOf(owner: string): Promise<void>;
};

/** The caller: a person, limited by role and ownership, or a machine (undefined), which is not. */
export type Actor = { person: { id: string; role: string } | undefined };

/** In characters (code points). */
export const NAME_MAX = 200;
/** The limits of a name in itemProblems() as JSON Schema keywords. No text of a body contains NUL. */
export const NAME_LIMITS = {
  minLength: 1,
  maxLength: NAME_MAX,
  pattern: String.raw`^[^\u0000]*[^\s\u0000][^\u0000]*$`,
};
/** In bytes of UTF-8. */
export const VALUE_MAX = 64 * 1024;

/** The problems of the fields that are present. */
export function itemProblems({ name, value }: ItemChanges): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (name !== undefined && (name.trim() === '' || [...name].length > NAME_MAX)) {
    problems.push({ field: 'name', message: `must have 1 to ${NAME_MAX} characters, not only spaces` });
  }
  if (value !== undefined && Buffer.byteLength(value) > VALUE_MAX) {
    problems.push({ field: 'value', message: `must have at most ${VALUE_MAX} bytes as JSON` });
  }
  return problems;
}

/** The owner to whose items an actor's access is restricted; undefined if it is not restricted. */
export function requiredOwner({ person }: Actor): string | undefined {
  return person?.role === 'user' ? person.id : undefined;
}

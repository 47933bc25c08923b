import type { FieldProblem } from '@gatehouse/kit/errors';
import type { ListSource } from '@gatehouse/kit/list-query';

export type Item = {
  id: string;
  /** The person who created it; null for an item of a machine. */
  ownerId: string | null;
  name: string;
  /** The text of a JSON value, as it was sent. */
  value: string;
  version: number;
  createdAt: Date;
  updatedAt: Date;
};

/** What lists of items are sorted and filtered by. */
export type ItemField = 'id' | 'name' | 'createdAt';

export type NewItem = Pick<Item, 'name' | 'value'>;
export type ItemChanges = Partial<NewItem>;

/** Which versions a write is for; any when undefined. */
export type IfVersion = readonly number[] | undefined;

/** What the use cases need of a store; its lists are of all items or, `within`, of those of one owner. */
export type ItemStore = ListSource<ItemField, Item> & {
  within(owner: string): ListSource<ItemField, Item>;
  /** Throws `conflict` when there is an item with this id. */
  insert(item: Item): Promise<void>;
  findById(id: string): Promise<Item | undefined>;
  /** Throws `not_found`, and `precondition_failed` when the item is in none of these versions. */
  update(id: string, changes: ItemChanges, ifVersion: IfVersion): Promise<Item>;
  /** As update. */
  remove(id: string, ifVersion: IfVersion): Promise<void>;
};

/** Who acts: a person, under whose role and ownership the request stands, or a machine. */
export type Actor = { person: { id: string; role: string } | undefined };

/** In characters (code points). */
export const NAME_MAX = 200;
/** In bytes of UTF-8. */
export const VALUE_MAX = 64 * 1024;

/** What is wrong with the fields that are there. */
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

/** Whose items alone an actor may see and change; undefined for those who may see and change all. */
export function ownItemsOnly({ person }: Actor): string | undefined {
  return person?.role === 'user' ? person.id : undefined;
}

/** Whether an actor may see and change an item. */
export function isAccessible({ ownerId }: Item, actor: Actor): boolean {
  const owner = ownItemsOnly(actor);
  return owner === undefined || owner === ownerId;
}

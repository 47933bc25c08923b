import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import type { ListSource } from '@gatehouse/kit/list-query';
import {
  type Actor,
  type IfVersion,
  type Item,
  type ItemChanges,
  type ItemField,
  type ItemStore,
  isAccessible,
  itemProblems,
  type NewItem,
  ownItemsOnly,
} from './item.ts';

/** The use cases. An item that the actor may not see does not exist for them: each throws `not_found`. */
export type ItemService = {
  listFor(actor: Actor): ListSource<ItemField, Item>;
  create(draft: NewItem & { id: string }, actor: Actor): Promise<Item>;
  read(id: string, actor: Actor): Promise<Item>;
  /** Throws `precondition_failed` when the item is in none of these versions; so does `remove`. */
  update(id: string, changes: ItemChanges, actor: Actor, ifVersion: IfVersion): Promise<Item>;
  remove(id: string, actor: Actor, ifVersion: IfVersion): Promise<void>;
};

export function createItemService(store: ItemStore): ItemService {
  async function read(id: string, actor: Actor): Promise<Item> {
    const item = await store.findById(id);
    if (item === undefined || !isAccessible(item, actor)) {
      throw new ServiceError('not_found', 'There is no such item.');
    }
    return item;
  }

  /** Before anything is said of a version: it would tell that the item exists. An item never changes its owner. */
  async function requireAccess(id: string, actor: Actor): Promise<void> {
    if (ownItemsOnly(actor) !== undefined) await read(id, actor);
  }

  return {
    listFor(actor) {
      const owner = ownItemsOnly(actor);
      return owner === undefined ? store : store.within(owner);
    },
    async create({ id, name, value }, { person }) {
      refuse(itemProblems({ name, value }));
      const now = new Date();
      const ownerId = person?.id ?? null;
      const item = { id, ownerId, name, value, version: 1, createdAt: now, updatedAt: now };
      await store.insert(item);
      return item;
    },
    read,
    async update(id, changes, actor, ifVersion) {
      refuse(itemProblems(changes));
      await requireAccess(id, actor);
      return store.update(id, changes, ifVersion);
    },
    async remove(id, actor, ifVersion) {
      await requireAccess(id, actor);
      await store.remove(id, ifVersion);
    },
  };
}

function refuse(problems: ReturnType<typeof itemProblems>): void {
  if (problems.length > 0) throw invalidFields(problems);
}

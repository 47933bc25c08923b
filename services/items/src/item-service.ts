import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import {
  type Actor,
  type Item,
  type ItemChanges,
  type ItemField,
  type ItemStore,
  itemProblems,
  type NewItem,
  requiredOwner,
} from './item.ts';

/** The use cases. For an item that the actor may not access they throw `not_found`, as if it did not exist. */
export type ItemService = {
  listFor(actor: Actor): ListSource<ItemField, Item>;
  create(draft: NewItem & { id: string }, actor: Actor): Promise<Item>;
  read(id: string, actor: Actor): Promise<Item>;
  /** Throws `precondition_failed` unless the item is at one of these versions; so does `remove`. */
  update(id: string, changes: ItemChanges, actor: Actor, ifVersion: IfVersion): Promise<Item>;
  remove(id: string, actor: Actor, ifVersion: IfVersion): Promise<void>;
};

export function createItemService(store: ItemStore): ItemService {
  async function read(id: string, actor: Actor): Promise<Item> {
    const item = await store.findById(id, requiredOwner(actor));
    if (item === undefined) throw new ServiceError('not_found', 'There is no such item.');
    return item;
  }

  /** Checked before the version: a 412 would disclose that the item exists. The owner of an item never changes. */
  async function requireAccess(id: string, actor: Actor): Promise<void> {
    if (requiredOwner(actor) !== undefined) await read(id, actor);
  }

  return {
    listFor(actor) {
      const owner = requiredOwner(actor);
      return owner === undefined ? store : store.within(owner);
    },
    async create(draft, { person }) {
      assertValid(itemProblems(draft));
      const now = new Date();
      const item = { ...draft, ownerId: person?.id ?? null, version: 1, createdAt: now, updatedAt: now };
      await store.insert(item);
      return item;
    },
    read,
    async update(id, changes, actor, ifVersion) {
      assertValid(itemProblems(changes));
      await requireAccess(id, actor);
      return store.update(id, changes, ifVersion);
    },
    async remove(id, actor, ifVersion) {
      await requireAccess(id, actor);
      await store.remove(id, ifVersion);
    },
  };
}

function assertValid(problems: ReturnType<typeof itemProblems>): void {
  if (problems.length > 0) throw invalidFields(problems);
}

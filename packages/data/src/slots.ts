import { randomInt } from 'node:crypto';
import { duplicateKeyField } from './duplicate-key.ts';

/**
 * Inserts a document into a group of at most `limit`. Each has a slot, a number below the limit, that no other document of
 * the group has by a unique index: so parallel inserts cannot exceed the limit, as they could after counting. Returns
 * whether there was room.
 *
 * @param options.field the first field of the index
 * @param options.taken the slots of the group's documents; those without one count too
 * @param options.guess whether to try any slot before asking which are taken, for groups that are mostly far from the limit
 * and whose documents all have slots
 */
export async function insertInSlot(
  options: Group<'slot'> & { guess?: boolean; insert(slot: number): Promise<unknown> },
): Promise<boolean> {
  const { guess = false, insert, ...slot } = options;
  return (await insertInSlots({ slot }, ({ slot }) => insert(slot), guess)) === undefined;
}

type Group<S extends string> = {
  limit: number;
  field: string;
  taken(): Promise<readonly { [slot in S]?: number | null | undefined }[]>;
};

/** The same for a document in several groups, by the names of its slots. Returns the name of one without room, if there is one. */
export async function insertInSlots<S extends string>(
  groups: Record<S, Group<NoInfer<S>>>,
  insert: (slots: Record<S, number>) => Promise<unknown>,
  guess = false,
): Promise<S | undefined> {
  const names = Object.keys(groups) as S[];
  for (let isGuess = guess; ; isGuess = false) {
    const slots: Partial<Record<S, number>> = {};
    for (const name of names) {
      // At random, so that parallel inserts rarely try for the same.
      slots[name] = isGuess ? randomInt(groups[name].limit) : await freeSlot(name, groups[name]);
      if (slots[name] === undefined) return name;
    }
    try {
      await insert(slots as Record<S, number>);
      return undefined;
    } catch (error) {
      const violated = duplicateKeyField(error);
      if (!names.some((name) => groups[name].field === violated)) throw error;
    }
  }
}

/**
 * The document of a full group that a new one replaces: the oldest of the owner who has the most. Undefined unless the newcomer has fewer.
 * So keeping others out takes as many accounts as the group has places.
 *
 * @param documents the oldest first
 */
export function oldestOfMost<D>(
  documents: readonly D[],
  ownerOf: (document: D) => string | undefined,
  newcomer: string,
): D | undefined {
  const byOwner = Map.groupBy(documents, ownerOf);
  const most = [...byOwner.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  return most.length > (byOwner.get(newcomer)?.length ?? 0) ? most[0] : undefined;
}

async function freeSlot<S extends string>(name: S, group: Group<S>): Promise<number | undefined> {
  const documents = await group.taken();
  const taken = new Set(documents.flatMap((document) => document[name] ?? []));
  const limit = group.limit - (documents.length - taken.size);
  const free = Array.from({ length: Math.max(0, limit) }, (_, slot) => slot).filter(
    (slot) => !taken.has(slot),
  );
  return free.length === 0 ? undefined : free[randomInt(free.length)];
}

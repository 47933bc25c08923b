import { randomInt } from 'node:crypto';
import { duplicateKeyField } from './duplicate-key.ts';

/**
 * Inserts a document into a group of at most `limit`. Each has a slot, a number below the limit, that no other document of
 * the group has by a unique index: so parallel inserts cannot exceed the limit, as they could after counting. Returns
 * whether there was room.
 *
 * @param options.field the first field of the index
 * @param options.taken the slots of the group's documents; those without one, of earlier versions, count too
 * @param options.guess whether to try any slot before asking which are taken, for groups that are mostly far from the limit
 * and whose documents all have slots
 */
export async function insertInSlot(options: {
  limit: number;
  field: string;
  guess?: boolean;
  taken(): Promise<readonly { slot?: number | null | undefined }[]>;
  insert(slot: number): Promise<unknown>;
}): Promise<boolean> {
  for (let { guess: isGuess = false } = options; ; isGuess = false) {
    // At random, so that parallel inserts rarely try for the same.
    const slot = isGuess ? randomInt(options.limit) : await freeSlot(options);
    if (slot === undefined) return false;
    try {
      await options.insert(slot);
      return true;
    } catch (error) {
      if (duplicateKeyField(error) !== options.field) throw error;
    }
  }
}

async function freeSlot(options: Pick<Parameters<typeof insertInSlot>[0], 'limit' | 'taken'>) {
  const documents = await options.taken();
  const taken = new Set(documents.flatMap(({ slot }) => slot ?? []));
  const limit = options.limit - (documents.length - taken.size);
  const free = Array.from({ length: Math.max(0, limit) }, (_, slot) => slot).filter(
    (slot) => !taken.has(slot),
  );
  return free.length === 0 ? undefined : free[randomInt(free.length)];
}

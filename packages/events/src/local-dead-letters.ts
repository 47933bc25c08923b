import { newId } from '@gatehouse/core/ids';
import { defineCollection } from '@gatehouse/data/collection';
import type { Priority } from './job.ts';
import type { DeadLetter } from './job-queue.ts';
import type { DeadLetterStore, StoredLetter } from './job-store.ts';

/** The collection of the dead letters. */
export const DEAD_LETTERS = 'dead_letters';

type LetterDocument = DeadLetter & {
  /** `{queue}.{id of the job}` */
  _id: string;
  queue: string;
  position: string;
};

export function defineDeadLetters(connection: Parameters<typeof defineCollection>[0]) {
  const position = { fields: { queue: 1, position: 1 }, options: { name: 'position' } } as const;
  return defineCollection<LetterDocument>(connection, DEAD_LETTERS, [position]);
}

/** The dead letters of a queue in MongoDB. */
export function createLocalDeadLetters(
  letters: ReturnType<typeof defineDeadLetters>,
  queue: string,
): DeadLetterStore & { count(lane: string, priority: Priority): Promise<number> } {
  const letterOf = ({ job, attempts, error, failedAt, position }: LetterDocument): StoredLetter => ({
    job,
    attempts,
    error,
    failedAt,
    position,
  });

  return {
    async put(letter) {
      const position = newId('0').replace('_', '-');
      await letters.updateOne(
        { _id: `${queue}.${letter.job.id}` },
        { $set: { ...letter, queue, position } },
        { upsert: true },
      );
    },
    async list(limit, after) {
      const filter = { queue, ...(after === undefined ? {} : { position: { $gt: after } }) };
      const found = await letters.find(filter).sort({ position: 1 }).limit(limit).toArray();
      return found.map(letterOf);
    },
    async find(id) {
      const found = await letters.findOne({ _id: `${queue}.${id}` });
      return found === null ? undefined : letterOf(found);
    },
    async remove({ job, position }) {
      const { deletedCount } = await letters.deleteOne({ _id: `${queue}.${job.id}`, position });
      return deletedCount === 1;
    },
    async purge(lane) {
      const filter = lane === undefined ? { queue } : { queue, 'job.lane': lane };
      return (await letters.deleteMany(filter)).deletedCount;
    },
    count: (lane, priority) => letters.countDocuments({ queue, 'job.lane': lane, 'job.priority': priority }),
  };
}

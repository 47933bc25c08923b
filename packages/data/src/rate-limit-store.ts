import type { Connection } from 'mongoose';
import type { CollectionBound } from './bounded.ts';
import { defineCollection } from './collection.ts';
import { duplicateKeyField } from './duplicate-key.ts';

/** The collection of the counters. The sweeper removes expired ones. */
export const RATE_LIMITS = 'rate_limits';

/** Beyond it, the counters that end first go. */
export const RATE_LIMIT_BOUND: CollectionBound = {
  collection: RATE_LIMITS,
  max: 500_000,
  firstToGo: { expires_at: 1 },
};

type CounterDocument = { _id: string; count: number; expires_at: Date };

/** Requests do not wait for the journal: a crash of the database may lose the counts of the last moments. */
const writeConcern = { w: 1, journal: false } as const;
/** When two processes create a counter at once, one gets a duplicate key error and tries again. */
const MAX_TRIES = 3;

/** Counters in MongoDB for all replicas of a service; see RateLimitStore of @gatehouse/api/http/rate-limit. */
export function createRateLimitStore(connection: Connection) {
  const index = { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } } as const;
  const counters = defineCollection<CounterDocument>(connection, RATE_LIMITS, [index]);
  const windowOf = ({ count, expires_at }: CounterDocument) => ({ count, endsAt: expires_at.getTime() });

  async function count(
    key: string,
    seconds: number,
    tries = MAX_TRIES,
  ): Promise<{ count: number; endsAt: number }> {
    try {
      const counter = await counters.findOneAndUpdate({ _id: key }, counting(seconds), {
        upsert: true,
        returnDocument: 'after',
        writeConcern,
      });
      if (counter === null) throw new Error('a counter was neither found nor created');
      return windowOf(counter);
    } catch (error) {
      if (duplicateKeyField(error) === '_id' && tries > 1) return count(key, seconds, tries - 1);
      throw error;
    }
  }

  return {
    count: (key: string, seconds: number) => count(key, seconds),
    async find(key: string) {
      const counter = await counters.findOne({ _id: key, expires_at: { $gt: new Date() } });
      return counter === null ? undefined : windowOf(counter);
    },
    async refund(key: string) {
      const current = { _id: key, count: { $gt: 0 }, expires_at: { $gt: new Date() } };
      await counters.updateOne(current, { $inc: { count: -1 } }, { writeConcern });
    },
    async forget(key: string) {
      await counters.deleteOne({ _id: key }, { writeConcern });
    },
  };
}

/** An update that counts in the current window, or begins a new one, in one step. */
function counting(seconds: number): Record<string, unknown>[] {
  const now = new Date();
  const end = new Date(now.getTime() + seconds * 1000);
  return [
    { $set: { over: { $lte: [{ $ifNull: ['$expires_at', now] }, now] } } },
    {
      $set: {
        count: { $cond: ['$over', 1, { $add: ['$count', 1] }] },
        expires_at: { $cond: ['$over', end, '$expires_at'] },
      },
    },
    { $unset: 'over' },
  ];
}

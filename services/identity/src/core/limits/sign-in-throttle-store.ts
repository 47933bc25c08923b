import { randomUUID } from 'node:crypto';
import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { Connection } from 'mongoose';
import type { Outcome, SignInCounters, ThrottlePolicy } from './sign-in-throttle.ts';

const COLLECTION = 'sign_in_counters';

type CounterDocument = {
  /** A keyed hash of what is counted, such as an address. */
  _id: string;
  count: number;
  settled: number;
  last_at: Date;
  /** The end of the window, when counting starts over. */
  expires_at: Date;
  /** A random id of the attempt that was admitted last. */
  by: string;
};

/** Sign-ins do not wait for the journal: a crash of the database may lose the counts of the last moments. */
const writeConcern = { w: 1, journal: false } as const;
/** When two processes create a counter at once, one gets a duplicate key error and tries again. */
const MAX_TRIES = 3;

/** The counters in MongoDB, one document each; defines its collection on the connection. */
export function createSignInThrottleStore(connection: Connection): SignInCounters {
  const counters = defineCollection<CounterDocument>(connection, COLLECTION, [
    { fields: { expires_at: 1 } },
    // When there are too many, those with few failures go first.
    { fields: { count: 1, expires_at: 1 } },
  ]);

  async function take(key: string, policy: ThrottlePolicy, now: number, tries: number): Promise<Outcome> {
    const by = randomUUID();
    try {
      const counter = await counters.findOneAndUpdate({ _id: key }, admission(policy, now, by), {
        upsert: true,
        returnDocument: 'after',
        writeConcern,
      });
      if (counter === null) throw new Error('a counter was neither found nor created');
      const { count, settled, last_at, expires_at } = counter;
      return {
        admitted: counter.by === by,
        count,
        settled,
        retryAt: Math.min(last_at.getTime() + delayOf(policy, count), expires_at.getTime()),
      };
    } catch (error) {
      if (duplicateKeyField(error) === '_id' && tries > 1) return take(key, policy, now, tries - 1);
      throw error;
    }
  }

  return {
    collection: COLLECTION,
    take: (key, policy, now) => take(key, policy, now, MAX_TRIES),
    async settle(keys) {
      await counters.updateMany({ _id: { $in: [...keys] } }, { $inc: { settled: 1 } }, { writeConcern });
    },
    async giveBack(keys) {
      if (keys.length === 0) return;
      await counters.updateMany(
        { _id: { $in: [...keys] }, count: { $gt: 0 } },
        { $inc: { count: -1 } },
        { writeConcern },
      );
    },
    async reset(keys) {
      await counters.deleteMany({ _id: { $in: [...keys] } }, { writeConcern });
    },
  };
}

function delayOf({ free, delays }: ThrottlePolicy, count: number): number {
  return count < free ? 0 : (delays[Math.min(count - free, delays.length - 1)] ?? 0);
}

/** An update that admits and counts the attempt in one step, or changes nothing. */
function admission(
  { free, delays, window, sliding }: ThrottlePolicy,
  now: number,
  by: string,
): Record<string, unknown>[] {
  const at = new Date(now);
  const end = new Date(now + window);
  const beyond = { $min: [{ $subtract: ['$count', free] }, delays.length - 1] };
  const delay = { $cond: [{ $lt: ['$count', free] }, 0, { $arrayElemAt: [[...delays], beyond] }] };
  const ifOpen = (then: unknown, field: string) => ({ $cond: ['$open', then, `$${field}`] });
  return [
    { $set: { over: { $lte: [{ $ifNull: ['$expires_at', at] }, at] } } },
    // Concurrent attempts may arrive out of order: without a delay, any time is fine.
    {
      $set: { open: { $or: ['$over', { $eq: [delay, 0] }, { $lte: [{ $add: ['$last_at', delay] }, at] }] } },
    },
    {
      $set: {
        count: ifOpen({ $cond: ['$over', 1, { $add: ['$count', 1] }] }, 'count'),
        settled: { $cond: ['$over', 0, '$settled'] },
        last_at: ifOpen({ $max: ['$last_at', at] }, 'last_at'),
        expires_at: ifOpen(sliding ? end : { $cond: ['$over', end, '$expires_at'] }, 'expires_at'),
        by: ifOpen(by, 'by'),
      },
    },
    { $unset: ['over', 'open'] },
  ];
}

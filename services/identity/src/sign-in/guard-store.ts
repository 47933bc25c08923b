import { randomUUID } from 'node:crypto';
import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import { type Collection, type Connection, Schema } from 'mongoose';
import type { Brake, SignInCounters, Taken } from './guard.ts';

type CounterDocument = {
  /** A keyed hash of what is counted. */
  _id: string;
  count: number;
  settled: number;
  last_at: Date;
  /** The end of the window: then all starts anew. */
  expires_at: Date;
  /** Who was admitted last. */
  by: string;
};

const COLLECTION = 'sign_in_counters';

const schema = new Schema<CounterDocument>(
  {
    _id: { type: String, required: true },
    count: { type: Number, required: true },
    settled: { type: Number, required: true },
    last_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
    by: { type: String, required: true },
  },
  { versionKey: false, strict: 'throw' },
);
schema.index({ expires_at: 1 });

/** A crash of the database may forget the last moments of counting; each sign-in would wait for its journal else. */
const writeConcern = { w: 1, journal: false } as const;
/** Two that make a counter at the same moment: one of them is told of a duplicate, and counts on. */
const TRIES = 3;

/** The counters of the sign-in guard in MongoDB, one document each; defines its model on the connection. */
export function createGuardStore(connection: Connection): SignInCounters {
  const model = connection.model<CounterDocument>('SignInCounter', schema, COLLECTION);
  const counters = model.collection as unknown as Collection<CounterDocument>;

  async function take(key: string, brake: Brake, now: number, tries: number): Promise<Taken> {
    const by = randomUUID();
    try {
      const counter = await counters.findOneAndUpdate({ _id: key }, admission(brake, now, by), {
        upsert: true,
        returnDocument: 'after',
        writeConcern,
      });
      if (counter === null) throw new Error('a counter was neither there nor made');
      const { count, settled, last_at, expires_at } = counter;
      return {
        admitted: counter.by === by,
        count,
        settled,
        openAt: Math.min(last_at.getTime() + delayOf(brake, count), expires_at.getTime()),
      };
    } catch (error) {
      if (duplicateKeyField(error) === '_id' && tries > 1) return take(key, brake, now, tries - 1);
      throw error;
    }
  }

  return {
    collection: COLLECTION,
    take: (key, brake, now) => take(key, brake, now, TRIES),
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
    async reset(key) {
      await counters.deleteOne({ _id: key }, { writeConcern });
    },
  };
}

function delayOf({ delays }: Brake, count: number): number {
  return delays[Math.min(count, delays.length - 1)] ?? 0;
}

/** The update that admits and counts in one step, or leaves everything as it is. */
function admission({ delays, window, renewed }: Brake, now: number, by: string): Record<string, unknown>[] {
  const at = new Date(now);
  const end = new Date(now + window);
  const delay = { $arrayElemAt: [[...delays], { $min: ['$count', delays.length - 1] }] };
  const ifOpen = (then: unknown, field: string) => ({ $cond: ['$open', then, `$${field}`] });
  return [
    { $set: { over: { $lte: [{ $ifNull: ['$expires_at', at] }, at] } } },
    // Attempts of one moment may come in another order than their times: without a delay, any time will do.
    {
      $set: { open: { $or: ['$over', { $eq: [delay, 0] }, { $lte: [{ $add: ['$last_at', delay] }, at] }] } },
    },
    {
      $set: {
        count: ifOpen({ $cond: ['$over', 1, { $add: ['$count', 1] }] }, 'count'),
        settled: { $cond: ['$over', 0, '$settled'] },
        last_at: ifOpen({ $max: ['$last_at', at] }, 'last_at'),
        expires_at: ifOpen(renewed ? end : { $cond: ['$over', end, '$expires_at'] }, 'expires_at'),
        by: ifOpen(by, 'by'),
      },
    },
    { $unset: ['over', 'open'] },
  ];
}

import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import type { Connection } from 'mongoose';
import type { LaneState, LaneStore, QueueAction } from './lane.ts';

type LaneDocument = {
  _id: string;
  paused?: boolean;
  outcomes?: Record<string, number>;
  outbox?: OutboxEvent[];
};

/** The collection, whose documents hold the actions that identity does not have yet. */
export const LANES = 'lanes';
/** The subject of the events that are actions. */
export const QUEUE_ACTION = 'notifications.queue.action';

/** The states of lanes in MongoDB, shared by all replicas; defines their collection on the connection. */
export function createLaneStore(connection: Connection): LaneStore {
  const lanes = defineCollection<LaneDocument>(connection, LANES, [OUTBOX_INDEX]);
  const pushed = (action: QueueAction) => ({ outbox: outboxEvent(QUEUE_ACTION, action) });
  return {
    async readAll() {
      const found = await lanes.find({}, { projection: { outbox: 0 } }).toArray();
      const states = found.map(({ _id, paused = false, outcomes = {} }): [string, LaneState] => [
        _id,
        { paused, outcomes },
      ]);
      return new Map(states);
    },
    async setPaused(key, paused, action) {
      // A lane without a document is not paused.
      const filter = { _id: key, paused: paused ? { $ne: true } : true };
      const update = { $set: { paused }, $push: pushed(action) };
      await lanes.updateOne(filter, update, { upsert: paused }).catch(async (error: unknown) => {
        if (duplicateKeyField(error) !== '_id') throw error;
        // It is paused, or somebody else has just made its document.
        await lanes.updateOne(filter, update);
      });
    },
    async record(key, action) {
      await lanes.updateOne({ _id: key }, { $push: pushed(action) }, { upsert: true });
    },
    async add(key, outcomes) {
      const increments = Object.entries(outcomes).map(([outcome, n]) => [`outcomes.${outcome}`, n]);
      await lanes.updateOne({ _id: key }, { $inc: Object.fromEntries(increments) }, { upsert: true });
    },
  };
}

import { defineCollection } from '@gatehouse/mongo/collection';
import type { Connection } from 'mongoose';
import type { LaneState, LaneStore } from './lane.ts';

type LaneDocument = { _id: string; paused?: boolean; outcomes?: Record<string, number> };

/** The states of lanes in MongoDB, shared by all replicas; defines their collection on the connection. */
export function createLaneStore(connection: Connection): LaneStore {
  const lanes = defineCollection<LaneDocument>(connection, 'lanes', []);
  return {
    async readAll() {
      const found = await lanes.find({}).toArray();
      const states = found.map(({ _id, paused = false, outcomes = {} }): [string, LaneState] => [
        _id,
        { paused, outcomes },
      ]);
      return new Map(states);
    },
    async setPaused(lane, paused) {
      await lanes.updateOne({ _id: lane }, { $set: { paused } }, { upsert: true });
    },
    async add(lane, outcomes) {
      const increments = Object.entries(outcomes).map(([outcome, n]) => [`outcomes.${outcome}`, n]);
      await lanes.updateOne({ _id: lane }, { $inc: Object.fromEntries(increments) }, { upsert: true });
    },
  };
}

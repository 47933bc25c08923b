import { defineCollection } from '@gatehouse/data/collection';
import type { Connection } from 'mongoose';

/** When accounts were first asked to set up a second factor, in MongoDB; defines its collection on the connection. */
export function createGraceStore(connection: Connection) {
  const gracePeriods = defineCollection<{ _id: string; since: Date }>(connection, 'second_factor_graces', []);
  return {
    /** When that was, which is now if there was no such time. */
    async begin(_id: string): Promise<Date> {
      const change = { $setOnInsert: { since: new Date() } };
      const more = { upsert: true, returnDocument: 'after' } as const;
      return (await gracePeriods.findOneAndUpdate({ _id }, change, more))?.since ?? new Date();
    },
    async remove(_id: string): Promise<void> {
      await gracePeriods.deleteOne({ _id });
    },
  };
}

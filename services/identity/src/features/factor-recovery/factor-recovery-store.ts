import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { FACTOR_RECOVERY, type FactorRecoveryStore } from './factor-recovery.ts';

const COLLECTION = 'factor_recoveries';
const { read, write } = createDocumentMapper(FACTOR_RECOVERY);

/** Recoveries in MongoDB, one document for each account; defines its collection on the connection. */
export function createFactorRecoveryStore(connection: Connection): FactorRecoveryStore {
  const recoveries = defineCollection<StoredOf<typeof FACTOR_RECOVERY>>(connection, COLLECTION, [
    { fields: { due_at: 1 } },
    { fields: { expires_at: 1 } },
  ]);
  return {
    collection: COLLECTION,
    async find(_id) {
      const found = await recoveries.findOne({ _id, expires_at: { $gt: new Date() } });
      return found === null ? undefined : read(found);
    },
    async begin(recovery) {
      const { userId: _id, email, epoch } = recovery;
      const isVoid = {
        $or: [{ expires_at: { $lte: new Date() } }, { email: { $ne: email } }, { epoch: { $ne: epoch } }],
      };
      try {
        await recoveries.updateOne({ _id, ...isVoid }, { $set: write(recovery) }, { upsert: true });
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === '_id') return false;
        throw error;
      }
    },
    async takeDue(nextAfter) {
      const found = await recoveries.findOne({ due_at: { $lte: new Date() } }, { sort: { due_at: 1 } });
      if (found === null) return undefined;
      const { _id, due_at = null } = found;
      const taken = { $set: { due_at: nextAfter(read(found)) } };
      // Not one that another replica has taken meanwhile, or that has begun again.
      const { matchedCount } = await recoveries.updateOne({ _id, due_at }, taken);
      return matchedCount === 1 ? read(found) : this.takeDue(nextAfter);
    },
    async remove(_id) {
      return (await recoveries.deleteOne({ _id })).deletedCount === 1;
    },
  };
}

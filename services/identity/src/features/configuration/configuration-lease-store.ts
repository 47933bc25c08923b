import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { Connection } from 'mongoose';
import type { ConfigurationLease, LeaseStore } from './configuration-lease.ts';

type LeaseDocument = { _id: string; holder: string; expires_at: Date };
const COLLECTION = 'configuration_leases';

/** Leases in MongoDB. Defines their collection on the connection. */
export function createLeaseStore(connection: Connection): LeaseStore & { collection: string } {
  const leases = defineCollection<LeaseDocument>(connection, COLLECTION, [{ fields: { expires_at: 1 } }]);
  const read = ({ holder, expires_at }: LeaseDocument): ConfigurationLease => ({
    id: holder,
    expiresAt: expires_at,
  });
  return {
    collection: COLLECTION,
    async take(scope, { id: holder, expiresAt: expires_at }) {
      const expired = await leases.findOneAndUpdate(
        { _id: scope, expires_at: { $lte: new Date() } },
        { $set: { holder, expires_at } },
      );
      if (expired !== null) return 'expired';
      try {
        await leases.insertOne({ _id: scope, holder, expires_at });
        return 'free';
      } catch (error) {
        if (duplicateKeyField(error) === undefined) throw error;
        return undefined;
      }
    },
    async find(scope) {
      const found = await leases.findOne({ _id: scope });
      return found === null ? undefined : read(found);
    },
    async renew(scope, { id: holder, expiresAt: expires_at }) {
      const { matchedCount } = await leases.updateOne({ _id: scope, holder }, { $set: { expires_at } });
      return matchedCount === 1;
    },
    release: async (scope, holder) => void (await leases.deleteOne({ _id: scope, holder })),
  };
}

import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { DEPLOYER, type DeployerStore } from './deployer.ts';

const { read, write } = createDocumentMapper(DEPLOYER);

/** Deployers in MongoDB. Defines their collection on the connection. */
export function createDeployerStore(connection: Connection): DeployerStore {
  const deployers = defineCollection<StoredOf<typeof DEPLOYER>>(connection, 'deployers', [
    { fields: { by: 1 } },
  ]);
  return {
    async put(deployer) {
      await deployers.replaceOne({ _id: deployer.id }, write(deployer), { upsert: true });
    },
    async find(_id) {
      const found = await deployers.findOne({ _id });
      return found === null ? undefined : read(found);
    },
    markedBy: async (by) => (await deployers.find({ by }).sort({ _id: 1 }).toArray()).map(read),
    async setEpoch(by, grantIds, epoch) {
      await deployers.updateMany({ by, grant_id: { $in: [...grantIds] } }, { $set: { epoch } });
    },
    remove: async (_id) => void (await deployers.deleteOne({ _id })),
  };
}

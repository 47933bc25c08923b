import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import type { Connection } from 'mongoose';
import type { ProviderStore, StoredProvider } from './stored-provider.ts';

type ProviderDocument = {
  _id: string;
  settings: StoredProvider['settings'];
  sealed_secrets: string;
  created_at: Date;
  updated_at: Date;
};

const write = (provider: StoredProvider): ProviderDocument => ({
  ...{ _id: provider.id, settings: provider.settings, sealed_secrets: provider.sealedSecrets },
  ...{ created_at: provider.createdAt, updated_at: provider.updatedAt },
});

const read = (document: ProviderDocument): StoredProvider => ({
  ...{ id: document._id, settings: document.settings, sealedSecrets: document.sealed_secrets },
  ...{ createdAt: document.created_at, updatedAt: document.updated_at },
});

/** Providers in MongoDB; defines their collection on the connection. */
export function createProviderStore(connection: Connection): ProviderStore {
  const providers = defineCollection<ProviderDocument>(connection, 'identity_providers', []);
  return {
    list: async () => (await providers.find().sort({ created_at: 1 }).toArray()).map(read),
    async insert(provider) {
      try {
        await providers.insertOne(write(provider));
        return true;
      } catch (error) {
        if (duplicateKeyField(error) === undefined) throw error;
        return false;
      }
    },
    async replace({ id: _id, updatedAt: updated_at }, changed) {
      return (await providers.replaceOne({ _id, updated_at }, write(changed))).matchedCount === 1;
    },
    remove: async ({ id: _id, updatedAt: updated_at }) =>
      (await providers.deleteOne({ _id, updated_at })).deletedCount === 1,
  };
}

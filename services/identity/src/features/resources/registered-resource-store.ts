import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { laterThan } from '@gatehouse/data/later-than';
import { insertInSlot } from '@gatehouse/data/slots';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { MAX_RESOURCES, RESOURCE, type Resource, type ResourceStore } from './registered-resource.ts';

type ResourceDocument = StoredOf<typeof RESOURCE> & {
  /** From 0 to MAX_RESOURCES - 1, unique for an owner, which limits what they have. */
  slot: number;
};
const { read, write, update } = createDocumentMapper(RESOURCE);

/** Resources in MongoDB; defines their collection on the connection. */
export function createResourceStore(connection: Connection): ResourceStore {
  const resources = defineCollection<ResourceDocument>(connection, 'resources', [
    { fields: { identifier_key: 1 }, options: { unique: true } },
    { fields: { owner: 1, slot: 1 }, options: { unique: true } },
  ]);
  const optional = (document: ResourceDocument | null) => (document === null ? undefined : read(document));
  const unchanged = ({ id: _id, updatedAt: updated_at }: Resource) => ({ _id, updated_at });
  return {
    async insert(resource) {
      const { id: _id, owner } = resource;
      try {
        const isInserted = await insertInSlot({
          limit: MAX_RESOURCES,
          field: 'owner',
          taken: () => resources.find({ owner }, { projection: { slot: 1 } }).toArray(),
          insert: (slot) => resources.insertOne({ _id, ...write(resource), slot }),
        });
        return isInserted ? 'inserted' : 'full';
      } catch (error) {
        if (duplicateKeyField(error) === 'identifier_key') return 'taken';
        throw error;
      }
    },
    async list(owner) {
      const found = resources.find(owner === undefined ? {} : { owner }).sort({ _id: -1 });
      return (await found.toArray()).map(read);
    },
    async ownersOf(ids) {
      const found = resources.find({ _id: { $in: [...ids] } }, { projection: { owner: 1 } });
      return new Map((await found.toArray()).map(({ _id, owner }) => [_id, owner]));
    },
    find: async (_id) => optional(await resources.findOne({ _id })),
    findByKey: async (identifier_key) => optional(await resources.findOne({ identifier_key })),
    async change(before, changes) {
      const set = update({ ...changes, updatedAt: laterThan(before) });
      return optional(await resources.findOneAndUpdate(unchanged(before), set, { returnDocument: 'after' }));
    },
    noteVerified: async (_id, at) => void (await resources.updateOne({ _id }, { $set: { verified_at: at } })),
    remove: async (read) => (await resources.deleteOne(unchanged(read))).deletedCount === 1,
    removeAllOf: async (owner) => void (await resources.deleteMany({ owner })),
  };
}

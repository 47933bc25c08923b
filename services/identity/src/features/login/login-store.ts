import { defineCollection } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import { LOGIN, type LoginStore } from './logins.ts';

const COLLECTION = 'api_logins';

const { read, write, update } = createDocumentMapper(LOGIN);

/** Logins in MongoDB; defines its collection on the connection. */
export function createLoginStore(connection: Connection): LoginStore {
  const logins = defineCollection<StoredOf<typeof LOGIN>>(connection, COLLECTION, [
    { fields: { account_id: 1, last_used_at: -1 } },
    { fields: { expires_at: 1 } },
  ]);
  /** The sweeper comes late: what has expired does not count. */
  const unexpired = () => ({ expires_at: { $gt: new Date() } });
  return {
    collection: COLLECTION,
    async insert(login) {
      await logins.insertOne({ _id: login.id, ...write(login) });
    },
    async find(id) {
      const document = await logins.findOne({ _id: id, ...unexpired() });
      return document === null ? undefined : read(document);
    },
    async renew(id, tokenId, renewal) {
      const filter = { _id: id, token_id: tokenId, ...unexpired() };
      return (await logins.updateOne(filter, update(renewal))).matchedCount === 1;
    },
    async used(id, at) {
      await logins.updateOne({ _id: id }, { $max: { last_used_at: at } });
    },
    async *of(accountId) {
      const filter = { account_id: accountId, ...unexpired() };
      for await (const it of logins.find(filter).sort({ last_used_at: -1 })) yield read(it);
    },
    async remove(id) {
      await logins.deleteOne({ _id: id });
    },
    async removeBelow(accountId, epoch) {
      await logins.deleteMany({ account_id: accountId, epoch: { $lt: epoch } });
    },
  };
}

import { ServiceError } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentMapper } from '@gatehouse/data/document-mapper';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { StoredOf } from '@gatehouse/domain/fields';
import type { Connection } from 'mongoose';
import {
  PUSH_SUBSCRIPTION,
  type PushSubscription,
  type PushSubscriptionField,
  type PushSubscriptionStore,
  type Revoked,
} from './push-subscription.ts';

const COLLECTION = 'push_subscriptions';

type SubscriptionDocument = StoredOf<typeof PUSH_SUBSCRIPTION> &
  VersionedDocument & {
    /** When the credential was last known to be in force. */
    checked_at?: Date;
  };

const { listFields, ...documents } = createDocumentMapper(PUSH_SUBSCRIPTION);
const { read, write } = documents;
const LISTS = createListPlan({ fields: listFields, prefix: 'user_id' });

/** Push subscriptions in MongoDB; defines their collection on the connection. */
export function createPushSubscriptionStore(connection: Connection): PushSubscriptionStore {
  const store = createDocumentStore<PushSubscriptionField, PushSubscription, SubscriptionDocument>(
    connection,
    {
      name: COLLECTION,
      noun: 'subscription',
      plan: LISTS,
      indexes: [
        { fields: { endpoint: 1 }, options: { name: 'endpoint', unique: true } },
        { fields: { client_id: 1, client_epoch: 1 }, options: { name: 'client' } },
        { fields: { grant_id: 1 }, options: { name: 'grant' } },
        { fields: { checked_at: 1 }, options: { name: 'checked' } },
      ],
      ...documents,
    },
  );
  const collection = connection.collection<StoredDocument>(COLLECTION);
  const findOf = (userId: string, clientId?: string) =>
    collection
      .find<SubscriptionDocument>({ user_id: userId, ...omitUndefined({ client_id: clientId }) })
      .sort({ created_at: -1, _id: -1 });

  return {
    within: store.within,
    findById: store.findById,
    async ofUser(...whose) {
      return (await findOf(...whose).toArray()).map(read);
    },
    async put(subscription, max) {
      const { id, userId, endpoint, keys, updatedAt, by } = subscription;
      const replaceable = { endpoint, $or: [{ user_id: userId }, { p256dh: keys.p256dh, auth: keys.auth }] };
      const upsert = () =>
        collection.findOneAndUpdate(
          replaceable,
          {
            $set: { ...write(subscription), checked_at: updatedAt },
            $setOnInsert: { _id: id },
          },
          { upsert: true, returnDocument: 'after' },
        );
      const stored = await upsert().catch(async (error: unknown) => {
        if (duplicateKeyField(error) !== 'endpoint') throw error;
        // Another request may have inserted it in the meantime.
        if ((await collection.findOne(replaceable)) !== null) return upsert();
        throw new ServiceError('conflict', 'This endpoint is registered with other keys.');
      });
      const tooMany = await findOf(userId, by.clientId).skip(max).project({ _id: 1 }).toArray();
      if (tooMany.length > 0) await collection.deleteMany({ _id: { $in: tooMany.map(({ _id }) => _id) } });
      return stored === null ? subscription : read(stored as unknown as SubscriptionDocument);
    },
    async remove(id, userId) {
      return (await collection.deleteOne({ _id: id, user_id: userId })).deletedCount === 1;
    },
    async removeAllOf(userId) {
      await collection.deleteMany({ user_id: userId });
    },
    async removeRevoked(revoked) {
      if (revoked.length > 0) await collection.deleteMany({ $or: revoked.map(filterOf) } as never);
    },
    async longestUnchecked(since, limit) {
      const found = await collection
        .find<SubscriptionDocument>({ checked_at: { $lt: since } })
        .sort({ checked_at: 1 })
        .limit(limit)
        .toArray();
      return found.map(read);
    },
    async checked(subscriptions, at) {
      const ids = subscriptions.map(({ id }) => id);
      if (ids.length > 0) await collection.updateMany({ _id: { $in: ids } }, { $set: { checked_at: at } });
    },
    async removeUnchanged(subscriptions) {
      const unchanged = subscriptions.map(({ id, updatedAt }) => ({ _id: id, updated_at: updatedAt }));
      if (unchanged.length > 0) await collection.deleteMany({ $or: unchanged });
    },
  };
}

function filterOf({ kind, id, epoch }: Revoked): Record<string, unknown> {
  const { field, epochField } = FIELDS[kind];
  return { [field]: id, ...(epoch === undefined ? {} : { [epochField]: { $lt: epoch } }) };
}

const FIELDS = {
  grant: { field: 'grant_id', epochField: 'subject_epoch' },
  client: { field: 'client_id', epochField: 'client_epoch' },
  subject: { field: 'user_id', epochField: 'subject_epoch' },
} as const;

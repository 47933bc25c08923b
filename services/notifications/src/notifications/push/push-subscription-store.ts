import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { VersionedDocument } from '@gatehouse/data/versioned-write';
import type { Connection } from 'mongoose';
import type {
  PushSubscription,
  PushSubscriptionField,
  PushSubscriptionStore,
  Revoked,
} from './push-subscription.ts';

const COLLECTION = 'push_subscriptions';

type SubscriptionDocument = VersionedDocument & {
  user_id: string;
  endpoint: string;
  p256dh: string;
  auth: string;
  client_id: string;
  grant_id: string | null;
  key_id: string | null;
  client_epoch: number;
  subject_epoch: number;
  created_at: Date;
  /** When the credential was last known to be in force; missing in documents of earlier versions. */
  checked_at?: Date;
};

const LISTS = createListPlan<PushSubscriptionField>({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    userId: { stored: 'user_id', type: 'string' },
    createdAt: { stored: 'created_at', type: 'date' },
  },
  prefix: 'user_id',
});

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
        { fields: { key_id: 1 }, options: { name: 'key' } },
        { fields: { checked_at: 1 }, options: { name: 'checked' } },
      ],
      projection: {
        ...{ user_id: 1, endpoint: 1, p256dh: 1, auth: 1, created_at: 1 },
        ...{ client_id: 1, grant_id: 1, key_id: 1, client_epoch: 1, subject_epoch: 1 },
      },
      read,
      write,
    },
  );
  const collection = connection.collection<StoredDocument>(COLLECTION);
  const findOf = (userId: string) =>
    collection.find<SubscriptionDocument>({ user_id: userId }).sort({ created_at: -1, _id: -1 });

  return {
    within: store.within,
    findById: store.findById,
    async ofUser(userId) {
      return (await findOf(userId).toArray()).map(read);
    },
    async put(subscription, max) {
      const { id, userId, endpoint, version, updatedAt } = subscription;
      // By the field of the unique index alone: then MongoDB tries an upsert again that another one has overtaken.
      const stored = await collection.findOneAndUpdate(
        { endpoint },
        {
          $set: { ...write(subscription), updated_at: updatedAt, checked_at: updatedAt, version },
          $setOnInsert: { _id: id },
        },
        { upsert: true, returnDocument: 'after' },
      );
      const tooMany = await findOf(userId).skip(max).project({ _id: 1 }).toArray();
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
      // Sorted, those that never were come first.
      const found = await collection
        .find<SubscriptionDocument>({})
        .sort({ checked_at: 1 })
        .limit(limit)
        .toArray();
      return found.filter(({ checked_at }) => checked_at === undefined || checked_at < since).map(read);
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
  api_key: { field: 'key_id', epochField: 'client_epoch' },
  client: { field: 'client_id', epochField: 'client_epoch' },
  subject: { field: 'user_id', epochField: 'subject_epoch' },
} as const;

function read(document: SubscriptionDocument): PushSubscription {
  const { _id: id, user_id: userId, endpoint, p256dh, auth } = document;
  return {
    ...{ id, userId, endpoint, keys: { p256dh, auth } },
    by: {
      ...{ clientId: document.client_id, grantId: document.grant_id, keyId: document.key_id },
      epoch: { client: document.client_epoch, subject: document.subject_epoch },
    },
    version: document.version ?? 0,
    createdAt: document.created_at,
    updatedAt: document.updated_at,
  };
}

function write({ userId, endpoint, keys, by, createdAt }: PushSubscription) {
  return {
    ...{ user_id: userId, endpoint, p256dh: keys.p256dh, auth: keys.auth, created_at: createdAt },
    ...{ client_id: by.clientId, grant_id: by.grantId, key_id: by.keyId },
    ...{ client_epoch: by.epoch.client, subject_epoch: by.epoch.subject },
  };
}

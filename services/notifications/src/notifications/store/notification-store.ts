import { ServiceError } from '@gatehouse/core/errors';
import { DELETED_USER_ID } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { currentTraceparent } from '@gatehouse/core/tracing';
import { createBatches } from '@gatehouse/data/batches';
import type { StoredDocument } from '@gatehouse/data/collection';
import { createDocumentKeys, IDEMPOTENCY_INDEXES, idempotencyFields } from '@gatehouse/data/document-keys';
import { createDocumentStore } from '@gatehouse/data/document-store';
import { inBatches } from '@gatehouse/data/erasures';
import { insertNew } from '@gatehouse/data/insert-new';
import { createListPlan } from '@gatehouse/data/list-plan';
import { OPEN_JOBS_INDEX } from '@gatehouse/data/open-jobs';
import type { Connection } from 'mongoose';
import {
  asAccepted,
  NOTIFICATION_PRIORITIES,
  NOTIFICATION_STATUSES,
  NOTIFICATION_TYPES,
  type Notification,
  type NotificationField,
  type NotificationStore,
} from '../notification.ts';
import { COUNTS_INDEX } from './notification-counts.ts';
import {
  COLLECTION,
  NOTIFICATION_FIELDS,
  type NotificationDocument,
  readNotification,
  SENDERS_INDEX,
} from './notification-document.ts';

const LISTS = createListPlan<NotificationField>({
  fields: {
    id: { stored: '_id', type: 'string', unique: true },
    userId: { stored: 'user_id', type: 'string' },
    type: { stored: 'type', type: 'enum', values: NOTIFICATION_TYPES },
    priority: { stored: 'priority', type: 'enum', values: NOTIFICATION_PRIORITIES },
    status: { stored: 'status', type: 'enum', values: NOTIFICATION_STATUSES, mostCommon: 'sent' },
    createdAt: { stored: 'created_at', type: 'date' },
  },
  prefix: 'user_id',
});

/** Notifications that are inserted with one command. */
const MAX_BATCH = 100;

/** Notifications in MongoDB; defines their collection on the connection. */
export function createNotificationStore(
  connection: Connection,
  options: {
    /** Publishes the current job of a notification that was written. */
    publish: (notification: Notification) => void;
    logger: Logger;
  },
) {
  const { publish, logger } = options;
  const store = createDocumentStore<NotificationField, Notification, NotificationDocument>(connection, {
    name: COLLECTION,
    noun: 'notification',
    plan: LISTS,
    indexes: [OPEN_JOBS_INDEX, SENDERS_INDEX, COUNTS_INDEX, ...IDEMPOTENCY_INDEXES],
    projection: NOTIFICATION_FIELDS,
    read: readNotification,
    write: (notification) => writeChange(notification) as NotificationDocument,
  });
  const collection = connection.collection<StoredDocument>(COLLECTION);
  const keys = createDocumentKeys<NotificationDocument>(collection, {
    projection: { ...NOTIFICATION_FIELDS, first_priority: 1, version: 1, updated_at: 1 },
    logger,
  });
  /** Those that are accepted at the same time are inserted together. */
  const insert = createBatches<StoredDocument, boolean>({
    max: MAX_BATCH,
    run: (documents) => insertNew(collection, documents),
  });

  const notificationStore: NotificationStore = {
    ...store,

    async findByKey(key) {
      const found = await keys.find(key);
      if (found?.state !== 'found') return found;
      const { document } = found;
      return { state: 'done', created: asAccepted(readNotification(document), document.first_priority) };
    },

    async add(notification, { sender, key }) {
      const traceparent = currentTraceparent();
      const document = {
        ...writeNew(notification),
        sender,
        ...idempotencyFields(key),
        ...(traceparent && { traceparent }),
      };
      if (!(await insert(document))) {
        throw new ServiceError('conflict', 'This notification already exists.');
      }
      publish(notification);
    },

    async update(id, decide, ifVersion) {
      let current: Notification | undefined;
      const change = await store.update(
        id,
        (found, revision) => {
          current = found;
          const next = decide(found);
          if (next === found) return undefined;
          return { next: { ...next, ...revision } };
        },
        ifVersion,
      );
      if (change !== undefined && change.next.job !== current?.job) publish(change.next);
      return change?.next ?? (current as unknown as Notification);
    },

    makeAnonymous: (userId) =>
      inBatches(collection, { user_id: userId }, (ids) =>
        collection.updateMany({ _id: { $in: ids } }, ANONYMOUS),
      ),
  };
  return { ...notificationStore, keySweeper: keys.sweeper };
}

/** The update that leaves of a notification what is counted. */
const ANONYMOUS = [
  {
    $set: {
      ...{ user_id: DELETED_USER_ID, message: '', reason: null, attempts: [] },
      ...{ sender: null, holder: null, lease_until: null, check_at: null },
      status: { $cond: [{ $in: ['$status', ['queued', 'sending']] }, 'cancelled', '$status'] },
      version: { $add: [{ $ifNull: ['$version', 0] }, 1] },
    },
  },
  { $unset: ['idempotency', 'subject'] },
];

/** What a change by a person stores. */
function writeChange({ priority, status, job }: Notification) {
  // A new job is published after the write, or by the next sweep.
  const rest =
    status === 'cancelled' ? { check_at: null, sender: null, reason: null } : { check_at: new Date() };
  return { priority, status, job, ...rest };
}

function writeNew(notification: Notification): NotificationDocument {
  const { id, userId, subject, message, type, priority, status, reason, job, version, createdAt } =
    notification;
  return {
    _id: id,
    user_id: userId,
    ...(subject === undefined ? {} : { subject }),
    ...{ message, type, priority, first_priority: priority, status, reason, attempts: [] },
    created_at: createdAt,
    updated_at: notification.updatedAt,
    ...{ version, job, job_attempts: 0, holder: null, lease_until: null },
    due_at: createdAt,
    check_at: createdAt,
  };
}

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
import { JOB_INDEXES, type JobState, newJob } from '@gatehouse/data/job-document';
import { createListPlan } from '@gatehouse/data/list-plan';
import type { Connection } from 'mongoose';
import {
  asAccepted,
  type Notification,
  type NotificationField,
  type NotificationStore,
} from '../notification.ts';
import { COUNTS_INDEX } from './notification-counts.ts';
import { COLLECTION, type NotificationDocument, notifications } from './notification-document.ts';

const LISTS = createListPlan({ fields: notifications.listFields, prefix: 'user_id' });

/** Notifications that are inserted with one command. */
const MAX_BATCH = 100;

/** Notifications in MongoDB; defines their collection on the connection. */
export function createNotificationStore(
  connection: Connection,
  options: {
    /** Announces the job of a notification that was written. */
    announce: (job: JobState) => void;
    logger: Logger;
  },
) {
  const { announce, logger } = options;
  const store = createDocumentStore<NotificationField, Notification, NotificationDocument>(connection, {
    name: COLLECTION,
    noun: 'notification',
    plan: LISTS,
    indexes: [...Object.values(JOB_INDEXES), COUNTS_INDEX, ...IDEMPOTENCY_INDEXES],
    projection: notifications.projection,
    read: notifications.read,
    write: (notification) => writeChange(notification) as unknown as NotificationDocument,
  });
  const collection = connection.collection<StoredDocument>(COLLECTION);
  const keys = createDocumentKeys<NotificationDocument>(collection, {
    projection: { ...notifications.projection, first_priority: 1 },
    logger,
  });
  /** Notifications that are accepted at the same time are inserted together. */
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
      return { state: 'done', created: asAccepted(notifications.read(document), document.first_priority) };
    },

    async add(notification, { sender, senders, key }) {
      const { type: lane, priority, createdAt } = notification;
      const place = { lane, priority, owner: sender, traceparent: currentTraceparent() };
      const job = { ...newJob(place, createdAt), ...(senders && { senders }) };
      const document = { ...writeNew(notification), job, ...idempotencyFields(key) };
      if (!(await insert(document))) {
        throw new ServiceError('conflict', 'This notification already exists.');
      }
      announce(job);
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
      if (change !== undefined && change.next.priority !== current?.priority) {
        const found = await collection.findOne({ _id: id }, { projection: { job: 1 } });
        if (found?.job) announce(found.job as JobState);
      }
      return change?.next ?? (current as unknown as Notification);
    },

    makeAnonymous: (userId) =>
      inBatches(collection, { user_id: userId }, (ids) =>
        collection.updateMany({ _id: { $in: ids } }, ANONYMOUS),
      ),
  };
  return { ...notificationStore, keySweeper: keys.sweeper };
}

/** The update that keeps only the data of a notification that is counted. */
const ANONYMOUS = [
  {
    $set: {
      user_id: DELETED_USER_ID,
      message: '',
      reason: null,
      attempts: [],
      job: null,
      status: { $cond: [{ $in: ['$status', ['queued', 'sending']] }, 'cancelled', '$status'] },
      version: { $add: ['$version', 1] },
    },
  },
  { $unset: ['idempotency', 'subject'] },
];

/** The stored fields of a change by a person. */
function writeChange({ priority, status }: Notification) {
  const job = status === 'cancelled' ? { job: null, reason: null } : { 'job.priority': priority };
  return { priority, status, ...job };
}

function writeNew(notification: Notification) {
  const { id: _id, priority } = notification;
  return { _id, ...notifications.write(notification), first_priority: priority };
}

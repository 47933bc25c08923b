import { newId } from '@gatehouse/core/ids';
import { createBatches } from '@gatehouse/data/batches';
import type { Connection } from 'mongoose';
import type { AttemptOutcome, Notification, NotificationStatus } from '../notification.ts';
import {
  COLLECTION,
  type NotificationDocument,
  notifications,
  SENDERS_INDEX,
  UNLEASED,
} from './notification-document.ts';

/** The job of a notification, by its number: a notification that got a new priority has a new one. */
export type JobReference = { notificationId: string; job: number };

/** An attempt that has begun: the number of it, and who may end it. */
export type HeldAttempt = JobReference & { attempt: number; holder: string };

export type AttemptStart =
  | { state: 'begun'; notification: Notification; held: HeldAttempt }
  /** An attempt before it never ended, and this one was not to be `exclusive`: nothing is counted. */
  | { state: 'exclusive' }
  /** Another process works on it, or its pause is not over; `ms` until that ends at the latest. */
  | { state: 'busy'; ms: number }
  | { state: 'ended' };

/** How an attempt ended; with `retryInMs` another follows. */
export type AttemptEnd = {
  outcome: AttemptOutcome;
  error: string | null;
  providerId: string | null;
  retryInMs?: number;
};

type FirstOfSender = {
  sender: string;
  notification: Pick<Notification, 'id' | 'job' | 'createdAt'>;
  traceparent: string | undefined;
};

type StartRequest = JobReference & { leaseMs: number; exclusive: boolean };

const MAX_ATTEMPTS_KEPT = 50;
/** Attempts that are begun or ended with one command. */
const MAX_BATCH = 100;
const OPEN_STATUSES: NotificationStatus[] = ['queued', 'sending'];

export type NotificationAttempts = ReturnType<typeof createNotificationAttempts>;

/**
 * The attempts to send notifications, counted in their documents before they are made. Every method is one atomic write of
 * the document; each raises the version, so that a cancellation that was decided upon before fails, and is decided upon
 * again. Attempts that begin or end at the same time are written with one command, of writes that the driver can retry.
 */
export function createNotificationAttempts(connection: Connection) {
  const collection = connection.collection<NotificationDocument>(COLLECTION);
  const own = ({ notificationId, job, attempt, holder }: HeldAttempt) => ({
    _id: notificationId,
    job,
    job_attempts: attempt,
    holder,
    status: 'sending' as const,
  });

  const begin = createBatches<StartRequest, AttemptStart>({
    max: MAX_BATCH,
    async run(batch) {
      const now = new Date();
      // One for each batch, which shows the attempts that this batch has started.
      const holder = newId('att');
      const isFree = { $or: [{ lease_until: null }, { lease_until: { $lte: now } }] };
      const operations = batch.map(({ notificationId: _id, job, leaseMs, exclusive }) => {
        const filter = { _id, job, status: { $in: OPEN_STATUSES }, due_at: { $lte: now }, ...isFree };
        const leaseUntil = new Date(now.getTime() + leaseMs);
        const updateOne = exclusive
          ? { filter, update: [restartUpdate(now, leaseUntil, holder)] }
          : {
              filter: { ...filter, 'attempts.outcome': { $ne: 'running' as const } },
              update: startUpdate(now, leaseUntil, holder),
            };
        return { updateOne };
      });
      await collection.bulkWrite(operations, { ordered: false });
      const found = await collection
        .find(
          { _id: { $in: batch.map(({ notificationId }) => notificationId) } },
          { projection: BEGUN_FIELDS },
        )
        .toArray();
      const documents = new Map(found.map((document) => [document._id, document]));
      const begun = new Set<string>();
      return batch.map((item) => {
        const { notificationId: id } = item;
        // An attempt that is requested twice is started once.
        const result = startResult(item, documents.get(id), begun.has(id) ? undefined : holder);
        if (result.state === 'begun') begun.add(id);
        return result;
      });
    },
  });

  const end = createBatches<{ held: HeldAttempt; end: AttemptEnd }, void>({
    max: MAX_BATCH,
    async run(batch) {
      const now = new Date();
      const operations = batch.map(({ held, end }) => ({
        updateOne: { filter: own(held), update: endUpdate(now, end), arrayFilters: RUNNING },
      }));
      await collection.bulkWrite(operations, { ordered: false });
      return batch.map(() => undefined);
    },
  });

  return {
    /** Counts an attempt and leases the notification, unless it has ended or is leased, or its pause is not over. */
    begin: (reference: JobReference, how: { leaseMs: number; exclusive: boolean }) =>
      begin({ ...reference, ...how }),

    /** Resolves to false when another process has taken over. */
    async renew(held: HeldAttempt, leaseMs: number): Promise<boolean> {
      const leaseUntil = new Date(Date.now() + leaseMs);
      const { matchedCount } = await collection.updateOne(own(held), { $set: { lease_until: leaseUntil } });
      return matchedCount === 1;
    },

    /** The notification was sent, has failed, or is queued for another attempt. */
    end: (held: HeldAttempt, how: AttemptEnd) => end({ held, end: how }),

    /** The attempt does not count; it was not made, and leaves no trace but the reason. */
    async releaseAttempt(held: HeldAttempt, reason: string, retryInMs: number): Promise<void> {
      const now = new Date();
      await collection.updateOne(own(held), {
        $inc: { version: 1, job_attempts: -1 },
        $set: { updated_at: now, status: 'queued', reason, ...UNLEASED, ...waiting(now, retryInMs) },
        $pull: { attempts: { outcome: 'running' } },
      });
    },

    /** After it has failed: it is queued again, and its attempts are counted from 1. */
    async reset({ notificationId, job }: JobReference): Promise<void> {
      const now = new Date();
      await collection.updateOne(
        { _id: notificationId, job, status: 'failed' },
        {
          $inc: { version: 1 },
          $set: { updated_at: now, status: 'queued', reason: null, job_attempts: 0, ...waiting(now, 0) },
        },
      );
    },

    /** The notification that has been due longest, of the next sender by id who has one that is due. */
    async firstOfSender(
      { type, priority }: Pick<Notification, 'type' | 'priority'>,
      after: string,
    ): Promise<FirstOfSender | undefined> {
      const found = await collection.findOne(
        { type, priority, sender: { $gt: after }, due_at: { $lte: new Date() }, status: 'queued' },
        {
          projection: { sender: 1, job: 1, created_at: 1, traceparent: 1 },
          sort: { sender: 1, due_at: 1 },
          hint: SENDERS_INDEX.options.name,
        },
      );
      if (typeof found?.sender !== 'string') return undefined;
      const { _id: id, job, created_at: createdAt, sender, traceparent } = found;
      return { sender, notification: { id, job, createdAt }, traceparent };
    },
  };
}

const RUNNING = [{ 'running.outcome': 'running' }];
const BEGUN_FIELDS = {
  ...notifications.projection,
  job_attempts: 1,
  holder: 1,
  lease_until: 1,
  due_at: 1,
} as const;

const started = (now: Date) =>
  ({ started_at: now, ended_at: null, outcome: 'running', error: null, provider_id: null }) as const;

/** The update that starts an attempt. */
function startUpdate(now: Date, leaseUntil: Date, holder: string) {
  return {
    $set: { status: 'sending' as const, updated_at: now, holder, lease_until: leaseUntil },
    $inc: { version: 1, job_attempts: 1 },
    $push: { attempts: { $each: [started(now)], $slice: -MAX_ATTEMPTS_KEPT } },
  };
}

/** The same, when an attempt before it may never have ended: that is marked as unknown. */
function restartUpdate(now: Date, leaseUntil: Date, holder: string) {
  const interrupted = {
    outcome: 'unknown',
    ended_at: now,
    error: 'The attempt was interrupted.',
  };
  const earlier = {
    $map: {
      input: '$attempts',
      as: 'attempt',
      in: {
        $cond: [
          { $eq: ['$$attempt.outcome', 'running'] },
          { $mergeObjects: ['$$attempt', interrupted] },
          '$$attempt',
        ],
      },
    },
  };
  return {
    $set: {
      status: 'sending',
      version: { $add: ['$version', 1] },
      updated_at: now,
      holder,
      lease_until: leaseUntil,
      job_attempts: { $add: ['$job_attempts', 1] },
      attempts: { $slice: [{ $concatArrays: [earlier, [started(now)]] }, -MAX_ATTEMPTS_KEPT] },
    },
  };
}

/** Whether the attempt has started, by its document after the write. */
function startResult(
  { notificationId, job, exclusive }: StartRequest,
  document: NotificationDocument | undefined,
  holder: string | undefined,
): AttemptStart {
  if (document === undefined || document.job !== job || !OPEN_STATUSES.includes(document.status)) {
    return { state: 'ended' };
  }
  if (holder !== undefined && document.holder === holder) {
    const held = { notificationId, job, attempt: document.job_attempts, holder };
    return { state: 'begun', notification: notifications.read(document), held };
  }
  const until = Math.max(document.due_at.getTime(), document.lease_until?.getTime() ?? 0);
  const ms = until - Date.now();
  return ms <= 0 && !exclusive ? { state: 'exclusive' } : { state: 'busy', ms: Math.max(1, ms) };
}

/** The update that ends an attempt. */
function endUpdate(now: Date, { outcome, error, providerId, retryInMs }: AttemptEnd) {
  const next: Partial<NotificationDocument> =
    retryInMs === undefined
      ? { status: outcome === 'accepted' ? 'sent' : 'failed', check_at: null, sender: null }
      : { status: 'queued', ...waiting(now, retryInMs) };
  return {
    $inc: { version: 1 },
    $set: {
      updated_at: now,
      ...next,
      reason: error,
      ...UNLEASED,
      'attempts.$[running].outcome': outcome,
      'attempts.$[running].ended_at': now,
      'attempts.$[running].error': error,
      'attempts.$[running].provider_id': providerId,
    },
  };
}

function waiting(now: Date, ms: number) {
  const dueAt = new Date(now.getTime() + ms);
  return { due_at: dueAt, check_at: dueAt };
}

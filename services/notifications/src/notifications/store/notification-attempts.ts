import { randomUUID } from 'node:crypto';
import { outboxEvent } from '@gatehouse/mongo/outbox';
import type { Connection } from 'mongoose';
import type { AttemptOutcome, Notification, NotificationStatus } from '../notification.ts';
import {
  COLLECTION,
  endedEvent,
  NOTIFICATION_FIELDS,
  type NotificationDocument,
  readNotification,
  UNENDED_INDEX,
} from './notification-document.ts';

/** The job of a notification, by its number: a notification that got a new priority has a new one. */
export type JobReference = { notificationId: string; job: number };

export type BegunAttempt =
  | { state: 'begun'; notification: Notification; attempt: number }
  /** An attempt before it never ended, and this one was not to be `alone`: nothing is counted. */
  | { state: 'alone' }
  /** Another process works on it, or its pause is not over; `ms` until that ends at the latest. */
  | { state: 'busy'; ms: number }
  | { state: 'ended' };

/** How an attempt ended; with `retryInMs` another follows. */
export type AttemptEnd = {
  /** The notification as it was when the attempt began. */
  notification: Notification;
  outcome: AttemptOutcome;
  error: string | null;
  providerId: string | null;
  retryInMs?: number;
};

/** The longest time between two checks whether the job of a notification is still there. */
export const MAX_PAUSE_MS = 3_600_000;
const MAX_ATTEMPTS_KEPT = 50;
const UNENDED: NotificationStatus[] = ['queued', 'sending'];

export type NotificationAttempts = ReturnType<typeof createNotificationAttempts>;

/**
 * The attempts to send notifications, counted in their documents before they are made. Every method is one atomic write;
 * each raises the version, so that a cancellation that was decided upon before fails, and is decided upon anew.
 */
export function createNotificationAttempts(connection: Connection) {
  const collection = connection.collection<NotificationDocument>(COLLECTION);
  /** Of this process: what it began, no other ends. */
  const holder = randomUUID();

  /** The fields that every write sets. */
  const revised = (now: Date) => ({ $inc: { version: 1 }, $set: { updated_at: now } });
  const held = ({ notificationId, job }: JobReference, attempt: number) => ({
    ...{ _id: notificationId, job, job_attempts: attempt, holder, status: 'sending' as const },
  });

  return {
    /** Counts an attempt and leases the notification, unless it has ended or is leased, or its pause is not over. */
    async begin(
      { notificationId, job }: JobReference,
      { leaseMs, alone }: { leaseMs: number; alone: boolean },
    ): Promise<BegunAttempt> {
      const now = new Date();
      const leaseUntil = new Date(now.getTime() + leaseMs);
      const isFree = { $or: [{ lease_until: null }, { lease_until: { $lte: now } }] };
      const mayBegin = alone ? {} : { 'attempts.outcome': { $ne: 'running' } };
      const before = await collection.findOneAndUpdate(
        { _id: notificationId, job, status: { $in: UNENDED }, due_at: { $lte: now }, ...isFree, ...mayBegin },
        [beginning(now, leaseUntil, holder)],
        {
          returnDocument: 'before',
          projection: { ...NOTIFICATION_FIELDS, version: 1, updated_at: 1, job_attempts: 1 },
        },
      );
      if (before !== null) {
        return {
          state: 'begun',
          notification: readNotification(before),
          attempt: before.job_attempts + 1,
        };
      }
      const found = await collection.findOne(
        { _id: notificationId, job, status: { $in: UNENDED } },
        { projection: { lease_until: 1, due_at: 1 } },
      );
      if (found === null) return { state: 'ended' };
      const until = Math.max(found.due_at.getTime(), found.lease_until?.getTime() ?? 0);
      const ms = until - Date.now();
      return ms <= 0 && !alone ? { state: 'alone' } : { state: 'busy', ms: Math.max(1, ms) };
    },

    /** Resolves to false when another process has taken over. */
    async renew(reference: JobReference, attempt: number, leaseMs: number): Promise<boolean> {
      const leaseUntil = new Date(Date.now() + leaseMs);
      const { matchedCount } = await collection.updateOne(held(reference, attempt), {
        $set: { lease_until: leaseUntil },
      });
      return matchedCount === 1;
    },

    /** The notification was sent, has failed, or is queued for another attempt. */
    async end(reference: JobReference, attempt: number, end: AttemptEnd): Promise<void> {
      const { notification, outcome, error, providerId, retryInMs } = end;
      const now = new Date();
      const status = outcome === 'accepted' ? 'sent' : 'failed';
      const next: Partial<NotificationDocument> =
        retryInMs === undefined
          ? { status, check_at: null }
          : { status: 'queued', ...waiting(now, retryInMs) };
      const { $inc, $set } = revised(now);
      // The beginning raised the version, and so does this.
      const ended = endedEvent(notification, status, notification.version + 2);
      await collection.updateOne(
        held(reference, attempt),
        {
          $inc,
          ...(retryInMs === undefined ? { $push: { outbox: outboxEvent(ended.subject, ended.data) } } : {}),
          $set: {
            ...$set,
            ...next,
            ...{ reason: error, holder: null, lease_until: null },
            'attempts.$[running].outcome': outcome,
            'attempts.$[running].ended_at': now,
            'attempts.$[running].error': error,
            'attempts.$[running].provider_id': providerId,
          },
        },
        { arrayFilters: [{ 'running.outcome': 'running' }] },
      );
    },

    /** The attempt does not count; it was not made, and leaves no trace but the reason. */
    async takeBack(reference: JobReference, attempt: number, reason: string, retryInMs: number) {
      const now = new Date();
      await collection.updateOne(held(reference, attempt), {
        $inc: { version: 1, job_attempts: -1 },
        $set: {
          ...{ updated_at: now, status: 'queued', reason, holder: null, lease_until: null },
          ...waiting(now, retryInMs),
        },
        $pull: { attempts: { outcome: 'running' } },
      });
    },

    /** After it has failed: it is queued again, and its attempts are counted from 1. */
    async reset({ notificationId, job }: JobReference): Promise<void> {
      const now = new Date();
      const { $inc, $set } = revised(now);
      await collection.updateOne(
        { _id: notificationId, job, status: 'failed' },
        {
          $inc,
          $set: { ...$set, status: 'queued', reason: null, job_attempts: 0, ...waiting(now, 0) },
        },
      );
    },

    /** How many have not ended. */
    countUnended: () => collection.countDocuments(UNENDED_INDEX.options.partialFilterExpression),

    /**
     * Those that were to be checked at this time, `limit` at most. They are to be checked again after half of their age, an
     * hour at most.
     */
    async overdue(at: Date, limit: number): Promise<Notification[]> {
      const now = new Date();
      const found = await collection
        .find(
          { check_at: { $gt: new Date(0), $lte: at } },
          {
            projection: { ...NOTIFICATION_FIELDS, updated_at: 1, version: 1 },
            sort: { check_at: 1 },
            limit,
            hint: UNENDED_INDEX.options.name,
          },
        )
        .toArray();
      const ids = found.map(({ _id }) => _id);
      const halfOfAge = { $max: [0, { $divide: [{ $subtract: [now, '$created_at'] }, 2] }] };
      await collection.updateMany({ _id: { $in: ids }, check_at: { $gt: new Date(0) } }, [
        { $set: { check_at: { $add: [now, { $min: [MAX_PAUSE_MS, halfOfAge] }] } } },
      ]);
      return found.map(readNotification);
    },
  };
}

/** What an attempt begins with: an attempt before it that never ended is marked as unknown. */
function beginning(now: Date, leaseUntil: Date, holder: string) {
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
  const started = { started_at: now, ended_at: null, outcome: 'running', error: null, provider_id: null };
  return {
    $set: {
      status: 'sending',
      version: { $add: ['$version', 1] },
      updated_at: now,
      holder,
      lease_until: leaseUntil,
      job_attempts: { $add: ['$job_attempts', 1] },
      attempts: { $slice: [{ $concatArrays: [earlier, [started]] }, -MAX_ATTEMPTS_KEPT] },
    },
  };
}

function waiting(now: Date, ms: number) {
  const dueAt = new Date(now.getTime() + ms);
  return { due_at: dueAt, check_at: dueAt };
}

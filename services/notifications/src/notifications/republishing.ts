import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { JobQueue } from '@gatehouse/events/job-queue';
import type { Notification } from './notification.ts';
import type { NotificationAttempts } from './store/notification-attempts.ts';
import type { JobEventOf } from './store/notification-store.ts';

const EVERY_MS = 30_000;
/** How long a notification may be overdue before its job is taken for lost, and then published again. */
const OVERDUE_MS = 60_000;
/** The number of jobs published again by one sweep: more when more are missing from the queue. */
const BATCH = { min: 500, max: 20_000 };
/** The longest time between two checks whether the job of a notification is still there. */
const MAX_PAUSE_MS = 3_600_000;
const CONCURRENCY = 50;

/**
 * Publishes the jobs of notifications again that should have ended by now: the queue may have lost them, with its store
 * for example. A job that is still there is recognized by its id, or by the notification when it is worked on.
 */
export function createRepublisher(options: {
  attempts: Pick<NotificationAttempts, 'countOpen' | 'overdue'>;
  queue: Pick<JobQueue, 'publish' | 'depth'>;
  jobEvent: JobEventOf;
  logger: Logger;
  everyMs?: number;
  overdueMs?: number;
}): PeriodicTask {
  const { attempts, queue, jobEvent, logger, everyMs = EVERY_MS, overdueMs = OVERDUE_MS } = options;

  async function publishAll(notifications: readonly Notification[], signal: AbortSignal): Promise<void> {
    for (let i = 0; i < notifications.length && !signal.aborted; i += CONCURRENCY) {
      const some = notifications.slice(i, i + CONCURRENCY);
      await Promise.all(some.map((each) => queue.publish({ ...jobEvent(each), at: new Date() })));
    }
  }

  return createPeriodicTask({
    async run(signal) {
      const open = await attempts.countOpen();
      if (open === 0) return;
      const depth = await queue.depth();
      const queued = depth.reduce((sum, { waiting, inFlight }) => sum + waiting + inFlight, 0);
      const missing = open - queued;
      const limit = Math.min(Math.max(missing, BATCH.min), BATCH.max);
      // When fewer jobs are there than notifications, those that were to be checked later may be lost, too.
      const aheadMs = missing > BATCH.min ? MAX_PAUSE_MS : -overdueMs;
      const overdue = await attempts.overdue(new Date(Date.now() + aheadMs), limit, MAX_PAUSE_MS);
      if (overdue.length === 0) return;
      await publishAll(overdue, signal);
      logger.info({ count: overdue.length, open, queued }, 'jobs that are overdue were published again');
    },
    everyMs,
    onError: (error) =>
      logger.warn({ err: error }, 'overdue jobs were not published again; the next sweep will'),
  });
}

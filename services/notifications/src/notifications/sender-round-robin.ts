import type { Job, Priority } from '@gatehouse/events/job';
import type { Notification, NotificationType } from './notification.ts';
import type { NotificationAttempts } from './store/notification-attempts.ts';

/** The event that is the current job of a notification; its id is the same whenever it is made. */
export type JobEventOf = (notification: Pick<Notification, 'id' | 'job' | 'type' | 'priority'>) => {
  subject: string;
  data: Record<string, unknown>;
  id: string;
};

/** How long no other sender is looked for while all waiting notifications are of one sender. */
const SINGLE_SENDER_MS = 250;

/**
 * Serves senders round-robin: thousands of notifications of one sender do not delay those of others. Of each sender, the
 * oldest is sent first. Returns the jobs that a worker of the type takes ahead of the queue.
 */
export function createSenderRoundRobin(options: {
  attempts: Pick<NotificationAttempts, 'firstOfSender'>;
  queue: string;
  jobEvent: JobEventOf;
}): (type: NotificationType) => (priority: Priority, max: number) => Promise<Job[]> {
  const { attempts, queue, jobEvent } = options;

  function jobOf(it: Pick<Notification, 'id' | 'job' | 'createdAt' | 'type' | 'priority'>): Job {
    const { id, data } = jobEvent(it);
    return { id, data, at: it.createdAt, queue, priority: it.priority, lane: it.type };
  }

  return (type) => {
    /** By priority: the sender served last, and until when no other is looked for. */
    const cursors = new Map<Priority, { last: string; singleUntil: number }>();

    return async (priority, max) => {
      const cursor = cursors.get(priority) ?? { last: '', singleUntil: 0 };
      cursors.set(priority, cursor);
      if (cursor.singleUntil > performance.now()) return [];
      const jobs = new Map<string, Job>();
      while (jobs.size < max) {
        const lane = { type, priority };
        const next =
          (await attempts.firstOfSender(lane, cursor.last)) ?? (await attempts.firstOfSender(lane, ''));
        if (next === undefined || next.sender === cursor.last) {
          cursor.singleUntil = performance.now() + SINGLE_SENDER_MS;
          break;
        }
        if (jobs.has(next.sender)) break;
        // The first sender that is found may be the only one.
        const isFirst = cursor.last === '';
        cursor.last = next.sender;
        const { sender, notification, traceparent } = next;
        if (!isFirst) jobs.set(sender, { ...jobOf({ ...notification, ...lane }), traceparent });
      }
      return [...jobs.values()];
    };
  };
}

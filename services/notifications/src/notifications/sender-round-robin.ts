import type { Job, Priority } from '@gatehouse/events/job';
import type { Notification, NotificationType } from './notification.ts';
import type { NotificationAttempts } from './store/notification-attempts.ts';

/** The event that is the current job of a notification; its id is the same whenever it is made. */
export type JobEventOf = (notification: Pick<Notification, 'id' | 'job' | 'type' | 'priority'>) => {
  subject: string;
  data: Record<string, unknown>;
  id: string;
};

/** How long it is not looked for others while all that waits is of one sender. */
const ALONE_MS = 250;

/**
 * Lets senders take turns: what one of them has queued by the thousand does not keep what others send from being sent next.
 * Of each sender, what waits longest comes first. Returns what a worker of the type takes ahead of the queue.
 */
export function createSenderTurns(options: {
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
    /** By priority: who has had the last turn, and until when nobody else is looked for. */
    const turns = new Map<Priority, { last: string; aloneUntil: number }>();

    return async (priority, max) => {
      const turn = turns.get(priority) ?? { last: '', aloneUntil: 0 };
      turns.set(priority, turn);
      if (turn.aloneUntil > performance.now()) return [];
      const jobs = new Map<string, Job>();
      while (jobs.size < max) {
        const lane = { type, priority };
        const next =
          (await attempts.firstOfSender(lane, turn.last)) ?? (await attempts.firstOfSender(lane, ''));
        if (next === undefined || next.sender === turn.last) {
          turn.aloneUntil = performance.now() + ALONE_MS;
          break;
        }
        if (jobs.has(next.sender)) break;
        // The first one that is seen may be alone.
        const isFirst = turn.last === '';
        turn.last = next.sender;
        const { sender, notification, traceparent } = next;
        if (!isFirst) jobs.set(sender, { ...jobOf({ ...notification, ...lane }), traceparent });
      }
      return [...jobs.values()];
    };
  };
}

import type { Begun, Job, JobLedger, Outcome } from '@gatehouse/events/job';
import type { AttemptOutcome, Notification } from './notification.ts';
import type { HeldAttempt, JobReference, NotificationAttempts } from './store/notification-attempts.ts';

/** An attempt of this process that has not ended. */
export type CurrentAttempt = {
  readonly notification: Notification;
  /** Whether the provider may have the message by now. */
  mayBeAccepted: boolean;
  /** The id that the provider gave the message. */
  providerId: string | null;
};

/** Counts the attempts of the jobs that are notifications in the notifications themselves. */
export type AttemptLedger = JobLedger & {
  /** The attempt that this process has begun and not ended. */
  currentAttempt(job: Job): CurrentAttempt;
};

/** The reference in the data of a job. */
export function referenceOf({ data }: Pick<Job, 'data'>): JobReference {
  return { notificationId: String(data.notification), job: Number(data.job) };
}

/** @param options.onOutcome gets the outcome of each attempt that counts */
export function createAttemptLedger(options: {
  attempts: NotificationAttempts;
  onOutcome: (notification: Notification, outcome: AttemptOutcome) => void;
}): AttemptLedger {
  const { attempts, onOutcome } = options;
  const current = new Map<string, CurrentAttempt & { held: HeldAttempt }>();

  async function begin(job: Job, how: { leaseMs: number; alone: boolean }): Promise<Begun> {
    const begun = await attempts.begin(referenceOf(job), how);
    if (begun.state === 'busy') return { busyMs: begun.ms };
    if (begun.state !== 'begun') return begun.state;
    const { notification, held } = begun;
    current.set(job.id, { notification, held, mayBeAccepted: false, providerId: null });
    return { attempt: held.attempt };
  }

  async function end(job: Job, _attempt: number, outcome: Outcome): Promise<void> {
    const found = current.get(job.id);
    if (found === undefined) throw new Error('the attempt has not begun');
    const { notification, held, mayBeAccepted, providerId } = found;
    const error = outcome.result === 'succeeded' ? null : outcome.error;
    if (outcome.result === 'postponed' && !mayBeAccepted) {
      await attempts.takeBack(held, outcome.error, outcome.retryInMs);
    } else {
      const recorded = recordedOutcome(outcome, mayBeAccepted);
      const retry = 'retryInMs' in outcome ? { retryInMs: outcome.retryInMs } : {};
      await attempts.end(held, { outcome: recorded, error, providerId, ...retry });
      onOutcome(notification, recorded);
    }
    current.delete(job.id);
  }

  return {
    begin,
    async renew(job, _attempt, leaseMs) {
      const held = current.get(job.id)?.held;
      const isHeld = held !== undefined && (await attempts.renew(held, leaseMs));
      // Another process has it, and ends it.
      if (!isHeld) current.delete(job.id);
      return isHeld;
    },
    end,
    reset: (job) => attempts.reset(referenceOf(job)),
    currentAttempt(job) {
      const found = current.get(job.id);
      if (found === undefined) throw new Error('the attempt has not begun');
      return found;
    },
  };
}

function recordedOutcome({ result }: Outcome, mayBeAccepted: boolean): AttemptOutcome {
  if (result === 'succeeded') return 'accepted';
  if (result === 'rejected') return 'rejected';
  return mayBeAccepted ? 'unknown' : 'failed';
}

import type { BeginResult, Job, JobStateStore, Outcome } from '@gatehouse/events/job';
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
export type NotificationJobStates = JobStateStore & {
  /** The attempt of this number, which this process has begun and not ended. */
  currentAttempt(job: Job, attempt: number): CurrentAttempt;
};

/** The reference in the data of a job. */
export function referenceOf({ data }: Pick<Job, 'data'>): JobReference {
  return { notificationId: String(data.notification), job: Number(data.job) };
}

/**
 * @param options.onEnding called before the end is recorded, so that it is certain; it may be called again
 * @param options.onOutcome gets the outcome of each attempt, `postponed` for one that does not count
 */
export function createNotificationJobStates(options: {
  attempts: NotificationAttempts;
  onOutcome: (notification: Notification, outcome: AttemptOutcome | 'postponed') => void;
  onEnding?: (notification: Notification, status: 'sent' | 'failed') => Promise<void>;
}): NotificationJobStates {
  const { attempts, onOutcome } = options;
  /** A process that was held up for longer than its lease may have two of one job. */
  const current = new Map<string, CurrentAttempt & { held: HeldAttempt }>();
  const keyOf = ({ id }: Job, attempt: number) => `${id} ${attempt}`;

  function currentAttempt(job: Job, attempt: number): CurrentAttempt & { held: HeldAttempt } {
    const found = current.get(keyOf(job, attempt));
    if (found === undefined) throw new Error('the attempt has not begun');
    return found;
  }

  async function begin(job: Job, how: { leaseMs: number; exclusive: boolean }): Promise<BeginResult> {
    const begun = await attempts.begin(referenceOf(job), how);
    if (begun.state === 'busy') return { busyMs: begun.ms };
    if (begun.state !== 'begun') return begun.state;
    const { notification, held } = begun;
    current.set(keyOf(job, held.attempt), { notification, held, mayBeAccepted: false, providerId: null });
    return { attempt: held.attempt };
  }

  async function end(job: Job, attempt: number, outcome: Outcome): Promise<void> {
    const { notification, held, mayBeAccepted, providerId } = currentAttempt(job, attempt);
    const error = outcome.result === 'succeeded' ? null : outcome.error;
    if (outcome.result === 'postponed' && !mayBeAccepted) {
      await attempts.releaseAttempt(held, outcome.error, outcome.retryInMs);
      onOutcome(notification, outcome.result);
    } else {
      const recorded = recordedOutcome(outcome, mayBeAccepted);
      const retry = 'retryInMs' in outcome ? { retryInMs: outcome.retryInMs } : {};
      if (!('retryInMs' in outcome)) {
        await options.onEnding?.(notification, recorded === 'accepted' ? 'sent' : 'failed');
      }
      await attempts.end(held, { outcome: recorded, error, providerId, ...retry });
      onOutcome(notification, recorded);
    }
    current.delete(keyOf(job, attempt));
  }

  return {
    begin,
    async renew(job, attempt, leaseMs) {
      const held = current.get(keyOf(job, attempt))?.held;
      const isHeld = held !== undefined && (await attempts.renew(held, leaseMs));
      // Another process has it, and ends it.
      if (!isHeld) current.delete(keyOf(job, attempt));
      return isHeld;
    },
    end,
    reset: (job) => attempts.reset(referenceOf(job)),
    currentAttempt,
  };
}

function recordedOutcome({ result }: Outcome, mayBeAccepted: boolean): AttemptOutcome {
  if (result === 'succeeded') return 'accepted';
  if (result === 'rejected') return 'rejected';
  return mayBeAccepted ? 'unknown' : 'failed';
}

import type { Database } from '@gatehouse/data/database';
import type { Outcome } from '@gatehouse/events/job';
import type { JobKind } from '@gatehouse/events/job-kind';
import type { AttemptOutcome } from './notification.ts';
import { COLLECTION, type NotificationDocument } from './store/notification-document.ts';

/** The result of an attempt to send. */
export type SendingResult = {
  /** Whether the provider may have the message. */
  mayBeAccepted: boolean;
  /** The id that the provider gave the message. */
  providerId: string | null;
  /** Whether its senders may send no longer. */
  isCancelled?: boolean;
};

const MAX_ATTEMPTS_KEPT = 50;
const IS_RUNNING = { $eq: ['$$attempt.outcome', 'running'] };
const INTERRUPTED = { outcome: 'unknown', error: 'The attempt was interrupted.' };
const VERSION = { $add: ['$version', 1] };

/** The jobs that are notifications: their attempts are listed in their documents. */
export function notificationJobs({
  connection,
}: Pick<Database, 'connection'>): JobKind<NotificationDocument, SendingResult> {
  return {
    collection: connection.collection(COLLECTION),
    noun: 'notification',
    mayEndProcess: true,
    begun(now) {
      const started = { started_at: now, ended_at: null, outcome: 'running', error: null, provider_id: null };
      const earlier = eachAttempt({
        $cond: [IS_RUNNING, merged({ ...INTERRUPTED, ended_at: now }), '$$attempt'],
      });
      const attempts = { $slice: [{ $concatArrays: [earlier, [started]] }, -MAX_ATTEMPTS_KEPT] };
      return { status: 'sending', updated_at: now, version: VERSION, attempts };
    },
    changesOf(_job, { outcome, result, now }) {
      const recorded = recordedOutcome(outcome, result);
      const error = outcome.result === 'succeeded' ? null : outcome.error;
      const ended = recorded === 'cancelled' ? recorded : recorded === 'accepted' ? 'sent' : 'failed';
      const status = 'retryInMs' in outcome ? 'queued' : ended;
      const attempt =
        recorded === 'postponed' || recorded === 'cancelled'
          ? null
          : { outcome: recorded, ended_at: now, error, provider_id: result?.providerId ?? null };
      return { set: { status, updated_at: now, reason: error }, change: { attempt } };
    },
    applied: {
      version: VERSION,
      // One that was postponed or cancelled was not made.
      attempts: {
        $cond: [
          { $eq: ['$$change.attempt', null] },
          { $filter: { input: '$attempts', as: 'attempt', cond: { $not: IS_RUNNING } } },
          eachAttempt({ $cond: [IS_RUNNING, merged('$$change.attempt'), '$$attempt'] }),
        ],
      },
    },
    wasMade: (result) => result?.mayBeAccepted === true,
    reset: { status: 'queued', reason: null },
  };
}

const eachAttempt = (expression: unknown) => ({
  $map: { input: '$attempts', as: 'attempt', in: expression },
});
const merged = (fields: unknown) => ({ $mergeObjects: ['$$attempt', fields] });

/** The record of an attempt. One that was postponed counts if the provider may have the message. */
export function recordedOutcome(
  { result }: Outcome,
  { mayBeAccepted = false, isCancelled = false }: Partial<SendingResult> = {},
): AttemptOutcome | 'postponed' | 'cancelled' {
  if (isCancelled) return 'cancelled';
  if (result === 'succeeded') return 'accepted';
  if (result === 'rejected') return 'rejected';
  if (mayBeAccepted) return 'unknown';
  return result === 'postponed' ? result : 'failed';
}

import type { Logger } from '@gatehouse/core/logger';
import { type JobHandler, PermanentError, PostponedError, RetryLaterError } from '@gatehouse/events/job';
import type { Channel } from './channels/channel.ts';
import type { ProviderSettings } from './channels/create-channels.ts';
import { ProviderError } from './channels/provider.ts';
import { withDeadline } from './deadline.ts';
import type { Notification } from './notification.ts';
import type { SendingResult } from './notification-jobs.ts';
import type { SenderAuthority } from './sender-authority.ts';
import { type NotificationDocument, notifications } from './store/notification-document.ts';

/** How notifications are sent. */
export type SendingSettings = {
  providers: ProviderSettings;
  /** The number of messages of each type that this process sends at a time; 0 for none. */
  slots: number;
  // The times below, all in milliseconds, are no settings: only tests have others than the defaults.
  /** The pause after the first failed attempt, and the longest one. */
  backoffMs?: { first: number; max: number };
  /** How long a provider has to respond. */
  responseTimeoutMs?: number;
  /** After this time, another process takes over the messages of a process that was killed. */
  leaseMs?: number;
};

/** The pause before identity is asked again about the senders when it cannot be reached, in milliseconds. */
const AUTHORITY_MS = 5000;
/** How long a notification waits for a provider that cannot be reached, in milliseconds. */
const MAX_WAIT_MS = 72 * 3_600_000;
/** How long a provider has to respond, in milliseconds; less than the time of an attempt. */
export const RESPONSE_MS = 20_000;
export const ATTEMPT_MS = 30_000;

/** The handler of the jobs that are notifications: sends them by the channel of their type. */
export function createSender(options: {
  channels: ReadonlyMap<Notification['type'], Channel>;
  logger: Logger;
  responseTimeoutMs?: number;
  authority: Pick<SenderAuthority, 'holds'>;
}): JobHandler<NotificationDocument, SendingResult> {
  const { channels, logger, authority, responseTimeoutMs = RESPONSE_MS } = options;
  return async ({ document }, { signal, note }) => {
    const notification = notifications.read(document);
    const result: SendingResult = { mayBeAccepted: false, providerId: null };
    note(result);
    const channel = channels.get(notification.type);
    if (channel === undefined) throw new Error(`no provider is set up for ${notification.type}`);
    const holds = await authority.holds(document.job?.senders ?? []).catch((error: unknown) => {
      const message = 'The identity service cannot be reached at the moment.';
      throw new PostponedError(message, AUTHORITY_MS, { cause: error });
    });
    if (!holds) {
      result.isCancelled = true;
      throw new PermanentError('Its sender may not send notifications any more, or has ended all access.');
    }
    const mayBeAccepted = (may: boolean) => {
      result.mayBeAccepted = may;
    };
    try {
      const { providerId } = await withDeadline(
        responseTimeoutMs,
        (inTime) => channel.send(notification, { signal: inTime, mayBeAccepted }),
        signal,
      );
      result.providerId = providerId;
    } catch (error) {
      const waitedMs = Date.now() - notification.createdAt.getTime();
      if (!isUserFacing(error)) {
        logger.warn({ err: error, notification: notification.id }, 'a notification could not be sent');
        throw new Error('The message could not be sent.', { cause: error });
      }
      if (!(error instanceof PostponedError) || waitedMs < MAX_WAIT_MS) throw error;
      throw new PermanentError(`It has waited for three days. ${error.message}`, { cause: error });
    }
  };
}

/** Whether the message of an error is written for those who see the notification; others may name hosts and paths. */
function isUserFacing(error: unknown): boolean {
  const kinds = [ProviderError, PermanentError, PostponedError, RetryLaterError];
  return kinds.some((kind) => error instanceof kind);
}

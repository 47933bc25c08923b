import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { PushSubscription, PushSubscriptionStore } from './push-subscription.ts';

/** Identity takes no more credentials in a request. */
const PAGE = 50;
/** How long a credential that is in force is not asked about again. */
const CHECKED_MS = 86_400_000;
const INTERVAL_MS = 600_000;
/** When identity is asked again after it could not be. */
const RETRY_MS = 60_000;
/** Between two pages, so that identity and users have time for others. */
const PAUSE_MS = 100;

/**
 * Ends push subscriptions whose credentials ended while nobody listened. Revocations are forgotten once the tokens that they
 * end have expired, so that a service that was away for longer never hears of them. It therefore asks identity about every
 * credential once a day, and about all of them when it starts. Nothing is removed while identity cannot be asked.
 *
 * @param options.identity a client of the internal routes of identity
 */
export function createEndedSubscriptions(options: {
  store: Pick<PushSubscriptionStore, 'longestUnchecked' | 'checked' | 'removeUnchanged'>;
  identity: InternalClient;
  logger: Logger;
  retryMs?: number;
}): PeriodicTask {
  const { store, identity, logger, retryMs = RETRY_MS } = options;
  const startedAt = Date.now();
  let isComplete = false;

  /** Whether the credential of each has ended. */
  async function haveEnded(subscriptions: readonly PushSubscription[]): Promise<boolean[]> {
    const credentials = subscriptions.map(({ userId, by }) => ({
      client_id: by.clientId,
      user_id: userId,
      grant_id: by.grantId,
      epoch: by.epoch,
    }));
    const { status, body } = await identity.request('POST', '/ended-credentials', { credentials });
    const { ended } = Object(body) as { ended?: unknown };
    if (status === 200 && Array.isArray(ended) && ended.length === credentials.length) {
      return ended.map((it) => it === true);
    }
    throw unavailable(
      'The identity service cannot answer at the moment.',
      new Error(`unexpected answer, status ${status}`),
    );
  }

  async function checkAll(signal: AbortSignal): Promise<void> {
    const before = new Date(Math.max(startedAt, Date.now() - CHECKED_MS));
    for (;;) {
      const page = await store.longestUnchecked(before, PAGE);
      if (page.length === 0 || signal.aborted) return;
      const ended = await haveEnded(page);
      const inForce = page.filter((_, i) => !ended[i]);
      await store.removeUnchanged(page.filter((_, i) => ended[i]));
      // Not before the time asked for, even when the clock is set back: no page comes twice.
      await store.checked(inForce, new Date(Math.max(Date.now(), before.getTime())));
      if (page.length === PAGE) await sleep(PAUSE_MS, undefined, { signal });
    }
  }

  return createPeriodicTask({
    immediately: true,
    async run(signal) {
      isComplete = false;
      await checkAll(signal);
      isComplete = true;
    },
    everyMs: () => (isComplete ? INTERVAL_MS : retryMs),
    onError: (error) => logger.warn({ err: error }, 'push subscriptions were not checked; trying again'),
  });
}

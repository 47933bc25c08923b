import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Revocation } from '@gatehouse/verify/revocations';
import type { PushSubscriptionStore, Revoked } from './push-subscription.ts';

const BATCH = 200;
/** When removing is tried again after it has failed. */
const RETRY_MS = 1000;
const IDLE_MS = 3_600_000;

/**
 * Ends push subscriptions together with the credentials that registered them. A revocation is known to every replica for as
 * long as tokens live, so that one that comes while the database is away, or before it is connected, is not lost.
 */
export function createRevokedSubscriptions(
  store: Pick<PushSubscriptionStore, 'removeRevoked'>,
  { logger }: { logger: Logger },
): PeriodicTask & { add(revocation: Revocation): void } {
  const due = new Map<string, Revoked>();

  const task = createPeriodicTask({
    immediately: true,
    async run() {
      while (due.size > 0) {
        const batch = [...due].slice(0, BATCH);
        await store.removeRevoked(batch.map(([, revoked]) => revoked));
        for (const [key] of batch) due.delete(key);
      }
    },
    everyMs: () => (due.size > 0 ? RETRY_MS : IDLE_MS),
    onError: (error) => logger.warn({ err: error }, 'push subscriptions were not ended; trying again'),
  });

  return {
    ...task,
    add({ kind, id, epoch }) {
      if (kind !== 'grant' && kind !== 'client' && kind !== 'subject') return;
      due.set(`${kind} ${id} ${epoch}`, { kind, id, ...(epoch === undefined ? {} : { epoch }) });
      task.wake();
    },
  };
}

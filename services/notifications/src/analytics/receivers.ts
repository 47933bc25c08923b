import { setTimeout as sleep } from 'node:timers/promises';
import type { ResourceContext } from '@gatehouse/api/resource/create-resource-service';
import { ServiceError } from '@gatehouse/core/errors';
import { createStreamConsumer } from '@gatehouse/events/jetstream-consumer';
import { usageSubject } from '@gatehouse/events/usage-batch';
import type { Ingest } from './ingest.ts';

const USAGE = usageSubject('*');
const ORDERS = 'commerce.order.*';
const HOUR_MS = 3_600_000;
const PREPARED_WITHIN_MS = 3000;

/**
 * Passes on what arrives from other services: within this process, or from streams of NATS. A message is acknowledged when
 * it has been stored; what arrives within this process before the database is there waits for it, and is refused if it takes
 * longer, as it may never come: a process can be stopped while it starts. Those of NATS are to be started.
 */
export function receivers(
  options: { ingest: Ingest; prepared: Promise<void> } & Pick<
    ResourceContext,
    'subscribe' | 'nats' | 'logger'
  >,
): { start(): void; stop(): Promise<void> }[] {
  const { ingest, prepared, subscribe, nats, logger } = options;
  const takeUsage = ({ subject, data }: { subject: string; data: Record<string, unknown> }) =>
    ingest.takeUsage(subject.split('.').at(-1) ?? '', data);
  if (subscribe !== undefined) {
    subscribe(USAGE, async (event) => {
      await inTime(prepared);
      await takeUsage(event);
    });
    subscribe(ORDERS, async (event) => {
      await inTime(prepared);
      await ingest.takeOrder(event);
    });
    return [];
  }
  if (nats === undefined) return [];
  return [
    createStreamConsumer({
      connection: nats,
      logger,
      // The counters rely on the order of each sender's batches.
      stream: { name: 'ANALYTICS', subject: USAGE, maxAgeMs: 6 * HOUR_MS, inOrder: true },
      durable: 'notifications',
      handle: takeUsage,
    }),
    createStreamConsumer({
      connection: nats,
      logger,
      stream: { name: 'COMMERCE', account: 'COMMERCE' },
      durable: 'notifications_analytics',
      handle: ingest.takeOrder,
    }),
  ];
}

/** Rejects with `unavailable` when it takes longer than PREPARED_WITHIN_MS. */
async function inTime(prepared: Promise<void>): Promise<void> {
  const late = sleep(PREPARED_WITHIN_MS, true, { ref: false });
  if (await Promise.race([prepared, late])) {
    throw new ServiceError('unavailable', 'Analytics is not ready yet.');
  }
}

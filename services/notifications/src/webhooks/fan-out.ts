import type { Logger } from '@gatehouse/core/logger';
import { createBatches } from '@gatehouse/data/batches';
import type { JobState } from '@gatehouse/data/job-document';
import type { StoredEvent } from '../events/event.ts';
import { mayRead, type ReadingRights } from '../events/reading-rights.ts';
import type { Backlogs } from './backlogs.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { deliveryOwnerOf } from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';
import type { createWebhookStore } from './webhook-store.ts';

/** Returns a function that adds a delivery of an event for each webhook that subscribes to it and whose owner may read it. */
export function createFanOut(options: {
  webhooks: Pick<ReturnType<typeof createWebhookStore>, 'subscribed'>;
  authority: Pick<WebhookAuthority, 'holds'>;
  deliveries: Pick<DeliveryStore, 'add'>;
  backlogs: Pick<Backlogs, 'bound'>;
  rights: Pick<ReadingRights, 'ofWebhook'>;
  announce: (job: JobState) => void;
  logger: Logger;
}) {
  const { webhooks, authority, deliveries, backlogs, rights, announce, logger } = options;
  const subscribed = createBatches<string, Awaited<ReturnType<typeof webhooks.subscribed>>>({
    max: 1000,
    async run(types) {
      const found = new Map<string, Awaited<ReturnType<typeof webhooks.subscribed>>>();
      for (const type of new Set(types)) found.set(type, await webhooks.subscribed(type));
      return types.map((type) => found.get(type) ?? []);
    },
  });
  /** Durable when it resolves. Whether the owner may read the event is judged again when it is delivered. */
  return async (event: StoredEvent): Promise<void> => {
    const candidates = await subscribed(event.type);
    const given = await Promise.all(candidates.map(rights.ofWebhook));
    const readers = candidates.filter((_, i) => given[i] !== undefined && mayRead(given[i], event));
    const holding = await Promise.all(readers.map(authority.holds));
    const to = readers.filter((_, i) => holding[i]);
    const added = to.map((it) => ({ webhook: it.id, owner: deliveryOwnerOf(it), event }));
    for (const job of await deliveries.add(added)) announce(job);
    for (const owner of new Set(added.map((it) => it.owner))) {
      backlogs.bound(owner).catch((error: unknown) => {
        logger.warn({ err: error, owner }, 'the pending deliveries of an owner could not be counted');
      });
    }
  };
}

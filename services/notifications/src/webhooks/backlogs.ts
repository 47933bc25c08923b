import { ServiceError } from '@gatehouse/core/errors';
import { LRUCache } from 'lru-cache';
import type { DeliveryStore } from './delivery-store.ts';
import { deliveryOwnerOf, type Webhook, type WebhookStore } from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';

/** How many deliveries of an owner may be pending, unless a setting says otherwise. */
export const DEFAULT_BACKLOG = 10_000;
/** How long a count of an owner's deliveries is cached while events happen, in milliseconds, and for how many owners. */
const COUNTED = { ttl: 3000, max: 20_000 };
const RETRY_AFTER_SECONDS = 60;

export type Backlogs = ReturnType<typeof createBacklogs>;

/** Bounds the deliveries of each owner that are pending. */
export function createBacklogs(options: {
  webhooks: Pick<WebhookStore, 'findById'>;
  authority: Pick<WebhookAuthority, 'pause'>;
  deliveries: Pick<DeliveryStore, 'hasMorePending' | 'webhookWithMost' | 'skipPending'>;
  max: number;
}) {
  const { webhooks, authority, deliveries, max } = options;
  const counted = new LRUCache<string, true>(COUNTED);
  return {
    /** Whether the replays of an owner wait: those leave room for new events. */
    isHalfFull: (owner: string): Promise<boolean> => deliveries.hasMorePending(owner, Math.floor(max / 2)),
    /**
     * Throws `rate_limited` (RFC 6585 §4) when the owner of a webhook, to which another delivery is to be sent, has too many that are
     * pending.
     */
    async requireRoom(webhook: Webhook): Promise<void> {
      if (!(await deliveries.hasMorePending(deliveryOwnerOf(webhook), max))) return;
      const message = `More than ${max} deliveries of your webhooks are pending. Try again when there are fewer.`;
      throw new ServiceError('rate_limited', message, {
        headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
      });
    },
    /** After events: pauses the webhook with the most pending deliveries when the owner has too many. They are listed as skipped. */
    async bound(owner: string): Promise<void> {
      if (counted.has(owner)) return;
      counted.set(owner, true);
      if (!(await deliveries.hasMorePending(owner, max))) return;
      const id = await deliveries.webhookWithMost(owner);
      const webhook = id === undefined ? undefined : await webhooks.findById(id);
      if (webhook === undefined) return;
      await authority.pause(webhook, 'backlog');
      await deliveries.skipPending(
        webhook.id,
        'The webhook was paused, since too many deliveries were pending.',
      );
    },
  };
}

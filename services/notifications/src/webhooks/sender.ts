import { VERSION } from '@gatehouse/core/version';
import { createBatches } from '@gatehouse/data/batches';
import { type JobHandler, PermanentError, PostponedError, RetryLaterError } from '@gatehouse/events/job';
import { LRUCache } from 'lru-cache';
import type { EventStore, StoredEvent } from '../events/event.ts';
import { payloadOf } from '../events/event-resource.ts';
import { TEST_TYPE } from '../events/event-types.ts';
import { type ReadingRights, visibleTo } from '../events/reading-rights.ts';
import { type Delivery, type DeliveryAttempt, type DeliveryResult, pauseAfter } from './delivery.ts';
import { type DeliveryDocument, type DeliveryStore, deliveryDocuments } from './delivery-store.ts';
import type { createEndpoints } from './endpoint.ts';
import type { WebhookSecrets } from './secrets.ts';
import type { Webhook, WebhookStore } from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';

const INTERRUPTED = 'The attempt was interrupted.';
/** When identity is asked again what may be read, after it could not be. */
const RIGHTS_MS = 5000;
/** When it is looked again whether the delivery before has ended. */
const ORDER_MS = { first: 500, max: 60_000 };

/** Makes the attempts to deliver events. */
export function createWebhookSender(options: {
  webhooks: Pick<WebhookStore, 'findByIds'>;
  authority: Pick<WebhookAuthority, 'holds' | 'pause'>;
  deliveries: Pick<DeliveryStore, 'before' | 'countSince'>;
  events: Pick<EventStore, 'findById'>;
  rights: Pick<ReadingRights, 'ofWebhook'>;
  secrets: Pick<WebhookSecrets, 'sign'>;
  endpoints: ReturnType<typeof createEndpoints>;
  scale: number;
}): JobHandler<DeliveryDocument, DeliveryResult> {
  const { webhooks, authority, deliveries, endpoints, scale } = options;
  const findWebhook = currentWebhooks(webhooks);
  const findEvent = rememberedEvents(options.events);

  /** The webhook and the event; or why nothing is delivered any more. */
  async function subjectOf({ webhook: id, event: eventId, type }: Delivery) {
    const webhook = await findWebhook(id);
    if (webhook === undefined) return 'The webhook was removed.';
    if (webhook.status !== 'active') return 'The webhook is paused.';
    const event = await findEvent(eventId);
    if (event === undefined) return 'The event was erased.';
    const asking = Promise.all([authority.holds(webhook), options.rights.ofWebhook(webhook)]);
    const [holds, rights] = await asking.catch((error: unknown) => {
      throw new PostponedError('The identity service cannot be reached at the moment.', RIGHTS_MS, {
        cause: error,
      });
    });
    if (!holds) return 'The webhook no longer holds: its credential has ended, or its owner has changed.';
    const visible = type === TEST_TYPE ? event : visibleTo(rights, event);
    if (visible === undefined) return 'The applications of the owner may not read this event.';
    return { webhook, event: visible };
  }

  return async ({ document, attempt: number }, { signal, note }) => {
    const delivery = deliveryDocuments.read(document);
    const subject = await subjectOf(delivery);
    if (typeof subject === 'string') {
      note({ status: 'skipped', reason: subject });
      return;
    }
    const { webhook, event } = subject;
    const earlier = webhook.ordered ? await deliveries.before(delivery) : undefined;
    if (earlier !== undefined) {
      const dueMs = (earlier.nextAttemptAt?.getTime() ?? 0) - Date.now();
      const waitMs = Math.min(Math.max(dueMs, ORDER_MS.first), ORDER_MS.max);
      throw new PostponedError('An earlier event has not been delivered yet.', waitMs);
    }
    const timestamp = Math.floor(Date.now() / 1000);
    const body = JSON.stringify(payloadOf(event));
    const message = { id: event.id, timestamp, body };
    const headers = {
      'content-type': 'application/json',
      'user-agent': `Gatehouse-Webhooks/${VERSION}`,
      'webhook-id': message.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': options.secrets.sign(webhook, message),
    };
    const posted = await endpoints.post(
      webhook.id,
      { delivery: delivery.id, url: webhook.url, headers, body },
      { signal, onSend: () => note({ attempt: interrupted(webhook.url), reason: INTERRUPTED }) },
    );
    if ('busyMs' in posted) {
      if (pauseAfter(delivery, { attempts: 1, scale }) !== undefined) {
        throw new PostponedError('The endpoint is busy or failing.', posted.busyMs);
      }
      return giveUp(delivery, webhook, note, {});
    }
    const { attempt, retryAfterMs: least } = posted;
    const { error, status } = attempt;
    if (error === null) {
      note({ attempt, status: 'succeeded' });
      return;
    }
    // "The endpoint is gone": it wants no more.
    if (status === 410) {
      await authority.pause(webhook, 'gone');
      note({ attempt, status: 'failed', reason: error });
      throw new PermanentError(error);
    }
    const pauseMs = pauseAfter(delivery, {
      attempts: number,
      ...(least === undefined ? {} : { least }),
      scale,
    });
    if (pauseMs === undefined) return giveUp(delivery, webhook, note, { attempt });
    note({ attempt, reason: error });
    throw new RetryLaterError(error, pauseMs);
  };

  /** Ends a delivery after days of failures; the webhook is paused, unless it has accepted other events meanwhile. */
  async function giveUp(
    delivery: Delivery,
    webhook: Webhook,
    note: (result: DeliveryResult) => void,
    { attempt }: Pick<DeliveryResult, 'attempt'>,
  ): Promise<never> {
    const reason = 'The endpoint has failed for three days.';
    const taken = await deliveries.countSince(webhook.id, 'succeeded', delivery.begunAt, 1);
    if (taken === 0) await authority.pause(webhook, 'failing');
    note({ status: 'failed', reason, ...(attempt && { attempt }) });
    throw new PermanentError(reason);
  }
}

/** Each attempt uses the webhook as it is then; those that begin together read it together. */
function currentWebhooks(webhooks: Pick<WebhookStore, 'findByIds'>) {
  return createBatches<string, Webhook | undefined>({
    max: 500,
    async run(ids) {
      const found = new Map((await webhooks.findByIds([...new Set(ids)])).map((it) => [it.id, it]));
      return ids.map((id) => found.get(id));
    },
  });
}

/** An event does not change, and is read once for its deliveries. */
function rememberedEvents(events: Pick<EventStore, 'findById'>) {
  const known = new LRUCache<string, Promise<StoredEvent | undefined>>({ max: 500, ttl: 10_000 });
  return (id: string): Promise<StoredEvent | undefined> => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const finding = events.findById(id);
    known.set(id, finding);
    finding.catch(() => known.delete(id));
    return finding;
  };
}

/** The record of an attempt that a stop or the time limit ends. The endpoint may have the event. */
const interrupted = (url: string): DeliveryAttempt => ({
  ...{ url, startedAt: new Date(), durationMs: 0, status: null, body: null, error: INTERRUPTED },
});

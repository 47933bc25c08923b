import { type JobHandler, PermanentError, PostponedError, RetryLaterError } from '@gatehouse/events/job';
import { LRUCache } from 'lru-cache';
import type { EventStore, StoredEvent } from '../events/event.ts';
import { payloadOf } from '../events/event-resource.ts';
import { TEST_TYPE } from '../events/event-types.ts';
import { mayRead, type ReadingRights } from '../events/reading-rights.ts';
import { type Delivery, type DeliveryResult, pauseAfter } from './delivery.ts';
import type { DeliveryJobStates } from './delivery-job-states.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { createEndpoints } from './endpoint.ts';
import type { WebhookSecrets } from './secrets.ts';
import type { PauseReason, Webhook, WebhookStore } from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';

/** How long a webhook is used as it was read, in milliseconds: a change takes effect that late. */
const WEBHOOK_MS = 1000;
/** When identity is asked again what may be read, after it could not be. */
const RIGHTS_MS = 5000;
/** When it is looked again whether the delivery before has ended. */
const ORDER_MS = { first: 500, max: 60_000 };

/** Makes the attempts to deliver events. */
export function createWebhookSender(options: {
  webhooks: Pick<WebhookStore, 'findById'>;
  authority: Pick<WebhookAuthority, 'holds' | 'pause'>;
  deliveries: Pick<DeliveryStore, 'before' | 'hasSucceededSince'>;
  states: Pick<DeliveryJobStates, 'heldBy' | 'note'>;
  events: Pick<EventStore, 'findById'>;
  rights: Pick<ReadingRights, 'ofOwner'>;
  secrets: Pick<WebhookSecrets, 'sign'>;
  endpoints: ReturnType<typeof createEndpoints>;
  scale: number;
}): JobHandler {
  const { webhooks, authority, deliveries, states, endpoints, scale } = options;
  const known = new LRUCache<string, Promise<Webhook | undefined>>({ max: 5000, ttl: WEBHOOK_MS });
  const knownEvents = new LRUCache<string, Promise<StoredEvent | undefined>>({ max: 500, ttl: 10_000 });

  /** What several deliveries need at the same time is read once. */
  function once<T extends object | undefined>(
    cache: LRUCache<string, Promise<T>>,
    id: string,
    find: (id: string) => Promise<T>,
  ): Promise<T> {
    const found = cache.get(id);
    if (found !== undefined) return found;
    const finding = find(id);
    cache.set(id, finding);
    finding.catch(() => cache.delete(id));
    return finding;
  }

  /** The webhook and the event; or why nothing is delivered any more. */
  async function subjectOf({ webhook: id, event: eventId, type }: Delivery) {
    const webhook = await once(known, id, webhooks.findById);
    if (webhook === undefined) return 'The webhook was removed.';
    if (webhook.status !== 'active') return 'The webhook is paused.';
    const event = await once(knownEvents, eventId, options.events.findById);
    if (event === undefined) return 'The event was erased.';
    const asking = Promise.all([authority.holds(webhook), options.rights.ofOwner(webhook.reader)]);
    const [holds, rights] = await asking.catch((error: unknown) => {
      throw new PostponedError('Identity cannot be asked at the moment.', RIGHTS_MS, { cause: error });
    });
    if (!holds) {
      known.delete(id);
      return 'The webhook has ended with what it rested on.';
    }
    if (type !== TEST_TYPE && !mayRead(rights, event))
      return 'The applications of the owner may not read this event.';
    return { webhook, event };
  }

  async function pause(webhook: Webhook, reason: PauseReason): Promise<void> {
    known.delete(webhook.id);
    await authority.pause(webhook, reason);
  }

  return async (job, { signal, number }) => {
    const delivery = states.heldBy(job);
    // Another process has taken over.
    if (delivery === undefined)
      throw new PostponedError('The delivery is made by another process.', ORDER_MS.first);
    const note = (result: DeliveryResult) => states.note(job, result);
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
      'user-agent': 'Gatehouse-Webhooks',
      'webhook-id': message.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': options.secrets.sign(webhook, message),
    };
    const turn = await endpoints.post(
      webhook.id,
      { delivery: delivery.id, url: webhook.url, headers, body },
      signal,
    );
    if ('busyMs' in turn) {
      if (pauseAfter(delivery, { attempts: 1, scale }) !== undefined) {
        throw new PostponedError('The endpoint is busy or failing.', turn.busyMs);
      }
      return giveUp(delivery, webhook, note, {});
    }
    const { attempt, retryAfterMs: least } = turn;
    const { error, status } = attempt;
    if (error === null) {
      note({ attempt, status: 'succeeded' });
      return;
    }
    // "The endpoint is gone": it wants no more.
    if (status === 410) {
      await pause(webhook, 'gone');
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

  /** After days of failures; the webhook is paused, unless it has taken other events meanwhile. */
  async function giveUp(
    delivery: Delivery,
    webhook: Webhook,
    note: (result: DeliveryResult) => void,
    { attempt }: Pick<DeliveryResult, 'attempt'>,
  ): Promise<never> {
    const reason = 'The endpoint has failed for three days.';
    if (!(await deliveries.hasSucceededSince(webhook.id, delivery.begunAt))) await pause(webhook, 'failing');
    note({ status: 'failed', reason, ...(attempt && { attempt }) });
    throw new PermanentError(reason);
  }
}

import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { JobState } from '@gatehouse/data/job-document';
import type { Caller } from '@gatehouse/tokens/caller';
import type { EventStore, StoredEvent } from '../events/event.ts';
import { TEST_TYPE } from '../events/event-types.ts';
import type { Backlogs } from './backlogs.ts';
import { type Delivery, deliveryIdOf } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Replays } from './replays.ts';
import { deliveryOwnerOf, type Webhook } from './webhook.ts';

/** Sends events to a webhook because its owner asks for it: a test, one again, or all since a time. */
export function createWebhookSending(options: {
  deliveries: Pick<DeliveryStore, 'sendNow' | 'findById'>;
  events: EventStore;
  replays: Pick<Replays, 'start'>;
  backlogs: Pick<Backlogs, 'requireRoom'>;
  announce: (job: JobState) => void;
  /** Throws `not_found`. */
  find: (id: string, caller: Caller) => Promise<Webhook>;
}) {
  const { deliveries, events, find } = options;

  /** The webhook, to which the caller may have something sent. */
  async function findToSend(id: string, caller: Caller): Promise<Webhook> {
    const webhook = await find(id, caller);
    if (webhook.status !== 'active')
      throw new ServiceError('conflict', 'The webhook is paused. Resume it first.');
    await options.backlogs.requireRoom(webhook);
    return webhook;
  }

  /** Sends an event now, also one that was delivered, or waits for its next attempt. */
  async function sendOne(webhook: Webhook, event: StoredEvent): Promise<Delivery> {
    const of = { webhook: webhook.id, owner: deliveryOwnerOf(webhook), event };
    options.announce(await deliveries.sendNow(of));
    const sent = await deliveries.findById(deliveryIdOf({ webhook: webhook.id, event }), webhook.id);
    if (sent === undefined) throw new ServiceError('not_found', 'There is no such webhook.');
    return sent;
  }

  return {
    async test(id: string, caller: Caller): Promise<Delivery> {
      const webhook = await findToSend(id, caller);
      const now = new Date();
      const event = await events.add({
        ...{
          type: TEST_TYPE,
          data: { webhook_id: id },
          occurredAt: now,
          aggregate: id,
          sequence: now.getTime(),
        },
        ...{ readers: [], source: newId('evt'), version: 1 },
      });
      return sendOne(webhook, event);
    },

    async resend(id: string, deliveryId: string, caller: Caller): Promise<Delivery> {
      const webhook = await findToSend(id, caller);
      const delivery = await deliveries.findById(deliveryId, id);
      const event = delivery && (await events.findById(delivery.event));
      if (event === undefined)
        throw new ServiceError('not_found', 'There is no such delivery, or its event is gone.');
      return sendOne(webhook, event);
    },

    /** Delivers what happened since again, some at a time. Returns the number of events. */
    async replay(id: string, from: Date, caller: Caller): Promise<number> {
      return options.replays.start(await findToSend(id, caller), from);
    },
  };
}

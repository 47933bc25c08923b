import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { leastIdAt, newId, timeOfId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { EventStore, StoredEvent } from '../events/event.ts';
import { EVENT_TYPE_NAMES, TEST_TYPE } from '../events/event-types.ts';
import { conditionsOf, mayReadType, type ReadingRights } from '../events/reading-rights.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { WebhookSecrets } from './secrets.ts';
import {
  type NewWebhook,
  WEBHOOK_LIMITS,
  type Webhook,
  type WebhookChanges,
  type WebhookField,
  type WebhookStore,
  webhookProblems,
  wordsOf,
} from './webhook.ts';

/** Events that are replayed with one request. */
const REPLAY = { max: 1000, page: 100 };

export type WebhookService = ReturnType<typeof createWebhookService>;

/** The use cases of webhooks. Each is for the owner; for anybody else there is no such webhook. */
export function createWebhookService(options: {
  webhooks: WebhookStore;
  deliveries: Pick<DeliveryStore, 'add' | 'findById' | 'within' | 'removeAllOf'>;
  events: EventStore;
  rights: ReadingRights;
  secrets: Pick<WebhookSecrets, 'rotated'>;
  isAllowedHost: (hostname: string) => boolean;
  /** Publishes the jobs of deliveries that were stored. */
  publish: (deliveries: readonly Delivery[]) => void;
}) {
  const { webhooks, deliveries, events, rights, secrets, publish } = options;

  /**
   * Whose webhooks these are, and whose rights decide. Of people, who use Gatehouse itself or one of their own applications: an
   * application of somebody else could have their events sent to itself.
   */
  async function holderOf(caller: Caller): Promise<Pick<Webhook, 'owner' | 'reader'>> {
    const { person, clientId } = caller;
    if (person === undefined) return { owner: clientId, reader: clientId };
    if (isFirstParty(caller)) return { owner: person.id, reader: person.id };
    if ((await rights.clientIdsOf(person.id)).includes(clientId))
      return { owner: person.id, reader: clientId };
    throw new ServiceError('forbidden', 'Webhooks are for the owner of the application.');
  }

  async function find(id: string, caller: Caller): Promise<Webhook> {
    const { owner, reader } = await holderOf(caller);
    const found = await webhooks.findById(id, owner);
    if (found !== undefined && (reader === owner || found.reader === reader)) return found;
    throw new ServiceError('not_found', 'There is no such webhook.');
  }

  async function check(reader: string, given: Partial<NewWebhook>): Promise<void> {
    const { isAllowedHost } = options;
    const problems = webhookProblems(given, { types: EVENT_TYPE_NAMES, isAllowedHost });
    const { scopes } = await rights.ofOwner(reader);
    const unreadable = given.events?.find(
      (word) =>
        !EVENT_TYPE_NAMES.some((type) => wordsOf(type).includes(word) && mayReadType({ scopes }, type)),
    );
    if (problems.length === 0 && unreadable !== undefined) {
      problems.push({
        field: 'events',
        message: `cannot have ${unreadable}: no application has a scope for it`,
      });
    }
    if (problems.length > 0) throw invalidFields(problems);
  }

  async function send(webhook: Webhook, of: readonly StoredEvent[]): Promise<Delivery[]> {
    if (webhook.status !== 'active')
      throw new ServiceError('conflict', 'The webhook is paused. Resume it first.');
    const added = await deliveries.add(
      of.map((event) => ({ webhook: webhook.id, event })),
      true,
    );
    publish(added);
    return added;
  }

  return {
    find,
    listFor(caller: Caller): ListSource<WebhookField, Webhook> {
      const narrowed = async () => {
        const { owner, reader } = await holderOf(caller);
        const own = { field: 'reader', operator: 'eq', values: [reader] } as const;
        return { source: webhooks.within(owner), more: reader === owner ? [] : [own] };
      };
      return {
        async byOffset(query, page) {
          const { source, more } = await narrowed();
          return source.byOffset({ ...query, conditions: [...query.conditions, ...more] }, page);
        },
        async byKeyset(query, page) {
          const { source, more } = await narrowed();
          return source.byKeyset({ ...query, conditions: [...query.conditions, ...more] }, page);
        },
        async count(conditions) {
          const { source, more } = await narrowed();
          return source.count([...conditions, ...more]);
        },
      };
    },

    async create({ id, ...draft }: NewWebhook & { id: string }, caller: Caller): Promise<Webhook> {
      const holder = await holderOf(caller);
      await check(holder.reader, draft);
      if ((await webhooks.countOf(holder.owner)) >= WEBHOOK_LIMITS.perOwner) {
        const message = `There are ${WEBHOOK_LIMITS.perOwner} webhooks already, and no more are allowed.`;
        throw new ServiceError('conflict', message);
      }
      const now = new Date();
      const webhook: Webhook = {
        ...{ id, ...holder, ...draft, status: 'active', pauseReason: null },
        ...{ secrets: secrets.rotated(id), version: 1, createdAt: now, updatedAt: now },
      };
      await webhooks.insert(webhook);
      return webhook;
    },

    async update(
      id: string,
      changes: WebhookChanges,
      caller: Caller,
      ifVersion: IfVersion,
    ): Promise<Webhook> {
      const webhook = await find(id, caller);
      await check(webhook.reader, changes);
      const { status } = changes;
      const pauseReason = status === 'paused' ? ('owner' as const) : null;
      const changed = await webhooks.update(
        id,
        (current) => ({
          ...current,
          ...omitUndefined(changes),
          ...(status === undefined || status === current.status ? {} : { pauseReason }),
        }),
        ifVersion,
      );
      return changed ?? webhook;
    },

    async remove(id: string, caller: Caller, ifVersion: IfVersion): Promise<void> {
      await find(id, caller);
      await webhooks.remove(id, ifVersion);
      await deliveries.removeAllOf(id);
    },

    /** A new secret; the one before lives for as long as this. */
    async rotate(id: string, overlapSeconds: number, caller: Caller): Promise<Webhook> {
      await find(id, caller);
      const endsAt = new Date(Date.now() + overlapSeconds * 1000);
      const rotated = await webhooks.update(id, (current) => ({
        ...current,
        secrets: secrets.rotated(id, current.secrets, endsAt),
      }));
      return rotated ?? find(id, caller);
    },

    async test(id: string, caller: Caller): Promise<Delivery> {
      const webhook = await find(id, caller);
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
      const [delivery] = await send(webhook, [event]);
      return delivery as Delivery;
    },

    async resend(id: string, deliveryId: string, caller: Caller): Promise<Delivery> {
      const webhook = await find(id, caller);
      const delivery = await deliveries.findById(deliveryId, id);
      const event = delivery && (await events.findById(delivery.event));
      if (event === undefined)
        throw new ServiceError('not_found', 'There is no such delivery, or its event is gone.');
      return (await send(webhook, [event]))[0] ?? (delivery as Delivery);
    },

    /** Sends what happened since, also what was delivered; `next` is where another request goes on, if there is more. */
    async replay(
      id: string,
      from: Date,
      caller: Caller,
    ): Promise<{ replayed: number; next: Date | undefined }> {
      const webhook = await find(id, caller);
      const readable = conditionsOf(await rights.ofOwner(webhook.reader));
      const types = EVENT_TYPE_NAMES.filter((type) =>
        wordsOf(type).some((it) => webhook.events.includes(it)),
      );
      const source = events.where(async () => [
        ...readable,
        { field: 'type', operator: 'in', values: types },
      ]);
      const since = { field: 'id', operator: 'gte', values: [leastIdAt('evt', from)] } as const;
      let replayed = 0;
      for (let after: Parameters<typeof source.byKeyset>[1]['from']; ; ) {
        const page = await source.byKeyset(
          { conditions: [since], sort: { field: 'id', descending: false } },
          { limit: REPLAY.page, ...(after && { from: after }) },
        );
        const [first] = page.items;
        if (first !== undefined && replayed >= REPLAY.max) return { replayed, next: timeOfId(first.id) };
        replayed += (await send(webhook, page.items)).length;
        if (!page.hasNext || page.last === undefined) return { replayed, next: undefined };
        after = { position: page.last, direction: 'next', inclusive: false };
      }
    },
  };
}

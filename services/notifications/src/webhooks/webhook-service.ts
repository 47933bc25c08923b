import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import type { JobState } from '@gatehouse/data/job-document';
import type { IfVersion } from '@gatehouse/domain/if-version';
import type { ListSource } from '@gatehouse/domain/list-query';
import type { RequestInfo } from '@gatehouse/server/requests';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { EventStore, StoredEvent } from '../events/event.ts';
import { EVENT_TYPE_NAMES, TEST_TYPE } from '../events/event-types.ts';
import { mayRead, mayReadType, type ReadingRights } from '../events/reading-rights.ts';
import type { Backlogs } from './backlogs.ts';
import { type Delivery, deliveryIdOf } from './delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Replays } from './replays.ts';
import type { WebhookSecrets } from './secrets.ts';
import {
  actionOn,
  deliveryOwnerOf,
  type LastDay,
  type NewWebhook,
  WEBHOOK_LIMITS,
  type Webhook,
  type WebhookChanges,
  type WebhookField,
  type WebhookStore,
  webhookProblems,
  wordsOf,
} from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';

export type WebhookService = ReturnType<typeof createWebhookService>;

/** The use cases of webhooks. Each is for the owner; for anybody else there is no such webhook. */
export function createWebhookService(options: {
  webhooks: WebhookStore;
  authority: Pick<WebhookAuthority, 'basisOf' | 'holds'>;
  deliveries: Pick<DeliveryStore, 'sendNow' | 'findById' | 'removeAllOf' | 'countSince'>;
  events: EventStore;
  rights: ReadingRights;
  secrets: Pick<WebhookSecrets, 'rotated'>;
  replays: Pick<Replays, 'start'>;
  backlogs: Pick<Backlogs, 'requireRoom'>;
  isAllowedHost: (hostname: string) => boolean;
  /** Announces the job of a delivery that was stored. */
  announce: (job: JobState) => void;
  /** Reports what was done to a webhook to identity. */
  report: (id: string) => void;
}) {
  const { webhooks, authority, deliveries, events, rights, secrets, report } = options;

  /**
   * The owner of a caller's webhooks, and the reader whose rights decide. People use Gatehouse itself or one of their own applications:
   * an application of somebody else could have their events sent to itself.
   */
  async function holderOf(caller: Caller): Promise<Pick<Webhook, 'owner' | 'reader'>> {
    const { person, clientId } = caller;
    if (person === undefined) return { owner: clientId, reader: clientId };
    if (isFirstParty(caller)) return { owner: person.id, reader: person.id };
    if ((await rights.personOf(clientId)) === person.id) return { owner: person.id, reader: clientId };
    throw new ServiceError('forbidden', 'Webhooks are for the owner of the application.');
  }

  /** The webhook after the check whether it holds; undefined when it is gone. */
  const settled = async (webhook: Webhook): Promise<Webhook | undefined> =>
    (await authority.holds(webhook)) ? webhook : webhooks.findById(webhook.id);

  const allSettled = async (found: readonly Webhook[]): Promise<Webhook[]> =>
    (await Promise.all(found.map(settled))).filter((it) => it !== undefined);

  async function find(id: string, caller: Caller): Promise<Webhook> {
    const { owner, reader } = await holderOf(caller);
    const found = await webhooks.findById(id, owner);
    const isOwn = found !== undefined && (reader === owner || found.reader === reader);
    const current = isOwn ? await settled(found) : undefined;
    if (current !== undefined) return current;
    throw new ServiceError('not_found', 'There is no such webhook.');
  }

  async function check(given: Partial<NewWebhook>, by: Pick<Webhook, 'reader' | 'basis'>): Promise<void> {
    const { isAllowedHost } = options;
    const problems = webhookProblems(given, { types: EVENT_TYPE_NAMES, isAllowedHost });
    const { scopes } = await rights.ofWebhook(by);
    const unreadable = given.events?.find(
      (word) =>
        !EVENT_TYPE_NAMES.some((type) => wordsOf(type).includes(word) && mayReadType({ scopes }, type)),
    );
    if (problems.length === 0 && unreadable !== undefined) {
      const reason =
        by.basis.scopes === undefined
          ? 'no application has a scope for it'
          : 'it needs a scope that this credential does not have';
      problems.push({ field: 'events', message: `cannot have ${unreadable}: ${reason}` });
    }
    if (problems.length > 0) throw invalidFields(problems);
  }

  /** The webhook, to which the caller may have something sent. */
  async function findToSend(id: string, caller: Caller): Promise<Webhook> {
    const webhook = await find(id, caller);
    if (webhook.status !== 'active')
      throw new ServiceError('conflict', 'The webhook is paused. Resume it first.');
    await options.backlogs.requireRoom(deliveryOwnerOf(webhook));
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
    find,
    /** The webhook with the outcome of its recent deliveries, which differs each time. */
    async read(id: string, caller: Caller): Promise<Webhook & { lastDay: LastDay; minorVersion: number }> {
      const webhook = await find(id, caller);
      const now = Date.now();
      const count = (status: 'succeeded' | 'failed') =>
        deliveries.countSince(id, status, new Date(now - 86_400_000));
      const [succeeded, failed] = await Promise.all([count('succeeded'), count('failed')]);
      return { ...webhook, lastDay: { ended: succeeded + failed, succeeded }, minorVersion: now };
    },
    listFor(caller: Caller): ListSource<WebhookField, Webhook> {
      const narrowed = async () => {
        const { owner, reader } = await holderOf(caller);
        const own = { field: 'reader', operator: 'eq', values: [reader] } as const;
        return { source: webhooks.within(owner), more: reader === owner ? [] : [own] };
      };
      return {
        async byOffset(query, page) {
          const { source, more } = await narrowed();
          const rows = await source.byOffset({ ...query, conditions: [...query.conditions, ...more] }, page);
          return { ...rows, items: await allSettled(rows.items) };
        },
        async byKeyset(query, page) {
          const { source, more } = await narrowed();
          const rows = await source.byKeyset({ ...query, conditions: [...query.conditions, ...more] }, page);
          return { ...rows, items: await allSettled(rows.items) };
        },
        async count(conditions) {
          const { source, more } = await narrowed();
          return source.count([...conditions, ...more]);
        },
      };
    },

    async create(
      { id, ...draft }: NewWebhook & { id: string },
      caller: Caller,
      request: RequestInfo,
    ): Promise<Webhook> {
      const holder = await holderOf(caller);
      const basis = await authority.basisOf(holder.reader, caller);
      await check(draft, { reader: holder.reader, basis });
      const now = new Date();
      const webhook: Webhook = {
        ...{
          id,
          ...holder,
          ...draft,
          basis,
          slot: null,
          memberSlot: null,
          replay: null,
          status: 'active',
          pauseReason: null,
        },
        ...{ secrets: secrets.rotated(id), version: 1, createdAt: now, updatedAt: now },
      };
      const by = requestedBy(caller, request);
      const full = await webhooks.insert(webhook, actionOn(webhook, 'webhook.created', by));
      if (full !== undefined) {
        const whose = full === 'perMember' ? ' that you made for the owner of the application' : '';
        const message = `There are ${WEBHOOK_LIMITS[full]} webhooks already${whose}, and no more are allowed.`;
        throw new ServiceError('conflict', message);
      }
      report(id);
      return webhook;
    },

    async update(
      id: string,
      changes: WebhookChanges,
      caller: Caller,
      ifVersion: IfVersion,
      request: RequestInfo,
    ): Promise<Webhook> {
      const webhook = await find(id, caller);
      const basis = await authority.basisOf(webhook.reader, caller);
      await check(changes, { reader: webhook.reader, basis });
      const by = requestedBy(caller, request);
      const { status } = changes;
      const pauseReason = status === 'paused' ? ('owner' as const) : null;
      const changed = await webhooks.update(
        id,
        (current) => {
          const next = { ...current, ...omitUndefined(changes) };
          return {
            ...next,
            ...(status === undefined || status === current.status ? {} : { pauseReason }),
            ...(isGivenAgain(current, next) ? { basis, memberSlot: null } : {}),
          };
        },
        ifVersion,
        (before, after) => (isGivenAgain(before, after) ? actionOn(after, 'webhook.changed', by) : undefined),
      );
      report(id);
      return changed ?? webhook;
    },

    async remove(id: string, caller: Caller, ifVersion: IfVersion, request: RequestInfo): Promise<void> {
      const webhook = await find(id, caller);
      await webhooks.remove(
        id,
        ifVersion,
        actionOn(webhook, 'webhook.removed', requestedBy(caller, request)),
      );
      await deliveries.removeAllOf(id);
      report(id);
    },

    /** Returns whether the payload of an event is shown: to a caller who may read it now, if the webhook may. */
    async shows(webhook: Webhook, caller: Caller): Promise<(event: StoredEvent) => boolean> {
      const both = await Promise.all([rights.ofWebhook(webhook), rights.ofCaller(caller)]);
      return (event) => event.type === TEST_TYPE || both.every((it) => mayRead(it, event));
    },

    /** A new secret; the one before lives for as long as this. The webhook rests on the caller, who can sign now. */
    async rotate(id: string, overlapSeconds: number, caller: Caller, request: RequestInfo): Promise<Webhook> {
      const { reader } = await find(id, caller);
      const basis = await authority.basisOf(reader, caller);
      const endsAt = new Date(Date.now() + overlapSeconds * 1000);
      const by = requestedBy(caller, request);
      const rotated = await webhooks.update(
        id,
        (current) => ({
          ...current,
          basis,
          memberSlot: null,
          replay: null,
          secrets: secrets.rotated(id, current.secrets, endsAt),
        }),
        undefined,
        (_, after) => actionOn(after, 'webhook.changed', by),
      );
      report(id);
      return rotated ?? find(id, caller);
    },

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

/** Whether the webhook rests on the person who made this change: it is resumed, or sends other events or to another URL. */
const isGivenAgain = (before: Webhook, after: Webhook): boolean =>
  (before.status === 'paused' && after.status === 'active') ||
  before.url !== after.url ||
  before.events.join() !== after.events.join();

import { ServiceError } from '@gatehouse/core/errors';
import type { ListSource } from '@gatehouse/domain/list-query';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { StoredEvent } from '../events/event.ts';
import { TEST_TYPE } from '../events/event-types.ts';
import { type ReadingRights, visibleTo } from '../events/reading-rights.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { LastDay, Webhook, WebhookField, WebhookStore } from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';

/** Finds the webhooks of a caller. For anybody but the owner there is no such webhook. */
export function createWebhookReading(options: {
  webhooks: WebhookStore;
  authority: Pick<WebhookAuthority, 'holds'>;
  deliveries: Pick<DeliveryStore, 'countSince'>;
  rights: ReadingRights;
}) {
  const { webhooks, authority, deliveries, rights } = options;

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

  return {
    holderOf,
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

    /** Returns a function that shows an event as it is sent: to a caller who may read it now, if the webhook may. */
    async show(webhook: Webhook, caller: Caller): Promise<(event: StoredEvent) => StoredEvent | undefined> {
      const [ofWebhook, ofCaller] = await Promise.all([rights.ofWebhook(webhook), rights.ofCaller(caller)]);
      return (event) => {
        if (event.type === TEST_TYPE) return event;
        const visible = visibleTo(ofCaller, event);
        return visible && visibleTo(ofWebhook, visible);
      };
    },
  };
}

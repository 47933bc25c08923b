import { ServiceError } from '@gatehouse/core/errors';
import { leastIdAt, newId } from '@gatehouse/core/ids';
import type { JobState } from '@gatehouse/data/job-document';
import { PostponedError } from '@gatehouse/events/job';
import { type EventStore, SETTLED_MS } from '../events/event.ts';
import { EVENT_TYPE_NAMES } from '../events/event-types.ts';
import { conditionsOf, type ReadingRights } from '../events/reading-rights.ts';
import type { Backlogs } from './backlogs.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { deliveryOwnerOf, type Replay, type Webhook, type WebhookStore, wordsOf } from './webhook.ts';
import type { WebhookAuthority } from './webhook-authority.ts';

/** The events whose deliveries are made at a time. While this many deliveries of the webhook are pending, no more are made. */
const BATCH = 200;
/** The pause until the pending deliveries are counted again: a tenth of the time for which the replay has waited. */
const WAIT_MS = { least: 500, most: 60_000 };

/** The progress of a replay, and the reason why it has ended early. */
export type ReplayStep = Partial<Pick<Replay, 'after' | 'done' | 'movedAt' | 'reason'>>;

export type Replays = ReturnType<typeof createReplays>;

/** Delivers the events since a time to a webhook again. */
export function createReplays(options: {
  webhooks: Pick<WebhookStore, 'findById'>;
  authority: Pick<WebhookAuthority, 'holds'>;
  deliveries: Pick<DeliveryStore, 'replay' | 'pendingOf' | 'removeAllOf'>;
  events: Pick<EventStore, 'where'>;
  rights: Pick<ReadingRights, 'ofWebhook'>;
  backlogs: Pick<Backlogs, 'isHalfFull'>;
  /** Makes the job of a replay. Returns false if the webhook is gone or paused, or another replay is under way. */
  begin(webhook: Webhook, replay: Replay): Promise<boolean>;
  /** Announces the job of a delivery that was stored. */
  announce(job: JobState): void;
}) {
  const { webhooks, authority, deliveries, announce } = options;

  /** The events of a replay that are left: those that the webhook subscribes to and may read now. */
  function eventsOf(webhook: Webhook, { after, until }: Pick<Replay, 'after' | 'until'>) {
    const types = EVENT_TYPE_NAMES.filter((type) =>
      wordsOf(type).some((word) => webhook.events.includes(word)),
    );
    return options.events.where(async () => [
      ...conditionsOf(await options.rights.ofWebhook(webhook)),
      { field: 'type', operator: 'in', values: types },
      { field: 'id', operator: 'gt', values: [after] },
      { field: 'id', operator: 'lt', values: [leastIdAt('evt', until)] },
    ]);
  }

  /** Makes a batch of deliveries. A batch that is made again, after a crash, adds nothing. */
  async function makeBatch(webhook: Webhook, note: (step: ReplayStep) => void): Promise<void> {
    const { id, replay, status } = webhook;
    if (replay === null) return;
    const isHeld = status === 'active' && (await authority.holds(webhook));
    if (!isHeld) return note({ reason: 'The webhook was paused.' });
    const owner = deliveryOwnerOf(webhook);
    if ((await deliveries.pendingOf(id, BATCH)) >= BATCH || (await options.backlogs.isHalfFull(owner))) {
      const waitMs = (Date.now() - replay.movedAt.getTime()) / 10;
      const pauseMs = Math.min(Math.max(waitMs, WAIT_MS.least), WAIT_MS.most);
      throw new PostponedError('Earlier deliveries are pending.', pauseMs);
    }
    const { items, hasNext } = await eventsOf(webhook, replay).byKeyset(
      { conditions: [], sort: { field: 'id', descending: false } },
      { limit: BATCH },
    );
    const of = items.map((event) => ({ webhook: id, owner, event }));
    for (const job of await deliveries.replay(of, replay.id)) announce(job);
    // Deleted meanwhile, perhaps after its deliveries were.
    if ((await webhooks.findById(id)) === undefined) await deliveries.removeAllOf(id);
    const after = items.at(-1)?.id ?? replay.after;
    note({ after, done: replay.done + items.length, movedAt: new Date() });
    if (hasNext) throw new PostponedError('There are more events.', 0);
  }

  return {
    makeBatch,
    /** Returns the number of events. Throws `conflict` while another replay of the webhook is under way. */
    async start(webhook: Webhook, from: Date): Promise<number> {
      const now = new Date();
      const begin = { after: leastIdAt('evt', from), until: new Date(now.getTime() - SETTLED_MS) };
      const events = await eventsOf(webhook, begin).count([]);
      if (events === 0) return 0;
      const replay: Replay = {
        ...{ id: newId('rpl'), from, ...begin, events, done: 0 },
        ...{ startedAt: now, movedAt: now, endedAt: null, reason: null },
      };
      if (!(await options.begin(webhook, replay))) {
        const message = 'A replay of this webhook is under way. A pause of the webhook ends it.';
        throw new ServiceError('conflict', message);
      }
      return events;
    },
  };
}

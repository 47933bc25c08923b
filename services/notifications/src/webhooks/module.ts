import type { ResourceContext, ResourceParts } from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import type { Outcome } from '@gatehouse/events/job';
import { isPublicHost } from '@gatehouse/outbound/public-address';
import type { EventStore, StoredEvent } from '../events/event.ts';
import type { Owners, ReadingRights } from '../events/reading-rights.ts';
import { createReportedActions } from '../reported-actions.ts';
import { createBacklogs, DEFAULT_BACKLOG } from './backlogs.ts';
import { deliveryJobs } from './delivery-jobs.ts';
import { mountDeliveryRoutes } from './delivery-routes.ts';
import { createDeliveryStore, DELIVERIES, LANE } from './delivery-store.ts';
import { createEndpoints } from './endpoint.ts';
import { createFanOut } from './fan-out.ts';
import { beginReplay, replayJobs } from './replay-jobs.ts';
import { createReplays } from './replays.ts';
import { createWebhookSecrets, type WebhookSecrets } from './secrets.ts';
import { createWebhookSender } from './sender.ts';
import type { WebhookSettings } from './settings.ts';
import type { WebhookStore } from './webhook.ts';
import { createWebhookAuthority } from './webhook-authority.ts';
import { createWebhookResource, WEBHOOK_PATHS } from './webhook-resource.ts';
import { mountWebhookRoutes } from './webhook-routes.ts';
import { createWebhookService, type WebhookService } from './webhook-service.ts';
import { createWebhookStore, WEBHOOK_ACTION, WEBHOOKS, webhookDocuments } from './webhook-store.ts';

export { WEBHOOK_PATHS };

const QUEUE = 'webhooks';
const REPLAYS = { queue: 'replays', slots: 4, timeoutMs: 60_000 };
const TIMEOUT_MS = 15_000;
/** Deliveries end by time, and not by their number of attempts. */
const MAX_ATTEMPTS = 100_000;
/** The pauses after faults of our own; those after faults of an endpoint are longer. */
const BACKOFF_MS = { first: 1000, max: 60_000 };

/** Webhooks: endpoints of applications' owners, and the deliveries of events to them. */
export function createWebhooksModule(
  context: Pick<ResourceContext, 'connection' | 'identity' | 'logger' | 'queues'>,
  options: WebhookSettings & {
    events: {
      store: EventStore;
      owners: Owners;
      rights: ReadingRights;
      follow(listener: (event: StoredEvent) => Promise<void>): void;
      explainUnavailable(find: WebhookService['unavailable']): void;
    };
    lanes: { isPaused(queue: string, lane: string): boolean; count(...of: [string, string, string]): void };
  },
) {
  const { connection, identity, logger, queues } = context;
  const { events, lanes, networks, timeoutMs = TIMEOUT_MS, scale = 1 } = options;
  const webhooks = createWebhookStore(connection);
  const deliveries = createDeliveryStore(connection);
  const authority = createWebhookAuthority({
    ...{ webhooks, deliveries },
    owners: events.owners,
    report: (id) => actions.send(id),
  });
  const backlogs = createBacklogs({
    ...{ webhooks, authority, deliveries },
    max: options.backlog ?? DEFAULT_BACKLOG,
  });
  const actions = createReportedActions({
    ...{ connection, identity, logger, collection: WEBHOOKS, subject: WEBHOOK_ACTION },
  });
  const secrets = createWebhookSecrets(options.masterKeys);
  const queue = queues({ name: QUEUE, lanes: [LANE], kind: deliveryJobs({ connection }) });

  events.follow(
    createFanOut({
      ...{ webhooks, authority, deliveries, backlogs, logger, rights: events.rights },
      announce: queue.announce,
    }),
  );

  const countIn =
    (name: string) =>
    (_job: unknown, { result }: Outcome): void => {
      if (result !== 'postponed') lanes.count(name, LANE, result);
    };
  const isAllowedHost = (hostname: string) => networks.length > 0 || isPublicHost(hostname);
  const replayQueue = queues({ name: REPLAYS.queue, lanes: [LANE], kind: replayJobs({ connection }) });
  const replays = createReplays({
    ...{ webhooks, authority, deliveries, backlogs, rights: events.rights, events: events.store },
    announce: queue.announce,
    async begin(...of) {
      const job = await beginReplay({ connection }, ...of);
      if (job !== undefined) replayQueue.announce(job);
      return job !== undefined;
    },
  });
  const replayWorker = replayQueue.work({
    ...{ lane: LANE, slots: REPLAYS.slots, timeoutMs: REPLAYS.timeoutMs },
    handler: ({ document }, { note }) => replays.makeBatch(webhookDocuments.read(document), note),
    paused: () => lanes.isPaused(REPLAYS.queue, LANE),
    onEnded: countIn(REPLAYS.queue),
  });
  const service = createWebhookService({
    ...{ webhooks, authority, deliveries, secrets, replays, backlogs, isAllowedHost },
    announce: queue.announce,
    report: actions.send,
    events: events.store,
    rights: events.rights,
  });
  events.explainUnavailable(service.unavailable);
  const endpoints = createEndpoints({ networks, timeoutMs });
  const worker = queue.work({
    lane: LANE,
    handler: createWebhookSender({
      ...{ webhooks, authority, deliveries, secrets, endpoints, scale },
      events: events.store,
      rights: events.rights,
    }),
    slots: Math.max(options.slots, 1),
    // With the time that a delivery waits for its turn.
    timeoutMs: timeoutMs + 5000,
    maxAttempts: MAX_ATTEMPTS,
    backoffMs: { first: BACKOFF_MS.first * scale, max: BACKOFF_MS.max * scale },
    paused: () => lanes.isPaused(QUEUE, LANE),
    onEnded: countIn(QUEUE),
  });

  const parts: ResourceParts = {
    routes(app, { mountOptions }) {
      mountResource(app, createWebhookResource(service, secrets.reveal), mountOptions);
      mountWebhookRoutes(app, {
        ...{ webhooks: service, reveal: secrets.reveal, authenticate: mountOptions.authenticate },
      });
      mountDeliveryRoutes(app, {
        ...{ webhooks: service, events: events.store, mountOptions },
        deliveriesOf: deliveries.within,
      });
    },
    prepare: () => reseal(webhooks, secrets),
    background: [actions, ...(options.slots === 0 ? [] : [worker, replayWorker])],
    expiring: [DELIVERIES],
    async erase(userId) {
      for (const id of await webhooks.removeAllOf(userId)) await deliveries.removeAllOf(id);
    },
  };
  return { parts, operated: [queue, replayQueue].map((it) => ({ queue: it, lanes: [LANE] })) };
}

/** Needed after a change of the master key, so that the former key can be removed. */
async function reseal(webhooks: WebhookStore, secrets: WebhookSecrets): Promise<void> {
  for await (const webhook of webhooks.all()) {
    if (secrets.resealed(webhook) === undefined) continue;
    await webhooks.update(webhook.id, (current) => {
      const resealed = secrets.resealed(current);
      return resealed && { ...current, secrets: resealed };
    });
  }
}

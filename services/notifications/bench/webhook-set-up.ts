import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Logger } from '@gatehouse/core/logger';
import type { Database } from '@gatehouse/data/database';
import type { JobQueues } from '@gatehouse/events/job-queue';
import type { StoredEvent } from '../src/events/event.ts';
import { createEventStore } from '../src/events/event-store.ts';
import type { ReadingRights } from '../src/events/reading-rights.ts';
import { createWebhooksModule } from '../src/webhooks/module.ts';
import { createWebhookSecrets } from '../src/webhooks/secrets.ts';

export const NETWORKS = ['127.0.0.0/8'];

export type Arrival = { kind: string; endpoint: string; event: string; at: number };

/** The endpoints of webhook-receiver.ts, in a thread of their own. */
export async function startReceiver(onArrival: (arrival: Arrival) => void) {
  const worker = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const { promise, resolve } = Promise.withResolvers<number>();
  worker.on('message', (message: Arrival | { port: number }) =>
    'port' in message ? resolve(message.port) : onArrival(message),
  );
  return { origin: `http://127.0.0.1:${await promise}`, stop: () => worker.terminate() };
}

/** The webhooks of owners who may read all events that name them. `deliver` passes an event on once it is stored. */
export function createBenchWebhooks(options: {
  connection: Database['connection'];
  logger: Logger;
  queues: JobQueues;
  slots: number;
  /** Seals the secrets; a new one unless given. */
  masterKey?: Buffer;
}) {
  const { slots, masterKey = randomBytes(32), ...context } = options;
  const store = createEventStore(context.connection);
  const masterKeys = [masterKey] as const;
  const ownerNow = async (id: string) => ({
    ...{ role: 'user' as const, person: id, clientIds: [], visibleIds: [], scopes: ['read:data'] },
    standing: { owner: id, recovery: 0, authority: 0, credentials: [] },
  });
  let deliver: (event: StoredEvent) => Promise<void> = async () => {};
  const module = createWebhooksModule(
    { ...context, identity: { request: () => Promise.reject(new Error('not asked')) } },
    {
      ...{ masterKeys, networks: NETWORKS, slots, backlog: 1_000_000 },
      events: {
        store,
        owners: { find: ownerNow, findNow: ownerNow },
        rights: {
          ofWebhook: async ({ reader }: { reader: string }) => ({
            scopes: new Set(['read:data']),
            readers: [reader],
          }),
        } as unknown as ReadingRights,
        follow: (listener) => {
          deliver = listener;
        },
        explainUnavailable() {},
      },
      lanes: { isPaused: () => false, count() {} },
    },
  );
  return {
    ...{ module, store, secrets: createWebhookSecrets(masterKeys) },
    deliver: (event: StoredEvent) => deliver(event),
  };
}

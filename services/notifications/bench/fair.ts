// `npm run bench:fair`: how long after an event an owner has it while another owner's endpoints hang, or thousands of another
// owner's deliveries wait, beside the same while nothing else happens. All in this process, on one MongoDB, without NATS.

import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createJobQueues } from '@gatehouse/events/job-queue';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { createBenchWebhooks, startReceiver } from './webhook-set-up.ts';

const SLOTS = 64;
/** Endpoints of the owner who attacks. */
const ENDPOINTS = 100;
/** Events that are measured, and the pause between them. */
const EVENTS = 60;
const EVERY_MS = 100;
/** In milliseconds: the limits that an attack must not exceed, at the 95th percentile. */
const MAX_MS = 2000;
const MAX_RATIO = 10;
const logger = createLogger({ name: 'bench', level: 'error', readable: false });

async function bench(mongodbUri: string): Promise<boolean> {
  const database = createDatabase({ uri: mongodbUri, name: 'bench', logger });
  const { connection } = database;
  const begun = new Map<string, number>();
  const latencies = new Map<string, number>();
  const receiver = await startReceiver(({ event, at }) => {
    const since = begun.get(event);
    if (since !== undefined) latencies.set(event, at - since);
  });
  const queues = createJobQueues({ name: 'bench', broadcast: undefined, logger });
  const { module, store, secrets, deliver } = createBenchWebhooks({
    connection,
    logger,
    queues,
    slots: SLOTS,
  });
  await database.start();
  const webhooks = connection.collection<{ _id: string }>('webhooks');

  async function subscribe(owner: string, kind: string, count: number): Promise<void> {
    const documents = Array.from({ length: count }, (_, i) => {
      const [_id, now] = [newId('whk'), new Date()];
      const [{ sealed } = { sealed: '' }] = secrets.rotated(_id);
      return {
        ...{ _id, owner, reader: owner, description: null, slot: i, ordered: false, status: 'active' },
        basis: { owner, recovery: 0, authority: 0, keyId: null },
        ...{ url: `${receiver.origin}/${kind}/${owner}-${i}`, events: ['order.created'], pause_reason: null },
        ...{ secrets: [{ sealed, ends_at: null }], version: 1, created_at: now, updated_at: now },
      };
    });
    await webhooks.insertMany(documents);
  }

  async function happen(reader: string): Promise<void> {
    const at = Date.now();
    const event = await store.add({
      ...{ type: 'order.created', data: { order_id: newId('ord') }, occurredAt: new Date() },
      ...{ aggregate: newId('ord'), sequence: 1, readers: [reader], source: newId('evt'), version: 1 },
    });
    if (reader === 'usr_victim') begun.set(event.id, at);
    await deliver(event);
  }

  /** The 95th percentile of the time after which the victim has an event, in milliseconds. */
  async function p95(): Promise<number> {
    begun.clear();
    latencies.clear();
    for (let i = 0; i < EVENTS; i += 1) {
      await happen('usr_victim');
      await sleep(EVERY_MS);
    }
    for (let i = 0; i < 300 && latencies.size < EVENTS; i += 1) await sleep(100);
    const all = [...begun.keys()].map((id) => latencies.get(id) ?? Number.POSITIVE_INFINITY);
    return all.toSorted((a, b) => a - b)[Math.floor(EVENTS * 0.95)] ?? 0;
  }

  await subscribe('usr_victim', 'good', 1);
  for (const part of module.parts.background ?? []) part.start();
  await p95();
  const quiet = await p95();
  process.stdout.write(`quiet: ${quiet} ms at the 95th percentile\n`);
  let isFair = true;
  for (const [name, kind, events] of [
    [`400 deliveries to ${ENDPOINTS} endpoints that never respond`, 'hang', 4],
    [`1,000 deliveries to ${ENDPOINTS} endpoints that never respond`, 'hang', 10],
    [`1,000 deliveries to ${ENDPOINTS} endpoints that take two seconds`, 'slow', 10],
    [`20,000 deliveries to ${ENDPOINTS} endpoints that respond at once`, 'good', 200],
  ] as const) {
    await subscribe('usr_attacker', kind, ENDPOINTS);
    await Promise.all(Array.from({ length: events }, () => happen('usr_attacker')));
    await sleep(1000);
    const ms = await p95();
    const isWithin = ms <= MAX_MS && ms <= MAX_RATIO * quiet;
    isFair &&= isWithin;
    process.stdout.write(
      `${name}: ${ms} ms, ${(ms / quiet).toFixed(1)} times${isWithin ? '' : ' (TOO LONG)'}\n`,
    );
    await webhooks.deleteMany({ owner: 'usr_attacker' });
    await connection.collection('webhook_deliveries').deleteMany({ status: 'pending' });
    await sleep(2000);
  }
  for (const part of [...(module.parts.background ?? [])].toReversed()) await part.stop();
  await database.stop();
  await receiver.stop();
  return isFair;
}

const mongo = await startTestMongo();
try {
  if (!(await bench(mongo.uri))) process.exitCode = 1;
} finally {
  await mongo.stop();
}

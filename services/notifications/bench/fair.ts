// `npm run bench:fair`: how long after an event an owner has it while another owner's endpoints hang, or thousands of another
// owner's deliveries wait, beside the same while nothing else happens. All in this process, on one MongoDB, without NATS; or with
// `-- replicas`, in two other processes and with NATS, one of which is killed (SIGKILL) during each attack and started again.

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createJobQueues } from '@gatehouse/events/job-queue';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { natsServer, startNats } from '@gatehouse/testing/nats-server';
import { type SpawnedNode, spawnNode, until } from '@gatehouse/testing/processes';
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

/** Replicas that make deliveries, and can be killed. */
async function startReplicas(count: number, args: readonly string[]) {
  const start = async (): Promise<SpawnedNode> => {
    const replica = spawnNode([join(import.meta.dirname, 'fair-replica.ts'), ...args], {});
    await until(() => replica.output().includes('started'), 20_000);
    return replica;
  };
  const replicas = await Promise.all(Array.from({ length: count }, start));
  async function kill(): Promise<void> {
    const [killed] = replicas.splice(0, 1);
    killed?.child.kill('SIGKILL');
    await killed?.ended;
  }
  return {
    async killOne(): Promise<void> {
      await kill();
      replicas.push(await start());
    },
    async stop(): Promise<void> {
      while (replicas.length > 0) await kill();
    },
  };
}

/** @param natsUrl where deliveries are made by replicas */
async function bench(mongodbUri: string, natsUrl: string | undefined): Promise<boolean> {
  const database = createDatabase({ uri: mongodbUri, name: 'bench', logger });
  const { connection } = database;
  const begun = new Map<string, number>();
  const latencies = new Map<string, number>();
  const receiver = await startReceiver(({ event, at }) => {
    const since = begun.get(event);
    if (since !== undefined) latencies.set(event, at - since);
  });
  const broadcast =
    natsUrl === undefined ? undefined : createNatsBroadcast({ url: natsUrl, name: 'bench', logger });
  const masterKey = randomBytes(32);
  const queues = createJobQueues({ name: 'bench', broadcast, logger });
  const { module, store, secrets, deliver } = createBenchWebhooks({
    connection,
    logger,
    queues,
    slots: natsUrl === undefined ? SLOTS : 0,
    masterKey,
  });
  await database.start();
  await broadcast?.start();
  const replicas =
    natsUrl === undefined
      ? undefined
      : await startReplicas(2, [mongodbUri, natsUrl, String(SLOTS), masterKey.toString('base64')]);
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

  let slowest = 0;
  /** The 95th percentile of the time after which the victim has an event, in milliseconds. */
  async function p95({ isKilled = false } = {}): Promise<number> {
    begun.clear();
    latencies.clear();
    let killing: Promise<void> | undefined;
    for (let i = 0; i < EVENTS; i += 1) {
      if (isKilled && i === EVENTS / 3) killing = replicas?.killOne();
      await happen('usr_victim');
      await sleep(EVERY_MS);
    }
    await killing;
    for (let i = 0; i < 300 && latencies.size < EVENTS; i += 1) await sleep(100);
    // One that is lost is later than any.
    if (latencies.size < EVENTS) return Number.POSITIVE_INFINITY;
    const all = [...latencies.values()].toSorted((a, b) => a - b);
    slowest = Math.max(slowest, all.at(-1) ?? 0);
    return all[Math.floor(EVENTS * 0.95)] ?? 0;
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
    const ms = await p95({ isKilled: true });
    const isWithin = ms <= MAX_MS && ms <= MAX_RATIO * quiet;
    isFair &&= isWithin;
    process.stdout.write(
      `${name}: ${ms} ms, ${(ms / quiet).toFixed(1)} times${isWithin ? '' : ' (TOO LONG)'}\n`,
    );
    await webhooks.deleteMany({ owner: 'usr_attacker' });
    await connection.collection('webhook_deliveries').deleteMany({ status: 'pending' });
    await sleep(2000);
  }
  process.stdout.write(`the slowest event: ${slowest} ms\n`);
  for (const part of [...(module.parts.background ?? [])].toReversed()) await part.stop();
  await replicas?.stop();
  await broadcast?.stop();
  await database.stop();
  await receiver.stop();
  return isFair;
}

const isReplicated = process.argv.includes('replicas');
if (isReplicated && !natsServer) throw new Error('there is no nats-server on this machine');
const cleanups: (() => unknown)[] = [];
const mongo = await startTestMongo();
try {
  const nats = isReplicated
    ? await startNats({ teardown: (action) => void cleanups.push(action) })
    : undefined;
  if (!(await bench(mongo.uri, nats?.url))) process.exitCode = 1;
} finally {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  await mongo.stop();
}

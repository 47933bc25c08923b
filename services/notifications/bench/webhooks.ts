// `npm run bench:webhooks [-- SECONDS]`: 1,000 endpoints, of which ten hang, ten answer 500 and ten take two seconds: how long after
// an event the others have it. And how many deliveries a second there are, beside what they are made of: a message
// published to JetStream, read, posted by the same client, and acknowledged. All in this process, on one MongoDB and NATS.

import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { outboxEvent } from '@gatehouse/data/outbox';
import { createStreamConsumer } from '@gatehouse/events/jetstream-consumer';
import { createJetStreamEvents } from '@gatehouse/events/jetstream-events';
import { createJobQueues } from '@gatehouse/events/job-queue';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createOutbound } from '@gatehouse/outbound/outbound';
import { natsServer, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import type { StoredEvent } from '../src/events/event.ts';
import { ownerOf } from '../src/events/event-types.ts';
import { type Arrival, createBenchWebhooks, NETWORKS, startReceiver } from './webhook-set-up.ts';

const seconds = Number(process.argv[2] ?? 20);
const ENDPOINTS = 1000;
const BAD = 10;
/** Endpoints that an event is for, and events a second. */
const GROUP = 20;
const RATE = 10;
/** Deliveries of a measurement of the rate, at the endpoints that are good. */
const ROUND = 4000;
const ROUNDS = 5;
const logger = createLogger({ name: 'bench', level: 'error', readable: false });

const kindOf = (i: number) => (i < BAD ? 'hang' : i < 2 * BAD ? 'fail' : i < 3 * BAD ? 'slow' : 'good');

async function bench(natsUrl: string, mongodbUri: string): Promise<void> {
  const broadcast = createNatsBroadcast({ url: natsUrl, name: 'bench', logger });
  await broadcast.start();
  await until(() => broadcast.connection() !== undefined, 10_000);
  const database = createDatabase({ uri: mongodbUri, name: 'bench', logger });
  const { connection } = database;
  let onArrival: (arrival: Arrival) => void = () => {};
  const receiver = await startReceiver((arrival) => onArrival(arrival));

  const queues = createJobQueues({ name: 'bench', broadcast, logger });
  const { module, store, secrets, deliver } = createBenchWebhooks({ connection, logger, queues, slots: 256 });
  await database.start();
  const documents = Array.from({ length: ENDPOINTS }, (_, i) => {
    const [_id, now] = [newId('whk'), new Date()];
    const [{ sealed } = { sealed: '' }] = secrets.rotated(_id);
    return {
      ...{ _id, owner: `app_${i}`, reader: ownerOf(i % (ENDPOINTS / GROUP)), description: null },
      basis: { owner: ownerOf(i % (ENDPOINTS / GROUP)), recovery: 0, authority: 0, keyId: null },
      ...{ url: `${receiver.origin}/${kindOf(i)}/${i}`, events: ['order.created'], ordered: false },
      ...{ status: 'active', pause_reason: null, secrets: [{ sealed, ends_at: null }], version: 1 },
      ...{ created_at: now, updated_at: now },
    };
  });
  await connection.collection<{ _id: string }>('webhooks').insertMany(documents);
  for (const part of module.parts.background ?? []) part.start();

  async function happen(group: number): Promise<StoredEvent> {
    const event = await store.add({
      ...{
        type: 'order.created',
        data: { order_id: newId('ord') },
        occurredAt: new Date(),
        aggregate: newId('ord'),
      },
      ...{ sequence: 1, readers: [ownerOf(group)], source: newId('evt'), version: 1 },
    });
    await deliver(event);
    return event;
  }

  const begun = new Map<string, number>();
  const latencies: number[] = [];
  const counts: Record<string, number> = {};
  onArrival = ({ kind, event, at }) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
    const since = begun.get(event);
    if (kind === 'good' && since !== undefined) latencies.push(at - since);
  };
  const groups = ENDPOINTS / GROUP;
  const expected = { good: 0 };
  const happening: Promise<unknown>[] = [];
  for (let i = 0; i < seconds * RATE; i += 1) {
    const at = Date.now();
    happening.push(happen(i % groups).then(({ id }) => void begun.set(id, at)));
    for (let j = 0; j < GROUP; j += 1) expected.good += kindOf((i % groups) + j * groups) === 'good' ? 1 : 0;
    await sleep(1000 / RATE);
  }
  await Promise.all(happening);
  await until(() => (counts.good ?? 0) >= expected.good, 60_000).catch(() => {});
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  process.stdout.write(
    `${ENDPOINTS} endpoints, ${BAD} of which hang, ${BAD} answer 500, ${BAD} are slow; ${RATE * GROUP} deliveries a second for ${seconds} s\n` +
      `the others: ${counts.good} of ${expected.good} deliveries, after ${at(0.5)} ms at the median, ${at(0.99)} ms at the 99th percentile, ${at(1)} ms at most\n`,
  );

  // The rate, of good endpoints alone.
  await connection.collection('webhooks').deleteMany({ url: { $not: /good/ } });
  const outbound = createOutbound({ to: 'public', networks: NETWORKS });
  const events = createJetStreamEvents({ connection: broadcast.connection });
  const reader = createStreamConsumer({
    ...{ connection: broadcast.connection, durable: 'reader', logger },
    stream: { name: 'RAW', subject: 'raw.*', maxAgeMs: 3_600_000 },
    async handle({ data }) {
      const body = JSON.stringify(data);
      const headers = { 'content-type': 'application/json', 'webhook-id': 'raw' };
      const response = await outbound.fetch(`${receiver.origin}/good/raw`, { method: 'POST', headers, body });
      await response.body?.cancel();
    },
  });
  reader.start();
  const isOpen = () =>
    events.publish(outboxEvent('raw.first', {})).then(
      () => true,
      () => false,
    );
  await until(isOpen, 10_000);

  async function rateOf(count: number, start: () => Promise<unknown>): Promise<number> {
    let arrived = 0;
    onArrival = () => {
      arrived += 1;
    };
    const since = performance.now();
    await start();
    await until(() => arrived >= count, 120_000);
    return (count * 1000) / (performance.now() - since);
  }
  const good = ENDPOINTS - 3 * BAD;
  const rounds: { raw: number; webhooks: number }[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    await sleep(1000);
    const raw = await rateOf(ROUND, () =>
      Promise.all(
        Array.from({ length: ROUND }, () =>
          events.publish(outboxEvent('raw.job', { order_id: newId('ord') })),
        ),
      ),
    );
    const each = Math.ceil(ROUND / good);
    const delivered = await rateOf(each * good, () =>
      Promise.all(Array.from({ length: each * groups }, (_, i) => happen(i % groups))),
    );
    // In the first one, what it runs is compiled.
    if (round >= 0) rounds.push({ raw, webhooks: delivered });
  }
  const median = (of: (round: (typeof rounds)[number]) => number) =>
    rounds.map(of).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
  process.stdout.write(
    `published, read and posted ${median(({ raw }) => raw).toFixed(0)}/s   webhooks ${median((it) => it.webhooks).toFixed(0)}/s   ratio ${median((it) => it.webhooks / it.raw).toFixed(2)}\n`,
  );
  for (const part of [...(module.parts.background ?? []), reader].toReversed()) await part.stop();
  await database.stop();
  await broadcast.stop();
  await receiver.stop();
}

if (!natsServer) throw new Error('there is no nats-server on this machine');
const cleanups: (() => unknown)[] = [];
const mongo = await startTestMongo();
const server = await startJetStream({ teardown: (action: () => unknown) => void cleanups.push(action) });
try {
  await bench(server.url, mongo.uri);
} finally {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  await mongo.stop();
}

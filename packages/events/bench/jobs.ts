import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { outboxEvent } from '@gatehouse/data/outbox';
import { natsServer, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import { createJobStateStore } from '../src/job-state-store.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

/**
 * `npm run bench:jobs`: what the queue adds to JetStream. Jobs are published and worked on, with their states in MongoDB and a
 * handler that does nothing, beside messages that are published and acknowledged with the client alone. Both in turns, in
 * this process and on one server, so that whatever else the machine does falls on both.
 */

const ROUNDS = 9;
const JOBS = 4000;
const CONCURRENCY = 512;

/** Jobs a second, and the CPU time of this process for a job, in microseconds. */
type Rates = { accepted: number; delivered: number; cpu: number };
/** Starts to work; resolves when so many jobs are done. */
type Work = (count: number) => Promise<void>;
const logger = createLogger({ name: 'bench', level: 'warn', readable: false });

/** Publishes while others work, as it is in production. */
async function measure(
  publish: (data: Record<string, unknown>) => Promise<unknown>,
  work: Work,
): Promise<Rates> {
  const cpuBefore = process.cpuUsage();
  const from = performance.now();
  const rate = () => (JOBS * 1000) / (performance.now() - from);
  const delivered = work(JOBS).then(rate);
  let left = JOBS;
  const publishing = async () => {
    while (left > 0) {
      left -= 1;
      await publish({ notification: newId('ntf') });
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, publishing));
  const rates = { accepted: rate(), delivered: await delivered };
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ...rates, cpu: (user + system) / JOBS };
}

async function bench(url: string, mongodbUri: string): Promise<void> {
  const broadcast = createNatsBroadcast({ url, name: 'bench', logger });
  await broadcast.start();
  await until(() => broadcast.connection() !== undefined, 10_000);
  const nats = broadcast.connection();
  if (nats === undefined) throw new Error('there is no connection to NATS');

  const client = jetstream(nats);
  const manager = await jetstreamManager(nats);
  await manager.streams.add({ name: 'RAW', subjects: ['raw.>'], retention: RetentionPolicy.Workqueue });
  await manager.consumers.add('RAW', { durable_name: 'raw', ack_policy: AckPolicy.Explicit });
  const raw = () =>
    measure(
      (data) => client.publish('raw.job', JSON.stringify(data), { msgID: newId('evt') }),
      async (count) => {
        const consumer = await client.consumers.get('RAW', 'raw');
        let acknowledged = 0;
        const messages = await consumer.consume({ max_messages: CONCURRENCY });
        for await (const message of messages) {
          message.ack();
          acknowledged += 1;
          if (acknowledged === count) break;
        }
        await nats.flush();
      },
    );

  const database = createDatabase({ uri: mongodbUri, name: 'bench', logger });
  const queues = createJetStreamJobQueues({ connection: broadcast.connection, name: 'bench', logger });
  const jobStates = createJobStateStore(database.connection);
  const queue = queues({ name: 'jobs', lanes: ['all'], jobStates });
  await database.start();
  const queued = () =>
    measure(
      (data) => queue.publish(outboxEvent(queue.subject('normal', 'all'), data)),
      async (count) => {
        const { promise: done, resolve } = Promise.withResolvers<void>();
        let handled = 0;
        const handler = () => {
          handled += 1;
          if (handled === count) resolve();
        };
        const worker = queue.work({ lane: 'all', slots: CONCURRENCY, timeoutMs: 10_000, handler });
        worker.start();
        await done;
        await worker.stop();
      },
    );

  const rounds: { raw: Rates; queue: Rates }[] = [];
  await raw();
  await queued();
  for (let round = 0; round < ROUNDS; round += 1) rounds.push({ raw: await raw(), queue: await queued() });
  const median = (of: (round: { raw: Rates; queue: Rates }) => number) =>
    rounds.map(of).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
  process.stdout.write(
    `${JOBS} jobs, ${CONCURRENCY} at the same time, medians of ${ROUNDS} rounds and of their ratios\n`,
  );
  for (const [kind, unit] of [
    ['accepted', '/s'],
    ['delivered', '/s'],
    ['cpu', ' µs'],
  ] as const) {
    const column = (name: 'raw' | 'queue') =>
      median((round) => round[name][kind])
        .toFixed(0)
        .padStart(6);
    const ratio = median((round) => round.queue[kind] / round.raw[kind]).toFixed(2);
    process.stdout.write(
      `${`${kind}${unit}`.padEnd(11)}   JetStream ${column('raw')}   queue ${column('queue')}   ratio ${ratio}\n`,
    );
  }
  await database.stop();
  await broadcast.stop();
}

if (!natsServer) throw new Error('there is no nats-server on this machine');
const cleanups: (() => unknown)[] = [];
const mongo = await startTestMongo();
const teardown = { teardown: (action: () => unknown) => void cleanups.push(action) };
const server = await startJetStream(teardown);
try {
  await bench(server.url, mongo.uri);
} finally {
  for (const cleanup of cleanups.toReversed()) await cleanup();
  await mongo.stop();
}

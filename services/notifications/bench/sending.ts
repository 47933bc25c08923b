// `npm run bench:notifications [-- ROUNDS]`: notifications accepted and sent a second, with a provider that does nothing, beside what
// they are made of: the same document inserted, one event published to JetStream for it, and that event read and acknowledged.
// Both in turns, in this process and on the same MongoDB and NATS, so that whatever else the machine does falls on both.

import { newId } from '@gatehouse/core/ids';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { JOB_INDEXES, newJob } from '@gatehouse/data/job-document';
import { outboxEvent } from '@gatehouse/data/outbox';
import { createStreamConsumer } from '@gatehouse/events/jetstream-consumer';
import { createJetStreamEvents } from '@gatehouse/events/jetstream-events';
import { createJobQueues } from '@gatehouse/events/job-queue';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { natsServer, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { startTestMongo } from '@gatehouse/testing/test-mongo';
import type { Channel } from '../src/notifications/channels/channel.ts';
import { notificationJobs } from '../src/notifications/notification-jobs.ts';
import { createNotificationService } from '../src/notifications/notification-service.ts';
import { createSenderAuthority } from '../src/notifications/sender-authority.ts';
import { createSender } from '../src/notifications/sending.ts';
import { createNotificationStore } from '../src/notifications/store/notification-store.ts';

const rounds = Number(process.argv[2] ?? 5);
const COUNT = 1000;
const CONCURRENCY = 64;
const RAW = 'RAW';

/** A second, and the CPU time of this process for one, in microseconds. */
type Rates = { accepted: number; sent: number; cpu: number };
const logger = createLogger({ name: 'bench', level: 'warn', readable: false });

/** `accept` is called COUNT times; `counted` is told how often something was sent. */
async function measure(accept: () => Promise<unknown>, counted: { sent: number }): Promise<Rates> {
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  const rate = () => (COUNT * 1000) / (performance.now() - begun);
  const goal = counted.sent + COUNT;
  const sent = until(() => counted.sent >= goal, 120_000).then(rate);
  let left = COUNT;
  const accepting = async () => {
    while (left > 0) {
      left -= 1;
      await accept();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, accepting));
  const rates = { accepted: rate(), sent: await sent };
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ...rates, cpu: (user + system) / COUNT };
}

async function bench(natsUrl: string, mongodbUri: string): Promise<void> {
  const broadcast = createNatsBroadcast({ url: natsUrl, name: 'bench', logger });
  await broadcast.start();
  await until(() => broadcast.connection() !== undefined, 10_000);
  const database = createDatabase({ uri: mongodbUri, name: 'bench', logger });
  const { connection } = database;

  const notifications = { sent: 0 };
  const queues = createJobQueues({ name: 'bench', broadcast, logger });
  const queue = queues({ name: 'messages', lanes: ['sms'], kind: notificationJobs({ connection }) });
  const store = createNotificationStore(connection, { announce: queue.announce, logger });
  const standing = { owner: null, recovery: 0, authority: 0, credentials: [] };
  const owner = {
    role: 'machine',
    person: null,
    clientIds: [],
    visibleIds: [],
    scopes: [],
    standing,
  } as const;
  const authority = createSenderAuthority({ find: async () => owner });
  const service = createNotificationService({
    store,
    userExists: async () => true,
    types: new Set(['sms']),
    authority,
  });
  const channel: Channel = {
    send: async () => ({ providerId: null }),
    isOpen: () => false,
    failure: () => undefined,
    async check() {},
    stop() {},
  };
  const worker = queue.work({
    ...{ lane: 'sms', slots: CONCURRENCY, timeoutMs: 30_000 },
    handler: createSender({ channels: new Map([['sms', channel]]), logger, authority }),
    onEnded() {
      notifications.sent += 1;
    },
  });

  const raw = { sent: 0 };
  const events = createJetStreamEvents({ connection: broadcast.connection });
  const reader = createStreamConsumer({
    ...{ connection: broadcast.connection, durable: 'reader', logger },
    stream: { name: RAW, subject: 'raw.*', maxAgeMs: 3_600_000 },
    async handle() {
      raw.sent += 1;
    },
  });
  await database.start();
  const collection = connection.collection<{ _id: string }>('raw');
  await collection.createIndex(JOB_INDEXES.due.fields, JOB_INDEXES.due.options);
  for (const part of [worker, reader]) part.start();
  await until(
    () =>
      events.publish(outboxEvent('raw.first', {})).then(
        () => true,
        () => false,
      ),
    10_000,
  );
  await until(() => raw.sent === 1, 10_000);

  const draft = { userId: 'usr_1', message: 'Your order is here.', type: 'sms', priority: 'normal' } as const;
  const accept = () =>
    service.create({ ...draft, id: newId('ntf') }, { person: undefined, clientId: 'app_1' });
  async function insertAndPublish(): Promise<void> {
    const [_id, now] = [newId('ntf'), new Date()];
    await collection.insertOne({
      ...{ _id, ...draft, status: 'queued', reason: null, attempts: [], created_at: now, updated_at: now },
      ...{ version: 1, job: newJob({ lane: 'sms', priority: 'normal', owner: 'app_1' }) },
    } as { _id: string });
    await events.publish(outboxEvent('raw.job', { notification: _id, job: 1 }));
  }

  const results: { raw: Rates; notifications: Rates }[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const result = {
      raw: await measure(insertAndPublish, raw),
      notifications: await measure(accept, notifications),
    };
    // In the first one, what it runs is compiled.
    if (round >= 0) results.push(result);
  }
  const median = (of: (result: (typeof results)[number]) => number) =>
    results.map(of).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
  process.stdout.write(
    `${COUNT} notifications, ${CONCURRENCY} at the same time, medians of ${rounds} rounds and of their ratios\n`,
  );
  for (const [kind, unit] of [
    ['accepted', '/s'],
    ['sent', '/s'],
    ['cpu', ' µs'],
  ] as const) {
    const column = (name: 'raw' | 'notifications') =>
      median((result) => result[name][kind])
        .toFixed(0)
        .padStart(6);
    const ratio = median((result) => result.notifications[kind] / result.raw[kind]).toFixed(2);
    process.stdout.write(
      `${`${kind}${unit}`.padEnd(11)} insert and publish ${column('raw')}   notifications ${column('notifications')}   ratio ${ratio}\n`,
    );
  }
  for (const part of [worker, reader]) await part.stop();
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

import { outboxEvent } from '@gatehouse/data/outbox';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import t from 'tap';
import { createJetStreamEvents } from '../src/jetstream-events.ts';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import { createJobStateStore } from '../src/job-state-store.ts';

/** What deploy/docker/nats.conf lets a service with queues do, and what not. */

const failure = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);

t.test('permissions', { skip }, async (t) => {
  const { port, passwords } = await startNatsWithPermissions(t);
  const clients: NatsConnection[] = [];
  t.teardown(() => Promise.all(clients.map((client) => client.close())));
  async function connectAs(user: 'notifications' | 'commerce' | 'users' | 'items') {
    const client = await connect({ servers: `127.0.0.1:${port}`, user, pass: passwords[user] ?? '' });
    clients.push(client);
    return client;
  }
  const nats = await connectAs('notifications');

  t.test('a service has its queues and its dead letters', async (t) => {
    const { store: jobStates } = await startTestDatabase(t, { define: createJobStateStore });
    const queues = createJetStreamJobQueues({ connection: () => nats, name: 'notifications', logger });
    const lanes = ['email', 'sms'];
    const queue = queues({ name: 'messages', lanes, jobStates });
    const done: unknown[] = [];
    let broken = true;
    const worker = queue.work({
      ...{ lane: 'email', slots: 2, timeoutMs: 1000, maxAttempts: 1 },
      handler({ data }) {
        if (broken && data.n === 2) throw new Error('broken');
        done.push(data.n);
      },
    });
    worker.start();
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      const event = outboxEvent(queue.subject('high', 'email'), { n });
      await queue.publish(event);
      ids.push(event.id);
    }
    const { deadLetters } = queue;
    const isDead = async () => (await deadLetters.list({ limit: 9 })).data.length === 1;
    await until(async () => done.length === 3 && (await isDead()), 5000);
    t.match(await queue.depth(), [{ lane: 'email', priority: 'high', waiting: 0, deadLetters: 1 }]);
    t.equal(await deadLetters.replay(`${ids[2]}`), true);
    await until(isDead, 5000);
    t.equal(await deadLetters.remove(`${ids[2]}`), true);
    broken = false;
    t.equal(await deadLetters.purge(), 0);
    await worker.stop();
  });

  t.test('it reads the orders of commerce with its own consumer, and nothing else of others', async (t) => {
    const commerce = await connectAs('commerce');
    const durable_name = 'notifications_analytics';
    const filter_subject = 'commerce.order.*';
    const events = createJetStreamEvents({
      connection: () => commerce,
      stream: {
        ...{ name: 'COMMERCE', subjects: ['commerce.>'] },
        consumers: [{ name: durable_name, filter: filter_subject }],
      },
    });
    for (const kind of ['order.created', 'product.changed', 'order.changed']) {
      await events.publish(outboxEvent(`commerce.${kind}`, { kind }));
    }
    const api = { apiPrefix: 'JS.COMMERCE.API', timeout: 1000, checkAPI: false };
    const { consumers } = await jetstreamManager(nats, api);
    const consumer = await jetstream(nats, api).consumers.get('COMMERCE', durable_name);
    const read: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 2, expires: 3000 })) {
      read.push(message.subject);
      t.equal(await message.ackAck(), true);
    }
    t.strictSame(read, ['commerce.order.created', 'commerce.order.changed']);
    t.match(await consumer.info(), { num_pending: 0, num_ack_pending: 0 });

    const config = { ack_policy: AckPolicy.Explicit };
    // It could have events sent to any subject of the other account.
    for (const [name, filter] of [
      [durable_name, filter_subject],
      [durable_name, 'commerce.product.*'],
      ['other', filter_subject],
    ] as const) {
      const refused = await failure(
        consumers.add('COMMERCE', { ...config, durable_name: name, filter_subject: filter }),
      );
      t.ok(refused instanceof Error, `${name} ${filter}`);
    }
    const items = await connectAs('items');
    const subjects = [
      'JS.COMMERCE.API.CONSUMER.MSG.NEXT.COMMERCE.notifications_analytics',
      'JS.COMMERCE.API.CONSUMER.INFO.COMMERCE.notifications_analytics',
    ];
    for (const subject of subjects) {
      t.ok((await failure(items.request(subject, '', { timeout: 500 }))) instanceof Error, subject);
    }
  });

  t.test('it deletes no stream and no job', async (t) => {
    for (const subject of [
      '$JS.API.STREAM.DELETE.NOTIFICATIONS_MESSAGES_HIGH',
      '$JS.API.STREAM.PURGE.NOTIFICATIONS_MESSAGES_HIGH',
      '$JS.API.STREAM.UPDATE.NOTIFICATIONS_MESSAGES_HIGH',
      '$JS.API.STREAM.MSG.DELETE.NOTIFICATIONS_MESSAGES_HIGH',
      'JS.COMMERCE.API.STREAM.DELETE.COMMERCE',
      'JS.COMMERCE.API.CONSUMER.DELETE.COMMERCE.notifications_analytics',
      'commerce.order.created',
      'jobs.other.messages.high.email',
    ]) {
      t.ok((await failure(nats.request(subject, '', { timeout: 300 }))) instanceof Error, subject);
    }
    const { streams } = await jetstreamManager(nats, { checkAPI: false });
    t.match(await streams.info('NOTIFICATIONS_MESSAGES_HIGH'), { state: { messages: 0 } });
  });
});

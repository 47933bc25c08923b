import { outboxEvent } from '@gatehouse/data/outbox';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import t from 'tap';
import { createJetStreamEvents } from '../src/jetstream-events.ts';

/** The permissions that deploy/docker/nats.conf gives to a service with queues. */

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

  t.test('a service announces its jobs to its replicas, and to nobody else', async (t) => {
    const subject = 'jobs.notifications.messages';
    const [replica, users] = [await connectAs('notifications'), await connectAs('users')];
    const heard: string[] = [];
    for (const [name, client] of Object.entries({ replica, users })) {
      client.subscribe(subject, { callback: (error) => void (error === null && heard.push(name)) });
      await client.flush().catch(() => {});
    }
    users.publish(subject, '{}');
    nats.publish(subject, '{}');
    await until(() => heard.length > 0, 5000);
    await nats.flush();
    t.strictSame(heard, ['replica']);
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

  t.test('it deletes no stream, and no event', async (t) => {
    const events = createJetStreamEvents({
      connection: () => nats,
      stream: { name: 'NOTIFICATIONS', subjects: ['notifications.>'] },
    });
    await events.publish(outboxEvent('notifications.thing.made', {}));
    for (const subject of [
      '$JS.API.STREAM.DELETE.NOTIFICATIONS',
      '$JS.API.STREAM.PURGE.NOTIFICATIONS',
      '$JS.API.STREAM.UPDATE.NOTIFICATIONS',
      '$JS.API.STREAM.MSG.DELETE.NOTIFICATIONS',
      'JS.COMMERCE.API.STREAM.DELETE.COMMERCE',
      'JS.COMMERCE.API.CONSUMER.DELETE.COMMERCE.notifications_analytics',
      'commerce.order.created',
      'jobs.other.messages',
    ]) {
      t.ok((await failure(nats.request(subject, '', { timeout: 300 }))) instanceof Error, subject);
    }
    const { streams } = await jetstreamManager(nats, { checkAPI: false });
    t.match(await streams.info('NOTIFICATIONS'), { state: { messages: 1 } });
  });
});

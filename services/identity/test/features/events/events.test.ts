import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createStreamConsumer } from '@gatehouse/events/jetstream-consumer';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { type Built, build, PASSWORD } from '../../build.ts';

const TYPES = [
  'application.created',
  'application.deleted',
  'credential.created',
  'sign_in.failed',
  'sign_in.succeeded',
];

/** Causes an event of each of the TYPES. Returns the ID of the application. */
async function cause({ call, login, logIn }: Built): Promise<string> {
  const token = await login('admin');
  await logIn('ann', `${PASSWORD}x`);
  const draft = { name: 'Shop', type: 'machine', scopes: ['read:data'] };
  const { client_id: client } = (await call('POST', '/api/v1/applications', token, draft)).body;
  await call('POST', `/api/v1/applications/${client}/secrets`, token, {});
  await call('DELETE', `/api/v1/applications/${client}`, token);
  return String(client);
}

const typesOf = (events: readonly OutboxEvent[]) => events.map(({ data }) => data.type).sort();

t.test(
  'sign-ins and changes of applications and credentials are published until each is taken',
  async (t) => {
    const taken: OutboxEvent[] = [];
    let refused = 0;
    const built = await build(t, {
      events: {
        async publish(event) {
          if (!event.subject.startsWith('identity.')) return;
          refused += 1;
          if (refused <= 2) throw new Error('not now');
          taken.push(event);
        },
      },
    });
    const client = await cause(built);
    await until(() => taken.length === TYPES.length, 20_000);
    t.same(typesOf(taken), TYPES);
    for (const { subject, id, data } of taken) {
      t.equal(subject, 'identity.audit.recorded');
      t.match(id, /^evt_/);
      if (String(data.type).startsWith('application')) t.equal(data.client_id, client);
      if (data.type === 'sign_in.failed') t.equal(data.user_id, built.people.ann.id);
    }
    t.notMatch(JSON.stringify(taken), /correct horse/);
  },
);

t.test('what a replica could not publish, another does when NATS is back', { skip }, async (t) => {
  const nats = await startNatsWithPermissions(t);
  const built = await build(t, { events: { publish: () => Promise.reject(new Error('away')) } });
  await cause(built);
  await nats.kill();
  await built.replica({ natsUrl: nats.urlOf('identity') });
  await nats.start();
  const broadcast = createNatsBroadcast({ url: nats.urlOf('notifications'), name: 'test', logger });
  await broadcast.start();
  const taken = new Map<string, OutboxEvent>();
  const consumer = createStreamConsumer({
    connection: broadcast.connection,
    stream: { name: 'IDENTITY', account: 'IDENTITY' },
    durable: 'notifications_events',
    handle: async (event) => void taken.set(event.id, event),
    logger,
  });
  consumer.start();
  t.teardown(async () => {
    await consumer.stop();
    await broadcast.stop();
  });
  await until(() => taken.size === TYPES.length, 30_000);
  t.same(typesOf([...taken.values()]), TYPES);
});

import { newId } from '@gatehouse/core/ids';
import { continueTrace, during, startSpan } from '@gatehouse/core/tracing';
import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { monitored } from '@gatehouse/testing/explain';
import { recordTraces } from '@gatehouse/testing/otlp-receiver';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { createLocalEvents } from '../src/local-events.ts';
import { createOutboxPublisher } from '../src/outbox-publisher.ts';

type Receivers = Parameters<typeof createOutboxPublisher>[0]['receivers'];

/** A store of things, those who listen to it, and what they have heard. */
async function setUp(t: Test, receivers: NonNullable<Receivers> = {}) {
  const { connection } = await startTestDatabase(t, { uri: monitored(await testDatabase(t)) });
  const things = connection.collection<{ _id: string; outbox: OutboxEvent[] }>('things');
  await things.createIndex({ ...OUTBOX_INDEX.fields }, { ...OUTBOX_INDEX.options });
  const transport = createLocalEvents();
  const heard: string[] = [];
  transport.subscribe('>', ({ subject, data }) => heard.push(`${subject} ${data.id}`));
  const store = {
    name: 'things',
    async insert(thing: { id: string }) {
      const outbox = [outboxEvent('things.made', thing)];
      await things.insertOne({ _id: thing.id, outbox });
      return { outbox };
    },
    async change(id: string, subject: string) {
      await things.updateOne({ _id: id }, { $push: { outbox: outboxEvent(subject, { id }) } });
      return subject;
    },
    async remove(id: string): Promise<void> {
      const outbox = [outboxEvent('things.removed', { id })];
      await things.replaceOne({ _id: id }, { deleted_at: new Date(), outbox } as never);
    },
    fail: (id: string): Promise<void> => Promise.reject(new Error(id)),
  };
  const collection = connection.collection('things');
  const publisher = createOutboxPublisher({ collection, logger, transport, receivers });
  t.teardown(() => publisher.stop());
  return { store, heard, things, publisher, transport, connection };
}

t.test('the events of each write are published, and its result is its own', async (t) => {
  const { store, heard, things, publisher, connection } = await setUp(t);
  const published = publisher.publishing(store, ['insert', 'change', 'remove', 'fail']);
  const id = newId('thg');
  const commands: string[] = [];
  connection.getClient().on('commandStarted', ({ commandName }) => commands.push(commandName));
  t.match(await published.insert({ id }), { outbox: [{ data: { id } }] });
  await until(() => commands.includes('update'), 5000);
  t.same(heard, [`things.made ${id}`]);
  t.same(commands, ['insert', 'update'], 'its events are not read again');
  t.equal(await published.change(id, 'things.changed'), 'things.changed');
  await until(() => heard.length === 2, 5000);
  await published.remove(id);
  await until(async () => (await things.findOne({ _id: id })) === null, 5000);
  t.same(heard, [`things.made ${id}`, `things.changed ${id}`, `things.removed ${id}`]);
  t.equal(published.name, 'things');
  await t.rejects(published.fail(id), { message: id });
});

t.test('events that no write of this process has published are found by the sweep', async (t) => {
  const { store, heard, publisher } = await setUp(t);
  const published = publisher.publishing(store, ['change']);
  await published.insert({ id: 'a' });
  t.same(heard, [], 'not among the writes');
  publisher.start();
  await until(() => heard.length === 1, 5000);
});

t.test('a receiver gets its subject alone, and who is away keeps nobody else waiting', async (t) => {
  const received: string[] = [];
  const { promise, resolve: comeBack } = Promise.withResolvers<void>();
  const receive = async ({ data }: OutboxEvent) => {
    await promise;
    received.push(`${data.id}`);
  };
  const { store, heard, things, publisher } = await setUp(t, { 'things.told': receive });
  const published = publisher.publishing(store, ['insert', 'change']);
  await published.insert({ id: 'a' });
  await published.change('a', 'things.told');
  await published.change('a', 'things.changed');
  t.equal(await publisher.publish('a', 'things.told', 20), false, 'not in time');
  await until(() => heard.length === 2, 5000);
  t.same(heard, ['things.made a', 'things.changed a']);
  t.match((await things.findOne({ _id: 'a' }))?.outbox, [{ subject: 'things.told' }]);
  comeBack();
  t.equal(await publisher.publish('a', 'things.told', 5000), true);
  t.same(received, ['a']);
  t.same((await things.findOne({ _id: 'a' }))?.outbox, []);
  await published.change('a', 'things.told');
  publisher.send('a', 'things.told');
  await until(() => received.length === 2, 5000);
});

t.test('an event carries the trace of the write that causes it, whoever publishes it and when', async (t) => {
  const traces = await recordTraces(t);
  const handled: Promise<void>[] = [];
  const { store, heard, publisher, transport } = await setUp(t);
  transport.subscribe('>', () => {
    handled.push(during(startSpan('handle', { kind: 'client' }), async () => {}));
  });
  const ids = [newId('thg'), newId('thg')];
  for (const id of ids) {
    const request = continueTrace(undefined, `request ${id}`, { kind: 'server' });
    await during(request, () => store.insert({ id }));
  }
  // By the sweep, to which no request has led.
  publisher.start();
  await until(() => heard.length === 2, 5000);
  await Promise.all(handled);
  await publisher.stop();
  await traces.send();
  const spans = traces.spans();
  const childOf = (parent: string | undefined, name: string) =>
    spans.filter((span) => span.name === name && span.parentSpanId === parent);
  for (const id of ids) {
    const request = spans.find(({ name }) => name === `request ${id}`);
    const [published, ...others] = childOf(request?.spanId, 'publish things.made');
    t.match(published?.attributes, { 'messaging.destination.name': 'things.made' });
    t.equal(others.length, 0);
    t.equal(childOf(published?.spanId, 'handle').length, 1);
  }
});

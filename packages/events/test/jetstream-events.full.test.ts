import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@gatehouse/core/ids';
import { skip, startJetStream, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { DiscardPolicy, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import t from 'tap';
import { createJetStreamEvents } from '../src/jetstream-events.ts';

/** Resolves to the message of the cause, or to 'stored'. */
function outcome(nats: NatsConnection, subject: string, id = newId('evt')): Promise<string> {
  const events = createJetStreamEvents({ connection: () => nats });
  return events.publish({ id, subject, at: new Date(), data: {} }).then(
    () => 'stored',
    ({ cause }: { cause: Error }) => cause.message,
  );
}

t.test('publish() says what has become of an event', { skip }, async (t) => {
  const { url, kill } = await startJetStream(t);
  const nats = await connect({ servers: url, reconnect: false });
  t.teardown(() => nats.close());
  const { streams } = await jetstreamManager(nats);
  await streams.add({ name: 'OPEN', subjects: ['open.*'] });
  await streams.add({ name: 'FULL', subjects: ['full.*'], max_msgs: 1, discard: DiscardPolicy.New });
  const storedIn = async (name: string) => (await streams.info(name)).state.messages;

  await t.test('stored, each with its own answer', async (t) => {
    const outcomes = Array.from({ length: 100 }, (_, i) => outcome(nats, i % 2 ? 'open.a' : 'unknown.a'));
    const expected = Array.from({ length: 100 }, (_, i) => (i % 2 ? 'stored' : "no responders: 'unknown.a'"));
    t.same(await Promise.all(outcomes), expected);
    t.equal(await storedIn('OPEN'), 50);
  });

  await t.test('stored once by its id', async (t) => {
    t.same(await Promise.all([outcome(nats, 'open.b', 'evt_1'), outcome(nats, 'open.b', 'evt_1')]), [
      'stored',
      'stored',
    ]);
    t.equal(await storedIn('OPEN'), 51);
  });

  await t.test('refused by its stream', async (t) => {
    t.equal(await outcome(nats, 'full.a'), 'stored');
    t.equal(await outcome(nats, 'full.a'), 'NATS says: maximum messages exceeded');
  });

  await t.test('not answered', async (t) => {
    nats.subscribe('silent.a', { callback() {} });
    t.equal(await outcome(nats, 'silent.a'), 'timeout');
  });

  await t.test('answered by somebody else', async (t) => {
    nats.subscribe('odd.a', { callback: (_error, message) => void message.respond('ok') });
    t.equal(await outcome(nats, 'odd.a'), 'Unexpected token \'o\', "ok" is not valid JSON');
    t.equal(await outcome(nats, 'open.a'), 'stored', 'the connection goes on');
  });

  await t.test('lost with the connection', async (t) => {
    const lost = outcome(nats, 'silent.a');
    await nats.flush();
    await kill();
    t.equal(await lost, 'connection closed');
    t.equal(await outcome(nats, 'open.a'), 'closed connection');
  });
});

t.test('messages can be stored as soon as the server allows to hear its answers', { skip }, async (t) => {
  const folder = t.testdir();
  const conf = join(folder, 'nats.conf');
  const allow = (subscribe: string) =>
    writeFile(
      conf,
      `jetstream { store_dir: ${JSON.stringify(folder)} }
      authorization { users: [{ user: a, password: b, permissions: { publish: ">", subscribe: ["${subscribe}"] } }] }`,
    );
  await allow('_INBOX.>');
  const { port, reload } = await startNats(t, '-c', conf);
  const nats = await connect({ port, user: 'a', pass: 'b', reconnect: false });
  t.teardown(() => nats.close());
  await (await jetstreamManager(nats)).streams.add({ name: 'OPEN', subjects: ['open.*'] });
  t.equal(await outcome(nats, 'open.a'), 'stored');
  await allow('none');
  await reload();
  await until(async () => /Permissions Violation for Subscription/.test(await outcome(nats, 'open.a')), 5000);
  await allow('_INBOX.>');
  await reload();
  await until(async () => (await outcome(nats, 'open.a')) === 'stored', 5000);
});

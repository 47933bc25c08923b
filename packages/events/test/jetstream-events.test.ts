import { newId } from '@gatehouse/core/ids';
import { skip, startJetStream, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { createJetStreamEvents } from '../src/jetstream-events.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

const failure = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const event = (subject = 'things.thing.changed', data: Record<string, unknown> = {}) => ({
  ...{ id: newId('evt'), subject, at: new Date(), data },
});

/** A publisher, as one replica has it, and what the server has stored. */
async function setUp(t: Test, url: string) {
  const broadcast = createNatsBroadcast({ url, name: 'test', logger });
  t.teardown(() => broadcast.stop());
  await broadcast.start();
  const connected = () => until(() => broadcast.connection() !== undefined, 10_000);
  await connected();
  const { connection } = broadcast;
  const events = createJetStreamEvents({
    connection,
    stream: { name: 'THINGS', subjects: ['things.>'] },
  });
  async function stored(): Promise<{ subject: string; id: string; data: unknown }[]> {
    const nats = await connect({ servers: url.replace('nats://', '') });
    try {
      const { streams } = await jetstreamManager(nats);
      const { state } = await streams.info('THINGS');
      const sequences = Array.from({ length: state.messages }, (_, i) => state.first_seq + i);
      const messages = await Promise.all(sequences.map((seq) => streams.getMessage('THINGS', { seq })));
      return messages.flatMap((message) =>
        message === null
          ? []
          : [{ subject: message.subject, id: message.header.get('Nats-Msg-Id'), data: message.json() }],
      );
    } finally {
      await nats.close();
    }
  }
  return { events, stored, connected };
}

t.test('JetStream', { skip }, async (t) => {
  t.test('an event is stored before publish resolves, and once however often it is published', async (t) => {
    const { url } = await startJetStream(t);
    const replicas = [await setUp(t, url), await setUp(t, url)];
    const sent = [event(), event('things.other.deleted', { version: 2 }), event()];
    for (const each of sent) {
      await Promise.all(replicas.map(({ events }) => events.publish(each)));
    }
    const stored = await replicas[0]?.stored();
    t.strictSame(
      stored,
      sent.map(({ id, subject, at, data }) => ({ subject, id, data: { id, at: at.toISOString(), data } })),
    );
  });

  t.test('acknowledged events survive a kill of the server; the rest is rejected', async (t) => {
    const server = await startJetStream(t);
    const { events, stored, connected } = await setUp(t, server.url);
    const first = event();
    await events.publish(first);
    await server.kill();
    t.match(await failure(events.publish(event())), { kind: 'unavailable' });
    await server.start();
    await connected();
    const second = event();
    await events.publish(second);
    t.match(await stored(), [{ id: first.id }, { id: second.id }]);
  });

  t.test('a stream that exists stays as it is; one with other subjects is refused', async (t) => {
    const { url } = await startJetStream(t);
    const { events } = await setUp(t, url);
    const nats = await connect({ servers: url.replace('nats://', '') });
    t.teardown(() => nats.close());
    const { streams } = await jetstreamManager(nats);
    await streams.add({ name: 'THINGS', subjects: ['things.thing.>'] });
    t.match(await failure(events.publish(event())), {
      kind: 'unavailable',
      cause: { message: 'the stream THINGS of NATS does not take things.>' },
    });
    await streams.update('THINGS', { subjects: ['things.>'], max_msgs: 5 });
    await events.publish(event());
    const { config, state } = await streams.info('THINGS');
    t.match({ config, state }, { config: { max_msgs: 5 }, state: { messages: 1 } });
  });

  t.test('a server without JetStream', async (t) => {
    const { url } = await startNats(t);
    const { events } = await setUp(t, url);
    t.match(await failure(events.publish(event())), { kind: 'unavailable' });
  });
});

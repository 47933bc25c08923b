import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t from 'tap';
import { takeMessages } from '../src/jetstream-messages.ts';

t.test('messages are taken from a stream once they are handled', { skip }, async (t) => {
  const server = await startJetStream(t);
  const nats = await connect({ servers: server.url.replace('nats://', '') });
  t.teardown(() => nats.close());
  const { streams } = await jetstreamManager(nats);
  const taken: unknown[] = [];
  const handle = async (value: unknown) => {
    if (value === 3) throw new Error('it fails');
    taken.push(value);
  };
  await takeMessages(nats, 'LETTERS', handle);
  t.same(taken, [], 'without a stream');
  await streams.add({ name: 'LETTERS', subjects: ['letters.>'] });
  for (const n of [1, 2, 3, 4]) await jetstream(nats).publish(`letters.${n}`, JSON.stringify(n));
  await streams.deleteMessage('LETTERS', 2);
  await t.rejects(takeMessages(nats, 'LETTERS', handle), { message: 'it fails' });
  t.same(taken, [1]);
  t.equal((await streams.info('LETTERS')).state.messages, 2);
  await takeMessages(nats, 'LETTERS', async (value) => void taken.push(value));
  t.same(taken, [1, 3, 4]);
});

import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { takeMessages } from '../src/queues/former-jobs.ts';

const STREAM = 'NOTIFICATIONS_DEAD_LETTERS';

t.test('dead letters are taken from the stream once they are handled', { skip }, async (t) => {
  const { url } = await startJetStream(t);
  const broadcast = createNatsBroadcast({ url, name: 'test', logger });
  await broadcast.start();
  t.teardown(() => broadcast.stop());
  await until(() => broadcast.connection() !== undefined, 5000);
  const nats = broadcast.connection();
  if (nats === undefined) throw new Error('there is no connection');
  const request = async (subject: string, data: unknown) =>
    (await nats.request(subject, JSON.stringify(data))).json<{ state: { messages: number } }>();
  const taken: unknown[] = [];
  const handle = async (value: unknown) => {
    if (value === 3) throw new Error('it fails');
    taken.push(value);
  };
  await takeMessages(nats, handle);
  t.same(taken, [], 'without a stream');
  const api = (action: string) => `$JS.API.STREAM.${action}.${STREAM}`;
  await request(api('CREATE'), { name: STREAM, subjects: ['letters.>'] });
  for (const n of [1, 2, 3, 4]) await request(`letters.${n}`, n);
  await request(api('MSG.DELETE'), { seq: 2 });
  await t.rejects(takeMessages(nats, handle), { message: 'it fails' });
  t.same(taken, [1]);
  t.equal((await request(api('INFO'), {})).state.messages, 2);
  await takeMessages(nats, async (value) => void taken.push(value));
  t.same(taken, [1, 3, 4]);
});

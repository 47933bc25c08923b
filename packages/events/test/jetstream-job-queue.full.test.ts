import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import t from 'tap';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';
import { contract } from './job-queue-contract.ts';

t.test('JetStream', { skip }, async (t) => {
  const { url } = await startJetStream(t);
  const broadcast = createNatsBroadcast({ url, name: 'test', logger });
  t.teardown(() => broadcast.stop());
  await broadcast.start();
  const { connection } = broadcast;
  await until(() => connection() !== undefined, 10_000);
  await contract(t, async () => createJetStreamJobQueues({ connection, name: 'test', logger }));

  t.test('to read the depth makes no consumer, and counts each dead letter', async (t) => {
    const jobStates = { begin: t.fail, renew: t.fail, end: t.fail, reset: t.fail } as never;
    const queue = createJetStreamJobQueues({ connection, name: 'counted', logger })({
      name: 'messages',
      lanes: ['email', 'sms'],
      jobStates,
    });
    await queue.depth();
    const nats = connection() as NatsConnection;
    const manager = await jetstreamManager(nats);
    for (const letter of ['low.email.a', 'low.email.b', 'low.email.c', 'high.sms.d', 'high.other.e']) {
      await nats.request(`dead-letters.counted.messages.${letter}`, '{}');
    }
    const depth = await queue.depth();
    t.match(
      depth.find(({ lane, priority }) => lane === 'email' && priority === 'low'),
      { deadLetters: 3 },
    );
    t.equal(
      depth.reduce((sum, { deadLetters }) => sum + deadLetters, 0),
      4,
    );
    t.same(await manager.consumers.list('COUNTED_DEAD_LETTERS').next(), []);
  });
});

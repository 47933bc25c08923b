import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';
import { contract, logger } from './job-queue-contract.ts';

t.test('JetStream', { skip }, async (t) => {
  const { url } = await startJetStream(t);
  const broadcast = createNatsBroadcast({ url, name: 'test', logger });
  t.teardown(() => broadcast.stop());
  await broadcast.start();
  const { connection } = broadcast;
  await until(() => connection() !== undefined, 10_000);
  await contract(t, async () => createJetStreamJobQueues({ connection, name: 'test', logger }));
});

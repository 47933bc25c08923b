import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skip, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';
import { contract, logger } from './job-queue-contract.ts';

t.test('JetStream', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const { url } = await startNats(t, '--jetstream', '--store_dir', folder);
  const broadcast = createNatsBroadcast({ url, name: 'test', logger });
  t.teardown(() => broadcast.stop());
  await broadcast.start();
  const { connection } = broadcast;
  await until(() => connection() !== undefined, 10_000);
  await contract(t, async () => createJetStreamJobQueues({ connection, name: 'test', logger }));
});

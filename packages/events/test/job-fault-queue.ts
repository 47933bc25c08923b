import type { Logger } from '@gatehouse/core/logger';
import type { Database } from '@gatehouse/data/database';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import type { JobQueue } from '../src/job-queue.ts';
import { createJobStateStore } from '../src/job-state-store.ts';
import { createLocalJobQueues } from '../src/local-job-queue.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

/** The queue of the tests that kill processes, the same in each of them; in MongoDB unless there is a URL of NATS. */
export async function openQueue(
  connection: Database['connection'],
  natsUrl: string,
  logger: Logger,
): Promise<{ queue: JobQueue; close(): Promise<void> }> {
  const service = { name: 'test', logger };
  const options = {
    name: 'messages',
    lanes: ['all'],
    leaseMs: 1000,
    jobStates: createJobStateStore(connection),
  };
  if (natsUrl === '') {
    return { queue: createLocalJobQueues({ ...service, connection })(options), async close() {} };
  }
  const broadcast = createNatsBroadcast({ ...service, url: natsUrl });
  await broadcast.start();
  const queue = createJetStreamJobQueues({ ...service, connection: broadcast.connection })(options);
  return { queue, close: broadcast.stop };
}

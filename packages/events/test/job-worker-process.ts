// Works on the jobs of the queue `messages` in its own process: arguments are the URI of the database, the URL of NATS or an
// empty text, and whether the bad jobs are still bad. Writes down what it does in `runs`.
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';
import { defineJobs, openQueue } from './job-collection.ts';

const [uri = '', natsUrl = '', bad] = process.argv.slice(2);
const logger = createLogger({ name: 'worker', level: 'warn', readable: false });
const database = createDatabase({ uri, name: 'test', logger });
defineJobs(database.connection, 'things');
const broadcast = natsUrl === '' ? undefined : createNatsBroadcast({ url: natsUrl, name: 'test', logger });
const { queue } = openQueue(database.connection, 'things', {
  ...{ logger, leaseMs: 1000 },
  ...(broadcast && { broadcast }),
});
await database.start();
await broadcast?.start();
const runs = database.connection.collection('runs');
const worker = queue.work({
  lane: 'email',
  slots: 8,
  timeoutMs: 400,
  backoffMs: { first: 50, max: 200 },
  async handler({ document, attempt }) {
    const { n, does } = document.data;
    await runs.insertOne({ n, attempt, at: Date.now() });
    if (bad === 'bad') {
      if (does === 'throw') throw new Error('thrown on purpose');
      if (does === 'hang') await new Promise(() => {});
      if (does === 'kill') process.kill(process.pid, 'SIGKILL');
    }
    await runs.insertOne({ n, done: true });
  },
});
worker.start();
process.stdout.write('started\n');

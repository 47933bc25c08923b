// Works on the jobs of the queue `messages` in its own process: arguments are the URI of the database, the URL of NATS or an
// empty text for the queue in MongoDB, and whether the bad jobs are still bad. Writes down what it does in `runs`.
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { openQueue } from './job-fault-queue.ts';

const [uri = '', natsUrl = '', bad] = process.argv.slice(2);
const logger = createLogger({ name: 'worker', level: 'warn', readable: false });
const database = createDatabase({ uri, name: 'test', logger });
const { queue } = await openQueue(database.connection, natsUrl, logger);
await database.start();
const runs = database.connection.collection('runs');
const worker = queue.work({
  lane: 'all',
  slots: 8,
  timeoutMs: 400,
  backoffMs: { first: 50, max: 200 },
  async handler({ data: { n, does } }, { number: attempt }) {
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

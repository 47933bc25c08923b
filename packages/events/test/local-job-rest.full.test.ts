// Runs alone, as it measures time.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { createDatabase } from '@gatehouse/data/database';
import { createJobStateStore } from '@gatehouse/events/job-state-store';
import { createLocalJobQueues } from '@gatehouse/events/local-job-queue';
import { until } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';

/** Longer than a worker waits for a job of NATS. */
const REST_MS = 6000;

t.test('at rest nothing is asked of the database, and a job then starts at once', async (t) => {
  const logger = createLogger({ name: 'test', level: 'warn' });
  const uri = await testDatabase(t);
  const monitored = `${uri}${uri.includes('?') ? '&' : '?'}monitorCommands=true`;
  const database = createDatabase({ uri: monitored, name: 'test', logger });
  t.teardown(() => database.stop());
  const { connection } = database;
  const jobStates = createJobStateStore(connection);
  const queue = createLocalJobQueues({ connection, name: 'test', logger })({
    ...{ name: 'messages', lanes: ['all'], jobStates },
  });
  await database.start();
  const commands: string[] = [];
  connection.getClient().on('commandStarted', ({ commandName, command }) => {
    if (command[commandName] === 'jobs') commands.push(commandName);
  });
  let startedAt: number | undefined;
  const worker = queue.work({
    ...{ lane: 'all', slots: 2, timeoutMs: 1000 },
    handler: async () => {
      startedAt ??= performance.now();
    },
  });
  t.teardown(() => worker.stop());
  worker.start();
  await until(() => commands.length >= 6, 5000);
  await sleep(500);
  commands.length = 0;
  await sleep(REST_MS);
  t.same(commands, []);

  const publishedAt = performance.now();
  await queue.publish({
    ...{ id: 'evt_1', subject: queue.subject('normal', 'all'), at: new Date(), data: {} },
  });
  await until(() => startedAt !== undefined, 5000);
  const delayMs = (startedAt ?? 0) - publishedAt;
  t.ok(delayMs < 1000, `${delayMs.toFixed(1)} ms from publishing to the start`);
  t.comment(`${delayMs.toFixed(1)} ms from publishing to the start`);
});

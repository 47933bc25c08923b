import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '@gatehouse/data/database';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { type SpawnedNode, spawnNode, until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';
import { defineJobs, openQueue } from './job-collection.ts';

t.setTimeout(300_000);
const BAD = ['throw', 'hang', 'kill'];
type Run = { n: number; attempt?: number; done?: true };

/** As many processes that work on jobs, started again whenever they end, as a supervisor does. */
async function setUp(t: Test, natsUrl: string, processes = 1) {
  const uri = await testDatabase(t);
  const database = createDatabase({ uri, name: 'test', logger });
  const { connection } = database;
  defineJobs(connection, 'things');
  const broadcast = natsUrl === '' ? undefined : createNatsBroadcast({ url: natsUrl, name: 'test', logger });
  const { queue, add } = openQueue(connection, 'things', { logger, ...(broadcast && { broadcast }) });
  await database.start();
  await broadcast?.start();
  const runs = connection.collection<Run>('runs');
  let mode = 'bad';
  let deaths = 0;
  let ending = false;
  const workers: SpawnedNode[] = [];

  function startWorker(i: number): void {
    const worker = spawnNode([join(import.meta.dirname, 'job-worker-process.ts'), uri, natsUrl, mode], {});
    workers[i] = worker;
    worker.ended.then(() => {
      deaths += 1;
      if (!ending) startWorker(i);
    });
  }
  for (let i = 0; i < processes; i += 1) startWorker(i);
  t.teardown(async () => {
    ending = true;
    for (const { child } of workers) child.kill('SIGKILL');
    await Promise.all(workers.map(({ ended }) => ended));
    await broadcast?.stop();
    await database.stop();
  });
  return {
    ...{ queue, add, runs },
    killWorker: (i = 0) => workers[i]?.child.kill('SIGKILL'),
    deaths: () => deaths,
    mend() {
      mode = 'good';
      for (const { child } of workers) child.kill('SIGKILL');
    },
    /** How often each good job was done. */
    async done(): Promise<Map<number, number>> {
      const times = new Map<number, number>();
      for (const { n } of await runs.find({ done: true }).toArray()) times.set(n, (times.get(n) ?? 0) + 1);
      return times;
    },
  };
}

t.test('a poisoned job holds up no other and ends as a dead letter', async (t) => {
  const { queue, add, runs, deaths, mend, done } = await setUp(t, '');
  const total = 400;
  const badNumbers = new Map([20, 21, 22].map((n, i) => [n, BAD[i]]));
  const ids = new Map<number, string>();
  for (let n = 0; n < total; n += 1) ids.set(n, await add({ n, does: badNumbers.get(n) }));
  const good = total - badNumbers.size;
  await until(async () => (await done()).size === good, 60_000);
  await until(async () => (await queue.deadLetters.list({ limit: 9 })).data.length === 3, 120_000);
  for (const [n, does] of badNumbers) {
    t.match(await queue.deadLetters.read(`${ids.get(n)}`), { attempts: 8 }, `${does}`);
  }
  const attempts = Math.max(
    ...(await runs.find().toArray()).map(({ n, attempt = 0 }) => (badNumbers.has(n) ? 0 : attempt)),
  );
  t.equal(deaths(), 8, 'no more than the attempts of the job that kills');
  t.ok(attempts <= 2, 'the others are interrupted once at most');
  mend();
  for (const n of badNumbers.keys()) t.equal(await queue.deadLetters.replay(`${ids.get(n)}`), true);
  await until(async () => (await done()).size === total, 60_000);
  t.strictSame(await queue.deadLetters.list({ limit: 9 }), { data: [] });
});

t.test('kill -9 of workers and of NATS loses no job', { skip }, async (t) => {
  const server = await startJetStream(t);
  const { add, killWorker, done } = await setUp(t, server.url, 2);
  const total = repetitions(2000);
  let added = 0;
  const adding = (async () => {
    for (; added < total; added += 20) {
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => add({ n: added + i }, { owner: `own_${i % 3}` })),
      );
    }
  })();
  for (let round = 1; round <= 6; round += 1) {
    await until(() => added >= (total * round) / 8, 60_000);
    await sleep(200 * Math.random());
    if (round % 2 === 0) killWorker(round % 4 === 0 ? 0 : 1);
    else {
      await server.kill();
      await server.start();
    }
  }
  await adding;
  await until(async () => (await done()).size === total, 120_000);
  const twice = [...(await done()).values()].filter((times) => times > 1).length;
  t.comment(`${twice} of ${total} jobs done twice`);
  t.ok(twice <= 3 * 2 * 8, 'no more than ran, or whose outcome was being recorded, when a worker was killed');
});

t.test('without NATS, jobs are found by the sweep', { skip }, async (t) => {
  const server = await startJetStream(t);
  const { add, done } = await setUp(t, server.url);
  await add({ n: 0 });
  await until(async () => (await done()).size === 1, 20_000);
  await server.kill();
  await add({ n: 1 });
  await until(async () => (await done()).size === 2, 20_000);
  await server.start();
  await add({ n: 2 });
  await until(async () => (await done()).size === 3, 20_000);
});

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '@gatehouse/data/database';
import { type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { type SpawnedNode, spawnNode, until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { openQueue } from './job-fault-queue.ts';

t.setTimeout(300_000);
const BAD = ['throw', 'hang', 'kill'];
type Run = { n: number; attempt?: number; done?: true };

async function setUp(t: Test, natsUrl: string) {
  const uri = await testDatabase(t);
  const database = createDatabase({ uri, name: 'test', logger });
  const { queue, close } = await openQueue(database.connection, natsUrl, logger);
  await database.start();
  const runs = database.connection.collection<Run>('runs');
  let mode = 'bad';
  let deaths = 0;
  let ending = false;
  let worker: SpawnedNode;

  /** As a supervisor does: it is started again whenever it ends. */
  function startWorker(): void {
    worker = spawnNode([join(import.meta.dirname, 'job-worker-process.ts'), uri, natsUrl, mode], {});
    worker.ended.then(() => {
      deaths += 1;
      if (!ending) startWorker();
    });
  }
  startWorker();
  t.teardown(async () => {
    ending = true;
    worker.child.kill('SIGKILL');
    await worker.ended;
    await close();
    await database.stop();
  });
  const event = (data: Record<string, unknown>) => outboxEvent(queue.subject('normal', 'all'), data);
  /** Until NATS stores it, as an outbox does. */
  async function publish(job: OutboxEvent): Promise<void> {
    while (
      !(await queue.publish(job).then(
        () => true,
        () => false,
      ))
    )
      await sleep(50);
  }
  return {
    ...{ queue, runs, event, publish },
    killWorker: () => worker.child.kill('SIGKILL'),
    deaths: () => deaths,
    async mend() {
      mode = 'good';
      worker.child.kill('SIGKILL');
    },
    /** How often each good job was done. */
    async done(): Promise<Map<number, number>> {
      const times = new Map<number, number>();
      for (const { n } of await runs.find({ done: true }).toArray()) times.set(n, (times.get(n) ?? 0) + 1);
      return times;
    },
  };
}

/** Jobs that throw, hang and kill the process among good ones. */
async function poisoned(t: Test, natsUrl: string): Promise<void> {
  const { queue, runs, event, publish, deaths, mend, done } = await setUp(t, natsUrl);
  const total = 400;
  const badNumbers = new Map([20, 21, 22].map((n, i) => [n, BAD[i]]));
  const ids = new Map<number, string>();
  for (let n = 0; n < total; n += 1) {
    const job = event({ n, does: badNumbers.get(n) });
    ids.set(n, job.id);
    await publish(job);
  }
  const good = total - badNumbers.size;
  await until(async () => (await done()).size === good, 60_000);
  await until(async () => (await queue.deadLetters.list({ limit: 9 })).data.length === 3, 120_000);
  const { data: letters } = await queue.deadLetters.list({ limit: 9 });
  for (const [n, does] of badNumbers) {
    const letter = letters.find(({ job }) => job.data.n === n);
    t.equal(letter?.attempts, 8, `${does}: ${letter?.error}`);
  }
  const times = await done();
  const attempts = Math.max(
    ...(await runs.find().toArray()).map(({ n, attempt = 0 }) => (badNumbers.has(n) ? 0 : attempt)),
  );
  const twice = [...times.values()].filter((count) => count > 1).length;
  t.comment(`${deaths()} deaths, ${twice} of ${good} good jobs done twice, at most ${attempts} attempts`);
  t.equal(deaths(), 8, 'no more than the attempts of the job that kills');
  t.ok(attempts <= 2, 'the others are interrupted once at most');

  await mend();
  for (const n of badNumbers.keys()) t.equal(await queue.deadLetters.replay(`${ids.get(n)}`), true);
  await until(async () => (await done()).size === total, 20_000);
  t.strictSame(await queue.deadLetters.list({ limit: 9 }), { data: [] });
}

t.test('in MongoDB, a poisoned job holds up no other and ends as a dead letter', (t) => poisoned(t, ''));

t.test('JetStream', { skip }, async (t) => {
  t.test('a poisoned job holds up no other and ends as a dead letter', async (t) =>
    poisoned(t, (await startJetStream(t)).url),
  );

  t.test('kill -9 of NATS and of the worker loses no job', async (t) => {
    const server = await startJetStream(t);
    const { event, publish, killWorker, done } = await setUp(t, server.url);
    const total = 3000;
    const jobs = Array.from({ length: total }, (_, n) => event({ n }));
    let published = 0;
    const publishing = (async () => {
      for (let i = 0; i < total; i += 20) {
        await Promise.all(jobs.slice(i, i + 20).map(publish));
        published = i + 20;
      }
    })();
    for (let round = 1; round <= 6; round += 1) {
      await until(() => published >= (total * round) / 8, 60_000);
      await sleep(200 * Math.random());
      if (round % 2 === 0) killWorker();
      else {
        await server.kill();
        await server.start();
      }
    }
    await publishing;
    await until(async () => (await done()).size === total, 120_000);
    const twice = [...(await done()).values()].filter((times) => times > 1).length;
    t.comment(`${twice} of ${total} jobs done twice`);
    t.ok(
      twice <= 3 * 2 * 8,
      'no more than ran, or whose outcome was being recorded, when a worker was killed',
    );
  });

  t.test('kill -9 of NATS alone repeats no job', async (t) => {
    const server = await startJetStream(t);
    const { event, publish, runs, done } = await setUp(t, server.url);
    const total = 1000;
    const jobs = Array.from({ length: total }, (_, n) => event({ n }));
    const publishing = Promise.all(jobs.map(publish));
    for (let round = 0; round < 3; round += 1) {
      await until(async () => (await done()).size > (round * total) / 4, 60_000);
      await server.kill();
      await server.start();
    }
    await publishing;
    // Nothing is published again: what the server has accepted must come out.
    await until(async () => (await done()).size === total, 120_000);
    t.equal(await runs.countDocuments({ done: true }), total);
  });

  t.test('deleted streams and an empty store are survived', async (t) => {
    const server = await startJetStream(t);
    const { event, publish, queue, done } = await setUp(t, server.url);
    await publish(event({ n: 0 }));
    await until(async () => (await done()).size === 1, 20_000);
    const nats = await connect({ servers: server.url.replace('nats://', '') });
    const { streams } = await jetstreamManager(nats);
    for await (const name of streams.names()) await streams.delete(name);
    await nats.close();
    await publish(event({ n: 1 }));
    await until(async () => (await done()).size === 2, 20_000);

    const lost = event({ n: 2 });
    await server.kill();
    await rm(server.folder, { recursive: true });
    await server.start();
    // What did not end is published again, as the sweep of a service does.
    await publish(lost);
    await until(async () => (await done()).size === 3, 20_000);
    t.strictSame(await queue.deadLetters.list({ limit: 9 }), { data: [] });
  });
});

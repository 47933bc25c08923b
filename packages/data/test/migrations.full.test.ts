import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import t, { type Test } from 'tap';

const MAIN = new URL('./migration-process.ts', import.meta.url).pathname;
const COUNT = 8_000;
const LEASE_MS = 600;

type Thing = { _id: string; version: number; count: number };

async function setUp(t: Test) {
  const uri = await testDatabase(t);
  const connection = await mongoose.createConnection(uri).asPromise();
  t.teardown(() => connection.close());
  const things = connection.collection<Thing>('things');
  const ids = Array.from({ length: COUNT }, (_, i) => `x${String(i).padStart(6, '0')}`);
  await things.insertMany(ids.map((_id) => ({ _id, version: 0, count: 0 })));
  const records = connection.collection<{ _id: string; applied_at?: Date }>('migrations');
  const start = () => {
    const node = spawnNode([MAIN, uri], {});
    t.teardown(async () => {
      node.child.kill('SIGKILL');
      await node.ended;
    });
    return node;
  };
  return {
    start,
    progress: async () => JSON.stringify(await records.find({}, { sort: { _id: 1 } }).toArray()),
    applied: () => records.countDocuments({ applied_at: { $exists: true } }),
    converted: (version: number) => things.countDocuments({ version: { $gte: version } }),
    exactlyOnce: async () => (await things.countDocuments({ version: 3, count: 3 })) === COUNT,
  };
}

t.test('kill -9 at random moments, with two replicas: every document is migrated exactly once', async (t) => {
  const { start, progress, applied, exactlyOnce } = await setUp(t);
  const ROUNDS = repetitions(12, 1 / 3);
  let rounds = 0;
  for (; rounds < ROUNDS && (await applied()) < 3; rounds += 1) {
    const before = await progress();
    const replicas = [start(), start()];
    await until(async () => (await progress()) !== before, 60_000);
    await sleep(randomInt(200));
    for (const { child } of replicas) child.kill('SIGKILL');
    await Promise.all(replicas.map(({ ended }) => ended));
  }
  t.comment(`both replicas were killed ${rounds} times while they migrated`);
  t.ok(rounds > 3);
  const { child, ended, output } = start();
  await ended;
  t.equal(child.exitCode, 0, output());
  t.equal(await applied(), 3);
  t.ok(await exactlyOnce());
});

t.test('a process that is suspended loses the lease; when it goes on, nothing is done twice', async (t) => {
  const { start, converted, exactlyOnce } = await setUp(t);
  const suspended = start();
  await until(async () => (await converted(1)) > 0, 20_000);
  suspended.child.kill('SIGSTOP');
  const other = start();
  await until(async () => (await converted(2)) > 0, LEASE_MS + 60_000);
  suspended.child.kill('SIGCONT');
  await Promise.all([suspended.ended, other.ended]);
  t.match(suspended.output(), /another process has taken over/);
  for (const { child, output } of [suspended, other]) t.equal(child.exitCode, 0, output());
  t.ok(await exactlyOnce());
});

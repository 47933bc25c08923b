import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { minuteOf, type UsageBatch } from '@gatehouse/events/usage-batch';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { ALL_CLIENTS, type BucketReader, INTERVALS, type RollupStore } from '../../src/analytics/bucket.ts';
import { createIngest } from '../../src/analytics/ingest.ts';
import { createRollup } from '../../src/analytics/rollup.ts';
import { createAnalyticsStore } from '../../src/analytics/store/analytics-store.ts';
import { batchOf, requestsOf } from './build.ts';

const KEEP_DAYS = { minute: 7, hour: 90, day: 730 };
const DAY = 86_400_000;

async function setUp(t: Test) {
  const { store, connection } = await startTestDatabase(t, {
    uri: monitored(await testDatabase(t)),
    define: (connection) => createAnalyticsStore(connection, { keepDays: KEEP_DAYS }),
  });
  const ingest = createIngest({ store, logger });
  return { connection, store, ingest, send: (batch: UsageBatch) => ingest.takeUsage(batch.service, batch) };
}

async function sumOf(store: BucketReader, query: Partial<Parameters<BucketReader['buckets']>[0]> = {}) {
  const [from, to] = [new Date(Date.now() - 2 * DAY), new Date(Date.now() + DAY)];
  let sum = 0;
  const all = {
    interval: 'minute',
    sources: ['items', 'order'],
    clients: [ALL_CLIENTS],
    from,
    to,
    latency: false,
  } as const;
  for await (const { entries } of store.buckets({ ...all, ...query })) {
    for (const { counts } of entries) for (const count of counts) sum += count;
  }
  return sum;
}

/** A store whose writes fail at times, before or after they happened, as if the process had been killed there. */
function unreliable(store: RollupStore, random: () => number): RollupStore {
  const fails = (fail: number) => {
    if (random() < fail) throw new Error('killed');
  };
  return {
    ...store,
    async replace(interval, buckets, revisions) {
      fails(0.1);
      const half = buckets.slice(0, Math.ceil(random() * buckets.length));
      if (random() < 0.1) await store.replace(interval, half, revisions);
      fails(0.1);
      return store.replace(interval, buckets, revisions);
    },
    async settle(interval, pending) {
      fails(0.1);
      await store.settle(interval, pending);
      fails(0.1);
    },
  };
}

t.test('two replicas that add up at the same time, and die at it, count everything once', async (t) => {
  const { store, ingest, send } = await setUp(t);
  const minute = minuteOf(Date.now());
  const truth = new Map<string, number>();
  const orders = new Set<string>();
  let isDone = false;
  let deaths = 0;
  const add = (key: string, n: number) => truth.set(key, (truth.get(key) ?? 0) + n);

  async function replica(): Promise<void> {
    while (!isDone) {
      const rollup = createRollup({ store: unreliable(store, Math.random), logger });
      for (const interval of INTERVALS) await rollup.run(interval).catch(() => (deaths += 1));
    }
  }
  const replicas = [replica(), replica()];
  for (let i = 0; i < 15; i += 1) {
    const requests = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, () => {
      const client = `app_${Math.floor(Math.random() * 4)}`;
      const count = 1 + Math.floor(Math.random() * 9);
      add(client, count);
      return requestsOf({
        client,
        minute: minute - Math.floor(Math.random() * 100),
        statuses: [count, 0, 0, 0],
        latency: [20, count],
      });
    });
    const batch = batchOf({ requests });
    await Promise.all([send(batch), send(batch)]);
    const id = `ord_${i % 10}`;
    orders.add(id);
    const created_at = new Date((minute - (i % 10)) * 60_000).toISOString();
    const order = { id, version: i, status: 'pending', currency: 'EUR', total_amount: 1, created_at };
    await ingest.takeOrder({ data: order });
  }
  isDone = true;
  await Promise.all(replicas);
  t.ok(deaths > 0, `${deaths} deaths`);

  const last = createRollup({ store, logger });
  for (const interval of INTERVALS) {
    await last.run(interval);
    const all = [...truth.values()].reduce((a, b) => a + b, 0);
    t.equal(await sumOf(store, { interval, sources: ['items'] }), all, interval);
    t.equal(await sumOf(store, { interval, sources: ['order'] }), orders.size, `orders by ${interval}`);
    for (const [client, count] of truth) {
      t.equal(await sumOf(store, { interval, sources: ['items'], clients: [client] }), count, client);
    }
  }
});

t.test('a replica that was overtaken between two steps overwrites and forgets nothing', async (t) => {
  const { store, send } = await setUp(t);
  for (const interval of INTERVALS) {
    for (const step of ['rows', 'replace', 'settle'] as const) {
      const before = await sumOf(store);
      const batch = () => batchOf({ requests: [requestsOf({ statuses: [7, 0, 0, 0] })] });
      const other = createRollup({ store, logger });
      /** What the other replica does meanwhile: it adds up one more batch, as far as this one has come. */
      async function overtake(): Promise<void> {
        await send(batch());
        for (const lower of INTERVALS.slice(0, INTERVALS.indexOf(interval) + 1)) {
          if (step !== 'settle' || lower !== interval) await other.run(lower);
        }
      }
      let isOvertaken = false;
      const overtaken: RollupStore = {
        ...store,
        async [step](...args: never[]) {
          const run = () => (store[step] as (...args: never[]) => Promise<never>)(...args);
          if (isOvertaken) return run();
          isOvertaken = true;
          if (step === 'rows') {
            const rows = await run();
            await overtake();
            return rows;
          }
          await overtake();
          return run();
        },
      };
      await send(batch());
      for (const each of INTERVALS) await other.run(each);
      await send(batch());
      for (const lower of INTERVALS.slice(0, INTERVALS.indexOf(interval))) await other.run(lower);
      await createRollup({ store: overtaken, logger }).run(interval);
      for (const each of INTERVALS) await other.run(each);
      t.ok(isOvertaken);
      t.equal(await sumOf(store, { interval }), before + 21, `${interval}, ${step}`);
    }
  }
});

t.test('what is stored while nothing was counted is added up at once', async (t) => {
  const { store } = await setUp(t);
  const rollup = createRollup({ store, logger, pausesMs: { minute: 60_000, hour: 60_000, day: 60_000 } });
  const ingest = createIngest({ store, logger, onAdded: rollup.added });
  rollup.start();
  t.teardown(() => rollup.stop());
  await until(async () => (await store.state('day')).facts.getTime() > 0, 10_000);
  await sleep(100);
  await ingest.takeUsage('items', batchOf({ requests: [requestsOf({ statuses: [3, 0, 0, 0] })] }));
  await until(async () => (await sumOf(store)) === 3, 10_000);
  t.pass('long before the pause is over');
});

t.test('as_of: everything before was sent by all that live, and added up', async (t) => {
  const { store, send, connection } = await setUp(t);
  const rollup = createRollup({ store, logger });
  const runAll = async () => {
    for (const interval of INTERVALS) await rollup.run(interval);
  };
  const asOf = async (interval: (typeof INTERVALS)[number] = 'minute') =>
    (await store.state(interval)).usage.getTime();
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  const [slow, fast] = [newId('prc'), newId('prc')];
  const [early, late] = [at(-20), at(-3)];
  await send(batchOf({ sender: slow, until: early }));
  await send(batchOf({ sender: fast, until: late }));
  t.equal(await asOf(), 0, 'nothing yet');
  await runAll();
  for (const interval of INTERVALS) t.equal(await asOf(interval), Date.parse(early), interval);

  await send(batchOf({ sender: slow, until: at(-1) }));
  t.equal(await asOf(), Date.parse(early), 'what has arrived, but was not added up, does not count');
  await rollup.run('minute');
  t.equal(await asOf(), Date.parse(late));
  t.equal(await asOf('hour'), Date.parse(early), 'hours are added up later');

  await send(batchOf({ sender: fast, until: at(0), final: true }));
  await send(batchOf({ sender: slow, until: null }));
  const before = await asOf();
  await rollup.run('minute');
  t.ok((await asOf()) > before, 'the one that has ended holds up nothing');

  await connection.collection('analytics_senders').updateMany({}, { $set: { seen_at: new Date(0) } });
  await rollup.run('minute');
  t.ok((await asOf()) > Date.now() - 1000, 'nor does one that has been silent for long');
});

t.test('every query uses an index, and reads little more than it needs', async (t) => {
  const { store, send, ingest, connection } = await setUp(t);
  const minute = minuteOf(Date.now());
  for (let i = 0; i < 30; i += 1) {
    const requests = [0, 1, 2].map((n) => requestsOf({ client: `app_${n}`, minute: minute - i }));
    await send(batchOf({ requests }));
    const created_at = new Date((minute - i) * 60_000).toISOString();
    const order = {
      id: `ord_${i}`,
      version: 1,
      status: 'pending',
      currency: 'EUR',
      total_amount: 1,
      created_at,
    };
    await ingest.takeOrder({ data: order });
  }
  const rollup = createRollup({ store, logger });
  const run = async () => {
    for (const interval of INTERVALS) await rollup.run(interval);
    for (const clients of [[ALL_CLIENTS], ['app_1', 'app_2'], 'each'] as const) {
      await sumOf(store, { clients, interval: 'minute' });
    }
    for (const kind of ['usage', 'facts'] as const) await store.firstMissing('day', kind);
  };
  const plans = await explainQueries(connection, run);
  t.ok(plans.length > 30, `${plans.length} queries`);
  // The collections of senders and states have a handful of documents.
  const large = plans.filter(({ indexes }) => !indexes.includes('_id_'));
  const scans = large.filter(({ stages }) => stages.includes('COLLSCAN'));
  t.same(
    scans.filter(({ documents }) => documents > 40),
    [],
  );
  t.ok(scans.length <= 2 * INTERVALS.length, `${scans.length} of senders`);
});

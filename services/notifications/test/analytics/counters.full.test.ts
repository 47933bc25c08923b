import { newId } from '@gatehouse/core/ids';
import type { Database } from '@gatehouse/data/database';
import { minuteOf, type UsageBatch } from '@gatehouse/server/usage/usage-batch';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t, { type Test } from 'tap';
import { ALL_CLIENTS, type BucketReader, INTERVALS } from '../../src/analytics/bucket.ts';
import { createIngest } from '../../src/analytics/ingest.ts';
import { createAnalyticsStore } from '../../src/analytics/store/analytics-store.ts';
import { batchOf, requestsOf } from './build.ts';

const KEEP_DAYS = { minute: 7, hour: 90, day: 730 };
const DAY = 86_400_000;
const WRITES = ['bulkWrite', 'updateOne', 'insertOne', 'replaceOne'];

type Connection = Database['connection'];
/** Runs an operation of the driver on a collection, or does something else. */
type Intercept = (operation: {
  on: string;
  method: string;
  run(...args: unknown[]): unknown;
  args: unknown[];
}) => unknown;

/** The connection with what its collections are asked for passed on by `intercept`. */
function intercepted(connection: Connection, intercept: Intercept): Connection {
  return new Proxy(connection, {
    get(target, property) {
      // They are defined already.
      if (property === 'model') return () => undefined;
      if (property !== 'collection') return Reflect.get(target, property);
      return (on: string) =>
        new Proxy(target.collection(on), {
          get(collection, method) {
            const run: unknown = Reflect.get(collection, method);
            if (typeof run !== 'function') return run;
            return (...args: unknown[]) =>
              intercept({ on, method: String(method), args, run: run.bind(collection) as () => unknown });
          },
        });
    },
  });
}

/** Writes fail at times before or after they happened, or halfway, as if the process had been killed there. */
const killedAtTimes: Intercept = async ({ method, run, args }) => {
  const fails = (share: number) => {
    if (Math.random() < share) throw new Error('killed');
  };
  fails(0.1);
  if (method === 'bulkWrite' && Math.random() < 0.2) {
    const [operations, ...options] = args as [unknown[]];
    const some = operations.slice(0, Math.ceil(Math.random() * operations.length));
    await Promise.resolve(run(some, ...options)).catch(() => {});
    throw new Error('killed');
  }
  const result = await run(...args);
  fails(0.1);
  return result;
};

async function setUp(t: Test) {
  const { connection } = await startTestDatabase(t, {
    uri: monitored(await testDatabase(t)),
    define: (connection) => createAnalyticsStore(connection, { keepDays: KEEP_DAYS }),
  });
  /** A replica of the service on the same database. */
  function replica(intercept: Intercept = ({ run, args }) => run(...args)) {
    const store = createAnalyticsStore(intercepted(connection, intercept), { keepDays: KEEP_DAYS });
    const ingest = createIngest({ store, logger });
    const send = (batch: UsageBatch) => ingest.takeUsage(batch.service, batch);
    return { store, ingest, send };
  }
  return { connection, replica, ...replica() };
}

async function sumOf(
  store: BucketReader,
  query: Partial<Parameters<BucketReader['buckets']>[0]> = {},
  status?: string,
) {
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
    for (const { counts, labels } of entries) {
      if (status !== undefined && labels.status !== status) continue;
      for (const count of Object.values(counts)) sum += count;
    }
  }
  return sum;
}

const orderOf = (id: string, version: number, minute: number, status = 'pending') => ({
  data: {
    ...{ id, version, status, currency: 'EUR', total_amount: 1 },
    created_at: new Date(minute * 60_000).toISOString(),
  },
});

t.test('two replicas that count at the same time, and die at it, count everything once', async (t) => {
  const { store, replica } = await setUp(t);
  const minute = minuteOf(Date.now());
  const truth = new Map<string, number>();
  const late: Promise<unknown>[] = [];
  let deaths = 0;
  const unreliable: Intercept = (operation) =>
    WRITES.includes(operation.method) ? killedAtTimes(operation) : operation.run(...operation.args);
  const replicas = [replica(unreliable), replica(unreliable)];

  /** Given to one or both, until one of them says that it is done; the other may still be at it. */
  async function deliver(give: (to: (typeof replicas)[number]) => Promise<unknown>): Promise<void> {
    for (let isDone = false; !isDone; ) {
      const some = Math.random() < 0.5 ? replicas : replicas.slice(Math.floor(Math.random() * 2)).slice(0, 1);
      const given = some.map(give);
      late.push(...given.map((each) => each.catch(() => (deaths += 1))));
      isDone = await Promise.any(given).then(
        () => true,
        () => false,
      );
    }
  }

  /** A process of the service that counts: it sends the next batch when the one before has been taken. */
  async function sender(): Promise<void> {
    const id = newId('prc');
    const sent: UsageBatch[] = [];
    for (let i = 0; i < 12; i += 1) {
      const requests = Array.from({ length: 1 + Math.floor(Math.random() * 5) }, () => {
        const client = `app_${Math.floor(Math.random() * 4)}`;
        const count = 1 + Math.floor(Math.random() * 9);
        truth.set(client, (truth.get(client) ?? 0) + count);
        const at = minute - Math.floor(Math.random() * 100);
        return requestsOf({ client, minute: at, statuses: [count, 0, 0, 0], latency: [20, count] });
      });
      const batch = batchOf({ requests, sender: id });
      sent.push(batch);
      await deliver(({ send }) => send(batch));
      // Its response was lost, and it comes once more.
      const again = sent[Math.floor(Math.random() * sent.length)] ?? batch;
      late.push(...replicas.map(({ send }) => send(again).catch(() => (deaths += 1))));
    }
  }
  const orders = new Set<string>();
  async function customers(): Promise<void> {
    for (let i = 0; i < 30; i += 1) {
      orders.add(`ord_${i % 10}`);
      await deliver(({ ingest }) => ingest.takeOrder(orderOf(`ord_${i % 10}`, i, minute - (i % 10))));
      for (const { store } of replicas) late.push(store.countOrders().catch(() => (deaths += 1)));
    }
  }
  await Promise.all([sender(), sender(), sender(), customers()]);
  await Promise.all(late);
  t.ok(deaths > 0, `${deaths} deaths`);

  await store.countOrders();
  const all = [...truth.values()].reduce((a, b) => a + b, 0);
  for (const interval of INTERVALS) {
    t.equal(await sumOf(store, { interval, sources: ['items'] }), all, interval);
    t.equal(await sumOf(store, { interval, sources: ['order'] }), orders.size, `orders by ${interval}`);
    for (const [client, count] of truth) {
      t.equal(await sumOf(store, { interval, sources: ['items'], clients: [client] }), count, client);
    }
  }
});

t.test('many processes that count the first time in an interval are all counted', async (t) => {
  const { store, replica } = await setUp(t);
  const replicas = [replica(), replica(), replica()];
  const batches = Array.from({ length: 30 }, () => batchOf({ requests: [requestsOf()] }));
  await Promise.all(batches.flatMap((batch) => replicas.map(({ send }) => send(batch))));
  for (const interval of INTERVALS) t.equal(await sumOf(store, { interval }), batches.length, interval);
});

t.test('a replica that was overtaken while it counts orders overwrites and forgets nothing', async (t) => {
  const { store, ingest, replica } = await setUp(t);
  const minute = minuteOf(Date.now());
  const STEPS = { orders: ['aggregate', 'bulkWrite'], counters: ['findOne', 'insertOne', 'replaceOne'] };
  let placed = 0;
  const place = () => {
    placed += 1;
    return ingest.takeOrder(orderOf(`ord_${placed}`, 1, minute));
  };
  for (const [collection, methods] of Object.entries(STEPS)) {
    for (const step of methods) {
      let isOvertaken = false;
      const overtaken = replica(({ on, method, run, args }) => {
        const result = method === 'aggregate' ? run(...args) : undefined;
        if (isOvertaken || method !== step || on !== `analytics_${collection}`) return result ?? run(...args);
        isOvertaken = true;
        /** What the other one does meanwhile: an order changes and another one is placed, and both are counted. */
        const overtake = async () => {
          await ingest.takeOrder(orderOf('ord_1', placed + 1, minute, `changed by ${step}`));
          // What changes before it is noted what is counted must not be counted with another order.
          if (step === 'bulkWrite') return;
          await place();
          await store.countOrders();
        };
        if (method !== 'aggregate') return overtake().then(() => run(...args));
        return {
          toArray: async () =>
            [await (result as { toArray(): Promise<unknown> }).toArray(), await overtake()][0],
        };
      });
      await place();
      await ingest.takeOrder(orderOf('ord_1', placed, minute));
      await overtaken.store.countOrders();
      await store.countOrders();
      t.equal(isOvertaken, step !== 'insertOne', step);
      for (const interval of INTERVALS) {
        t.equal(await sumOf(store, { interval }), placed, `${interval}, ${step}`);
        if (isOvertaken) t.equal(await sumOf(store, { interval }, `changed by ${step}`), 1);
      }
    }
  }
});

t.test(
  'an order that changes after the minutes of its day have expired is counted with all others',
  async (t) => {
    const { store, ingest, connection } = await setUp(t);
    const from = new Date(Date.now() - 200 * DAY);
    for (const [i, days] of [8, 100].entries()) {
      const minute = minuteOf(Date.now()) - days * 24 * 60;
      await ingest.takeOrder(orderOf(`ord_${days}_a`, 1, minute));
      await ingest.takeOrder(orderOf(`ord_${days}_b`, 1, minute - 1));
      await store.countOrders();
      const expired = { interval: { $in: i === 0 ? ['minute'] : ['minute', 'hour'] } };
      await connection.collection('analytics_counters').deleteMany(expired);
      await ingest.takeOrder(orderOf(`ord_${days}_a`, 2, minute, 'cancelled'));
      await store.countOrders();
      const expected = { all: 2 * (i + 1), cancelled: i + 1 };
      t.equal(await sumOf(store, { interval: 'day', from }), expected.all);
      t.equal(await sumOf(store, { interval: 'day', from }, 'cancelled'), expected.cancelled);
    }
  },
);

t.test('as_of: everything before was sent by all that live, and counted', async (t) => {
  const { store, send, ingest, connection } = await setUp(t);
  const asOf = async () => (await store.asOf('usage'))?.getTime();
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();
  const [slow, fast] = [newId('prc'), newId('prc')];
  const [early, late] = [at(-20), at(-3)];
  t.equal(await asOf(), undefined, 'nothing yet');
  await send(batchOf({ sender: slow, until: early }));
  await send(batchOf({ sender: fast, until: late }));
  t.equal(await asOf(), Date.parse(early));
  await send(batchOf({ sender: slow, until: at(-1) }));
  t.equal(await asOf(), Date.parse(late));

  await send(batchOf({ sender: fast, until: at(0), final: true }));
  await send(batchOf({ sender: slow, until: null }));
  t.ok(((await asOf()) ?? 0) > Date.parse(late), 'the one that has ended holds up nothing');

  const senders = connection.collection('analytics_senders');
  await send(batchOf({ sender: fast, until: early }));
  await senders.updateMany({}, [{ $set: { seen_at: { $subtract: ['$seen_at', 40_000] } } }]);
  t.equal(await asOf(), Date.parse(early), 'while nobody is heard of, all are waited for');
  await send(batchOf({ sender: slow, until: at(0) }));
  t.ok(((await asOf()) ?? 0) > Date.now() - 1000, 'one that is silent while another is heard of is not');
  await send(batchOf({ sender: slow, until: at(90) }));
  t.ok(((await asOf()) ?? 0) <= Date.now(), 'it is never later than now');

  const before = new Date();
  t.ok(((await store.asOf('orders')) ?? 0) >= before, 'no order waits');
  await ingest.takeOrder(orderOf('ord_1', 1, minuteOf(Date.now())));
  const changed = await store.asOf('orders');
  t.same(await store.asOf('orders'), changed, 'what has arrived, but is not counted, does not count');
  await store.countOrders();
  t.ok(((await store.asOf('orders')) ?? 0) > (changed ?? 0));
});

t.test('every query uses an index, and reads little more than it needs', async (t) => {
  const { store, send, ingest, connection } = await setUp(t);
  const minute = minuteOf(Date.now());
  for (let i = 0; i < 30; i += 1) {
    const requests = [0, 1, 2].map((n) => requestsOf({ client: `app_${n}`, minute: minute - i }));
    await send(batchOf({ requests }));
    await ingest.takeOrder(orderOf(`ord_${i}`, 1, minute - i));
  }
  const run = async () => {
    await store.asOf('orders');
    await store.countOrders();
    for (const clients of [[ALL_CLIENTS], ['app_1', 'app_2'], 'each'] as const) {
      for (const interval of INTERVALS) await sumOf(store, { clients, interval });
    }
  };
  const plans = await explainQueries(connection, run);
  t.ok(plans.length > 30, `${plans.length} queries`);
  t.same(
    plans.filter(({ stages }) => stages.includes('COLLSCAN')),
    [],
  );
});

// Runs first, as it takes more than a minute.
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import root, { type Test } from 'tap';
import { ALL, ANN } from './build.ts';
import { type CommerceProcess, startCommerce } from './commerce-process.ts';
import { type CRASH_POINTS, dyingAt } from './crash-points.ts';

const issuer = await createTestIssuer(root, 'commerce');
const mongodbUri = await testDatabase(root);
const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
root.teardown(() => client.close());
const products = client.db().collection('products');
const orders = client.db().collection('orders');
const machine = await issuer.machine(ALL);
const ann = await issuer.person(ANN, 'user', ALL);
/** Runs all the time, and takes over from those that die. */
const healthy = await startCommerce(root, { issuer, mongodbUri });

/** How many orders are placed at once, at each named point and where the moment is random. */
const [FEW, MANY] = [100, repetitions(1000)];
const RANDOM_KILLS = repetitions(4);
/**
 * How often, among so few orders, a write comes at least. Some are done for many orders together, and most orders for which
 * there is too little are refused before anything has to be undone.
 */
const AT_LEAST: Record<keyof typeof CRASH_POINTS, number> = {
  'the order is stored as an intent': 50,
  'the stock of a product is reserved': 50,
  'the order is placed': 40,
  'the reservations are removed': 2,
  'the order is settled': 2,
  'an order is to be undone': 1,
  'the stock of a product is released': 1,
  'an order that was undone is deleted': 1,
  'an order is cancelled': 5,
  'the stock of a product is returned': 1,
  'all stock is returned': 1,
};

type Body = {
  id: string;
  status: string;
  stock: number;
  items: { product_id: string; quantity: number }[];
  status_history: { status: string }[];
  data: Body[];
  links: { next?: string };
};
type JsonResponse = { status: number; body: Body; isReplayed: boolean; isForLater: boolean };

/** Undefined if there is no response. */
async function send(
  { base }: CommerceProcess,
  [method, path, token]: [method: string, path: string, token: string],
  body?: object,
  headers: Record<string, string> = {},
): Promise<JsonResponse | undefined> {
  try {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const isReplayed = response.headers.get('idempotency-replayed') === 'true';
    const isForLater = response.headers.has('retry-after');
    return { status: response.status, body: (await response.json()) as Body, isReplayed, isForLater };
  } catch {
    return undefined;
  }
}

/** All orders since a time, by way of the interface. */
async function ordersSince(begin: string): Promise<Map<string, Body>> {
  const found = new Map<string, Body>();
  let next: string | undefined = `/v2/orders?limit=100&cursor=&filter[created_at][gte]=${begin}`;
  while (next !== undefined) {
    const reply: JsonResponse | undefined = await send(healthy, ['GET', next, machine]);
    if (reply?.status !== 200) throw new Error(`${next}: ${JSON.stringify(reply)}`);
    for (const order of reply.body.data) found.set(order.id, order);
    next = reply.body.links.next;
  }
  return found;
}

/** As if so much time had passed that another process may take over what a dead one has left. */
async function passTime(): Promise<void> {
  const past = new Date(1);
  await orders.updateMany({ stock: { $exists: true } }, { $set: { 'stock.until': past } });
  await products.updateMany(
    { 'reservations.0': { $exists: true } },
    { $set: { 'reservations.$[].at': past } },
  );
}

/** How many orders and reservations are not finished. */
async function left(): Promise<number> {
  const phases = ['reserving', 'undoing', 'settling', 'restocking'];
  const open = await orders.countDocuments({ 'stock.phase': { $in: phases } });
  return open + (await products.countDocuments({ 'reservations.0': { $exists: true } }));
}

/** So many orders at once, each with a key, some of which are cancelled, while `die` ends the process; then another takes over. */
async function round(
  t: Test,
  count: number,
  options: { script?: readonly string[]; die(commerce: CommerceProcess): Promise<unknown> },
) {
  // The first product suffices for all; of the second there is too little, so that orders have to be undone.
  const stocks = [count * 2, count];
  const ids: string[] = [];
  for (const stock of stocks) {
    const product = { name: 'Tea', price: 12.5, currency: 'USD', stock };
    ids.push((await send(healthy, ['POST', '/v2/products', machine], product))?.body.id ?? '');
  }
  const begin = new Date().toISOString();
  const { script } = options;
  const commerce = await startCommerce(t, { issuer, mongodbUri, ...(script && { script }) });
  const order = (to: CommerceProcess, i: number) =>
    send(
      to,
      ['POST', '/v2/orders', ann],
      { items: ids.map((product_id, n) => ({ product_id, quantity: 1 + ((i + n) % 2) })), currency: 'USD' },
      { 'idempotency-key': `${ids[0]}-${i}` },
    );
  /** The id of the order of each client, once it is acknowledged. */
  const placed = new Map<number, string>();
  const refused = new Set<number>();
  const cancelled = new Set<string>();
  const others: JsonResponse[] = [];
  const note = (i: number, reply: JsonResponse): void => {
    if (reply.status === 201) placed.set(i, reply.body.id);
    else if (reply.status === 409) refused.add(i);
    // A slow machine may keep requests waiting for the database for too long.
    else if (reply.status !== 503) others.push(reply);
  };
  const clients = Array.from({ length: count }, async (_, i) => {
    const reply = await order(commerce, i);
    if (reply === undefined) return;
    note(i, reply);
    if (reply.status !== 201 || i % 3 > 0) return;
    const path = `/v2/orders/${reply.body.id}/status`;
    const cancellation = await send(commerce, ['PATCH', path, machine], { status: 'cancelled' });
    if (cancellation?.status === 200) cancelled.add(reply.body.id);
  });
  const all = Promise.all(clients);
  const died = options.die(commerce).then(() => true);
  t.ok(await Promise.race([died, all.then(() => sleep(2000, false))]), 'it has died');
  await commerce.kill();
  await all;

  await passTime();
  const written = await ordersSince(begin);
  const acknowledged = new Set(placed.values());
  t.same(
    [...acknowledged].filter((id) => !written.has(id)),
    [],
    'all acknowledged orders are there',
  );
  const withoutResponse = new Set([...written.keys()].filter((id) => !acknowledged.has(id)));
  const writtenOnly = withoutResponse.size;
  // All clients without a response repeat their requests, and some others do.
  const again = Array.from({ length: count }, (_, i) => i).filter((i) => !refused.has(i));
  const repeat = async (i: number) => {
    const first = placed.get(i);
    let reply: JsonResponse | undefined;
    await until(async () => {
      reply = await order(healthy, i);
      return reply?.isForLater === false;
    }, 60_000);
    if (reply === undefined) return;
    note(i, reply);
    const { body, isReplayed } = reply;
    if (first !== undefined && body.id !== first) t.fail(`${first} was repeated as ${JSON.stringify(body)}`);
    if (written.has(body.id) && !isReplayed) t.fail(`${body.id} was placed anew`);
    withoutResponse.delete(body.id);
  };
  const queue = again.filter((i) => !placed.has(i) || i % 10 === 0);
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      for (let i = queue.pop(); i !== undefined; i = queue.pop()) await repeat(i);
    }),
  );
  t.same([...withoutResponse], [], `${writtenOnly} written without an answer: each is the answer to its key`);
  const fault = `${commerce.output()}\n${healthy.output()}`.match(/.*"msg":"fault".*/)?.[0];
  t.same(others, [], fault ?? 'nobody met a fault');

  await until(async () => {
    await passTime();
    return (await left()) === 0;
  }, 60_000);
  const found = await ordersSince(begin);
  t.same(
    [...found.keys()].sort(),
    [...placed.values()].sort(),
    'each order has been acknowledged to one client',
  );
  for (const [i, id] of ids.entries()) {
    const stock = (await send(healthy, ['GET', `/v2/products/${id}`, machine]))?.body.stock;
    let sold = 0;
    for (const { status, items } of found.values()) {
      if (status !== 'cancelled') sold += items.find(({ product_id }) => product_id === id)?.quantity ?? 0;
    }
    t.equal((stock ?? Number.NaN) + sold, stocks[i], `product ${i}: ${stock} in stock, ${sold} sold`);
  }
  t.same(
    [...cancelled].filter((id) => found.get(id)?.status !== 'cancelled'),
    [],
    `${cancelled.size} are cancelled`,
  );
  for (const { status, status_history: history } of found.values()) {
    const statuses = status === 'cancelled' ? ['pending', 'cancelled'] : ['pending'];
    if (JSON.stringify(history.map((it) => it.status)) !== JSON.stringify(statuses))
      t.fail(`a history of ${JSON.stringify(history)}`);
  }
  t.comment(`${acknowledged.size} placed before, ${placed.size} in all, ${cancelled.size} cancelled`);
}

for (const [point, times] of Object.entries(AT_LEAST) as [keyof typeof CRASH_POINTS, number][]) {
  // By day one of the two, and each day another one; stock-reservation.full.test.ts has both of every write.
  const order = Math.random() < 0.5 ? (['before', 'after'] as const) : (['after', 'before'] as const);
  for (const when of order.slice(0, repetitions(2))) {
    const nth = 1 + Math.floor(Math.random() * times);
    root.test(`killed ${when}: ${point} (${nth})`, (t) =>
      round(t, FEW, { script: dyingAt(point, when, nth), die: ({ ended }) => ended }),
    );
  }
}

for (let i = 0; i < RANDOM_KILLS; i += 1) {
  const ms = Math.random() * 3000;
  root.test(`killed after ${ms.toFixed(0)} ms`, (t) =>
    round(t, MANY, {
      async die(commerce) {
        await sleep(ms);
        await commerce.kill();
      },
    }),
  );
}

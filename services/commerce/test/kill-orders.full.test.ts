import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import mongoose from 'mongoose';
import root, { type Test } from 'tap';
import { ALL, ANN } from './build.ts';
import { type CommerceProcess, startCommerce } from './commerce-process.ts';
import { CRASH_POINTS, dyingAt } from './crash-points.ts';

const issuer = await createTestIssuer(root, 'commerce');
const mongodbUri = await testDatabase(root);
const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
root.teardown(() => client.close());
const products = client.db().collection('products');
const orders = client.db().collection('orders');
const machine = await issuer.machine(ALL);
const ann = await issuer.person(ANN, 'user', ALL);
const port = await freePort();
const base = `http://127.0.0.1:${port}`;
/** Between the rounds, a process that does not die. */
let healthy = await startCommerce(root, { issuer, mongodbUri, port });

const ORDERS = 1000;
const RANDOM_KILLS = 4;
/** The writes of placing come at least so often, those of undoing and cancelling less. */
const [OFTEN, SELDOM] = [250, 60];
/** The first product suffices for all; of the second there is too little, so that orders have to be undone. */
const STOCKS = [ORDERS * 3, ORDERS / 2];

type Body = {
  id: string;
  status: string;
  stock: number;
  items: { product_id: string; quantity: number }[];
  status_history: { status: string }[];
  data: Body[];
  links: { next?: string };
};
type Answer = { status: number; body: Body };

/** Undefined if there is no answer. */
async function send(method: string, path: string, token: string, body?: object): Promise<Answer | undefined> {
  try {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Body };
  } catch {
    return undefined;
  }
}

/** All orders since a time, by way of the interface. */
async function ordersSince(begin: string): Promise<Body[]> {
  const found: Body[] = [];
  let next: string | undefined = `/v2/orders?limit=100&cursor=&filter[created_at][gte]=${begin}`;
  while (next !== undefined) {
    const answer: Answer | undefined = await send('GET', next, machine);
    if (answer?.status !== 200) throw new Error(`${next}: ${JSON.stringify(answer)}`);
    found.push(...answer.body.data);
    next = answer.body.links.next;
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

/** A thousand orders at once, some of which are cancelled, while `die` ends the process; then another takes over. */
async function round(
  t: Test,
  script: readonly string[] | undefined,
  die: (commerce: CommerceProcess) => Promise<unknown>,
) {
  const ids: string[] = [];
  for (const stock of STOCKS) {
    const product = { name: 'Tea', price: 12.5, currency: 'USD', stock };
    ids.push((await send('POST', '/v2/products', machine, product))?.body.id ?? '');
  }
  await healthy.kill('SIGTERM');
  const begin = new Date().toISOString();
  const commerce = await startCommerce(t, {
    ...{ issuer, mongodbUri, port },
    ...(script === undefined ? {} : { script }),
  });
  const placed = new Set<string>();
  const cancelled = new Set<string>();
  const refusals: number[] = [];
  const clients = Array.from({ length: ORDERS }, async (_, i) => {
    const items = ids.map((product_id, n) => ({ product_id, quantity: 1 + ((i + n) % 2) }));
    const answer = await send('POST', '/v2/orders', ann, { items, currency: 'USD' });
    if (answer === undefined) return;
    if (answer.status !== 201) return void refusals.push(answer.status);
    placed.add(answer.body.id);
    if (i % 3 > 0) return;
    const path = `/v2/orders/${answer.body.id}/status`;
    if ((await send('PATCH', path, machine, { status: 'cancelled' }))?.status === 200)
      cancelled.add(answer.body.id);
  });
  const all = Promise.all(clients);
  const died = die(commerce).then(() => true);
  t.ok(await Promise.race([died, all.then(() => sleep(2000, false))]), 'it has died');
  await commerce.kill();
  await all;
  // A slow machine may keep requests waiting for the database for too long.
  const others = refusals.filter((status) => status !== 409 && status !== 503);
  t.same(others, [], commerce.output().match(/.*"msg":"fault".*/)?.[0] ?? 'nobody met a fault');

  await passTime();
  healthy = await startCommerce(root, { issuer, mongodbUri, port });
  await until(async () => {
    await passTime();
    return (await left()) === 0;
  }, 60_000);
  const found = new Map((await ordersSince(begin)).map((order) => [order.id, order]));
  for (const [i, id] of ids.entries()) {
    const stock = (await send('GET', `/v2/products/${id}`, machine))?.body.stock;
    let sold = 0;
    for (const { status, items } of found.values()) {
      if (status !== 'cancelled') sold += items.find(({ product_id }) => product_id === id)?.quantity ?? 0;
    }
    t.equal((stock ?? Number.NaN) + sold, STOCKS[i], `product ${i}: ${stock} in stock, ${sold} sold`);
  }
  t.same(
    [...placed].filter((id) => !found.has(id)),
    [],
    `all of ${placed.size} acknowledged orders are there`,
  );
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
  t.comment(`${placed.size} placed, ${cancelled.size} cancelled, ${found.size} found`);
}

for (const [i, point] of (Object.keys(CRASH_POINTS) as (keyof typeof CRASH_POINTS)[]).entries()) {
  for (const when of ['before', 'after'] as const) {
    const nth = 1 + Math.floor(Math.random() * (i < 5 ? OFTEN : SELDOM));
    root.test(`killed ${when}: ${point} (${nth})`, (t) =>
      round(t, dyingAt(point, when, nth), ({ ended }) => ended),
    );
  }
}

for (let i = 0; i < RANDOM_KILLS; i += 1) {
  const ms = Math.random() * 3000;
  root.test(`killed after ${ms.toFixed(0)} ms`, (t) =>
    round(t, undefined, async (commerce) => {
      await sleep(ms);
      await commerce.kill();
    }),
  );
}

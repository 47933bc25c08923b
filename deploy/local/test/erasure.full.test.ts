import { createServer } from 'node:http';
import type { Database } from '@gatehouse/data/database';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { freePort, until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t, { type Test } from 'tap';
import { startCluster, tokenFrom } from './cluster.ts';

/** In every text that the person writes, and that others write about them. */
const MARK = 'sphinxofblackquartz';
const PASSWORD = 'correct horse battery';
const FORGOTTEN_WITHIN_MS = 60_000;
const NAMES = ['items', 'commerce', 'notifications'] as const;

const { identity, users, others, databases } = await startCluster(
  t,
  {
    // Nothing listens: what is sent waits.
    NOTIFICATIONS_SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
    NOTIFICATIONS_MAIL_FROM: 'shop@example.org',
    NOTIFICATIONS_SMS_URL: `http://127.0.0.1:${await smsGateway()}`,
    NOTIFICATIONS_SMS_FROM: '+49301',
  },
  NAMES,
);
const nodes = { identity, users, ...others };
const machine = await tokenFrom(identity.base);
const opened = new Map<string, Database>();
for (const [name, uri] of databases) opened.set(name, await startTestDatabase(t, { uri }));

type Body = Record<string, unknown> & { id: string; status: string; client_id: string; token: string };

async function call(node: keyof typeof nodes, method: string, path: string, token?: string, body?: unknown) {
  const headers = {
    'x-forwarded-proto': 'https',
    ...(method === 'POST' ? { 'idempotency-key': `${MARK}-${crypto.randomUUID()}` } : {}),
  };
  const response = await jsonRequest<Body>(method, nodes[node].base + path, { token, body, headers });
  if (response.status < 400) return response.body;
  throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
}

/** A gateway that takes every message, and answers with the text. */
async function smsGateway(): Promise<number> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => response.writeHead(400).end(JSON.stringify({ code: 1, message: text })));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return (server.address() as { port: number }).port;
}

async function report(token: string, asked: object): Promise<string> {
  const { id } = await call('notifications', 'POST', '/v2/reports/generate', token, asked);
  await until(
    async () => (await call('notifications', 'GET', `/v2/reports/${id}`, token)).status === 'completed',
    20_000,
  );
  return id;
}

let people = 0;

/** Somebody who has written into everything that they can, and about whom others have written. */
async function person(items = 1) {
  people += 1;
  const username = `${MARK}${people}`;
  const { id } = await call('users', 'POST', '/v2/users', machine, {
    username,
    email: `${username}@example.org`,
    password: PASSWORD,
    profile: { first_name: MARK, last_name: MARK },
  });
  await call('users', 'PUT', `/v2/users/${id}/role`, machine, { role: 'editor' });
  const login = { username, password: PASSWORD };
  const { token } = await call('identity', 'POST', '/api/v1/auth/login', undefined, login);
  for (let i = 0; i < items; i += 1) {
    await call('items', 'POST', '/api/v1/items', token, { name: MARK, value: { [MARK]: MARK } });
  }
  const { client_id: client } = await call('identity', 'POST', '/api/v1/applications', token, {
    name: MARK,
    type: 'web',
    scopes: ['read:data'],
    redirect_uris: [`https://${MARK}.example.org/cb`],
  });
  await call('identity', 'POST', `/api/v1/applications/${client}/api-keys`, token, {
    name: MARK,
    scopes: ['read:data'],
  });
  const { token: initial } = await call('identity', 'POST', '/api/v1/registration-tokens', token, {
    ...{ name: MARK, scopes: ['openid'], uses: 2 },
  });
  await call('identity', 'POST', '/oauth2/register', initial, {
    ...{ client_name: MARK, redirect_uris: [`https://${MARK}.example.org/cb`] },
  });
  const { id: product } = await call('commerce', 'POST', '/v2/products', machine, {
    ...{ name: 'Tea', price: 2, currency: 'EUR', category: 'Tea', stock: 9 },
  });
  const order = { items: [{ product_id: product, quantity: 1 }], currency: 'EUR' };
  const orders = [];
  for (let i = 0; i < 2; i += 1) orders.push(await call('commerce', 'POST', '/v2/orders', token, order));
  const cancelled = { status: 'cancelled', note: MARK };
  await call('commerce', 'PATCH', `/v2/orders/${orders[0]?.id}/status`, token, cancelled);
  for (const type of ['email', 'sms']) {
    const message = { user_id: id, type, message: `Dear ${MARK}` };
    await call('notifications', 'POST', '/v2/notifications', machine, message);
  }
  await report(token, { type: 'users', format: 'json' });
  const kept = await report(machine, { type: 'products', format: 'csv' });
  const listing = await report(machine, { type: 'users', format: 'csv' });
  const filtered = await report(machine, { type: 'orders', format: 'csv', filters: { user_id: id } });
  return { id, orders: orders.map((it) => it.id), kept, listing, filtered, client };
}

/** The collections of all databases in which the text is, also within files. */
async function placesOf(text: string): Promise<string[]> {
  const places: string[] = [];
  for (const [name, { connection }] of opened) {
    for (const { name: collection } of (await connection.db?.listCollections().toArray()) ?? []) {
      const found = connection.collection(collection).find({});
      for await (const document of found) {
        const json = JSON.stringify(document, (_key, value: unknown) =>
          value !== null && typeof value === 'object' && 'data' in value && Array.isArray(value.data)
            ? Buffer.from(value.data).toString('latin1')
            : value,
        );
        const bytes = Object.values(document)
          .filter((value) => value?._bsontype === 'Binary')
          .map((value) => value.toString('latin1'));
        if (![json, ...bytes].some((it) => it.includes(text))) continue;
        places.push(`${name}.${collection}`);
        break;
      }
    }
  }
  return places.sort();
}

async function forgotten(t: Test, id: string, limitMs = FORGOTTEN_WITHIN_MS) {
  const begun = performance.now();
  await until(async () => (await placesOf(MARK)).length === 0, limitMs).catch(() => {});
  t.same(await placesOf(MARK), [], 'nothing that the person or others have written');
  t.comment(`after ${Math.round(performance.now() - begun)} ms`);
  const OF_IDENTITY = ['identity.audit_log', 'identity.revocations'];
  const KEPT = [...OF_IDENTITY, 'notifications.events', 'users.idempotency_keys'];
  const waiting = NAMES.map((name) => `${name}.erasures`);
  t.same(await placesOf(id), [...waiting, 'identity.erasures', ...KEPT].sort(), 'where their id is kept');
}

const remove = (id: string) => call('users', 'DELETE', `/v2/users/${id}`, machine);

t.test('a deleted person is forgotten by every service', async (t) => {
  const { id, orders, kept, listing, filtered, client } = await person();
  const before = await placesOf(MARK);
  for (const place of [
    ...['users.users', 'items.items', 'commerce.orders', 'identity.applications', 'identity.api_keys'],
    ...['notifications.notifications', 'notifications.report_files.chunks'],
  ]) {
    t.ok(before.includes(place), `${place}, before`);
  }
  await remove(id);
  await forgotten(t, id);
  for (const [i, order] of orders.entries()) {
    t.match(await call('commerce', 'GET', `/v2/orders/${order}`, machine), {
      ...{ user_id: 'usr_deleted', total_amount: 2, status: i === 0 ? 'cancelled' : 'pending' },
    });
  }
  t.match(await call('notifications', 'GET', `/v2/reports/${kept}`, machine), { status: 'completed' });
  t.match(await call('notifications', 'GET', `/v2/reports/${listing}`, machine), { status: 'expired' });
  await t.rejects(call('notifications', 'GET', `/v2/reports/${filtered}`, machine), /404/);
  const found = await opened
    .get('identity')
    ?.connection.collection('audit_log')
    .findOne({ client, subject: id, action: 'application.deleted' });
  t.match(found, { details: { cause: 'owner' } }, 'the deletion of the application is recorded');
});

t.test('also by services that were away, and by one that is killed while it erases', async (t) => {
  const { id } = await person(600);
  await others.commerce.kill();
  await others.notifications.kill();
  await remove(id);
  await others.items.kill();
  await identity.kill();
  await Promise.all([others.items, identity].map((node) => node.restart()));
  await until(
    async () => !(await placesOf(MARK)).some((it) => /^(?:identity|items)/.test(it)),
    FORGOTTEN_WITHIN_MS,
  );
  await users.kill();
  await users.restart();
  t.ok((await placesOf(MARK)).includes('commerce.orders'), 'who is away still has it');
  await Promise.all([others.commerce, others.notifications].map((node) => node.restart()));
  await forgotten(t, id);
});

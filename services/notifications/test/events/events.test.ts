import { bodyValidator } from '@gatehouse/api/http/schema';
import { newId } from '@gatehouse/core/ids';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { EVENT_TYPES } from '../../src/events/event-types.ts';
import { ANN, BOB, build, type EventBody } from './build.ts';

const { call, issuer, publish, order } = await build(t);
const SCOPES = 'read:data read:users';
const admin = await issuer.person('usr_admin', 'admin', `${SCOPES} read:all`);

/** The events that the holder of a token reads, once there are as many. */
async function listed(token: string, count: number, query = ''): Promise<EventBody[]> {
  let data: EventBody[] = [];
  await until(async () => {
    const answer = await call('GET', `/api/v1/events?${query}`, token);
    if (answer.status !== 200) throw new Error(answer.text);
    data = answer.body.data;
    return data.length >= count;
  }, 10_000);
  return data;
}

await publish('users.user.created', { user_id: ANN, version: 1 });
await publish('users.user.changed', { user_id: ANN, version: 2, changed: ['name'] });
const source = newId('evt');
for (let i = 0; i < 2; i += 1) {
  // The outbox delivers at least once.
  await publish('commerce.order.created', order('ord_ann', ANN), source);
}
await publish(
  'commerce.order.changed',
  order('ord_bob', BOB, { status: 'cancelled', version: 2, actors: ['app_2', 'app_1'] }),
);
const product = { id: 'prd_1', name: 'Teapot', price: 5, currency: 'EUR', stock: 1, sku: null };
await publish('commerce.product.changed', { ...product, status: 'active', version: 1, secret: 'x' });
await publish('commerce.product.deleted', { id: 'prd_1', version: 2 });
await publish('analytics.usage.items', {}).catch(() => {});

const ALL = [
  'user.created',
  'user.updated',
  'order.created',
  'stock.changed',
  'order.updated',
  'stock.changed',
  'product.created',
  'product.deleted',
];
const PRODUCTS = ALL.filter((type) => /^(?:product|stock)\./.test(type));

t.test('an admin sees all, each once and in order, with no field but those of the schema', async (t) => {
  const data = await listed(admin, ALL.length);
  t.same(data.map(({ type }) => type).sort(), ALL.toSorted());
  t.match(data[0], { id: /^evt_/, type: 'user.created', data: { user_id: ANN, version: 1 } });
  const stock = data.filter(({ type }) => type === 'stock.changed').map((it) => it.data);
  t.same(stock, [
    { product_id: 'prd_1', order_id: 'ord_ann', change: -2 },
    { product_id: 'prd_1', order_id: 'ord_bob', change: 2 },
  ]);
  const firstParty = await issuer.person('usr_admin', 'admin', `${SCOPES} manage:apps`);
  const acted = (await listed(firstParty, ALL.length)).filter((it) => 'actors' in it.data);
  t.match(acted, [{ type: 'order.updated', data: { actors: ['app_2', 'app_1'] } }]);
  t.equal(acted.length, 1, 'everybody sees what happens to a product, and nobody by which application');
  t.notMatch(JSON.stringify(data), /secret/);
});

t.test('an application of a person does not learn which others act for the person', async (t) => {
  const types = 'filter[type]=order.updated';
  for (const [scope, actors] of [
    [`${SCOPES} manage:apps`, ['app_2', 'app_1']],
    [SCOPES, undefined],
  ] as const) {
    const token = await issuer.person(BOB, 'user', scope);
    const [event] = await listed(token, 1, types);
    t.same(event?.data.actors, actors, scope);
    const read = await call('GET', `/api/v1/events/${event?.id}`, token);
    t.same(read.body, event);
  }
});

t.test('who sees what', async (t) => {
  const editor = await issuer.person('usr_ed', 'editor', `${SCOPES} read:all`);
  const cases: [name: string, token: string, types: string[]][] = [
    ['an editor', editor, ALL],
    ['a machine', await issuer.machine(SCOPES), ALL],
    ['a machine without read:users', await issuer.machine('read:data'), ALL.slice(2)],
    ['the customer and user', await issuer.person(ANN, 'user', SCOPES), [...ALL.slice(0, 3), ...PRODUCTS]],
    ['another customer', await issuer.person(BOB, 'user', SCOPES), ['order.updated', ...PRODUCTS]],
    ['without read:data', await issuer.person(ANN, 'user', 'read:users'), ALL.slice(0, 2)],
    ['a stranger', await issuer.person('usr_x', 'user', SCOPES), PRODUCTS],
  ];
  for (const [name, token, types] of cases) {
    const data = await listed(token, types.length);
    t.same(data.map(({ type }) => type).sort(), types.toSorted(), name);
  }
  t.equal((await call('GET', '/api/v1/events', await issuer.machine('write:data'))).status, 403);
  const [first] = await listed(admin, 1);
  const stranger = await issuer.person('usr_x', 'user', SCOPES);
  t.equal((await call('GET', `/api/v1/events/${first?.id}`, stranger)).status, 404);
  t.match(await call('GET', `/api/v1/events/${first?.id}`, admin), { status: 200, body: first });
});

t.test('a reader goes on by cursor, and later after the last event', async (t) => {
  const seen: string[] = [];
  let next: string | undefined = '/api/v1/events?limit=3';
  while (next !== undefined) {
    const { body } = await call('GET', next, admin);
    seen.push(...body.data.map(({ id }) => id));
    next = body.links.next;
  }
  t.equal(new Set(seen).size, ALL.length);
  const after = `filter[id][gt]=${seen.at(-1)}`;
  t.same((await call('GET', `/api/v1/events?${after}`, admin)).body.data, []);
  await publish('users.user.deleted', { user_id: ANN, version: 3 });
  t.match(await listed(admin, 1, after), [{ type: 'user.deleted' }]);
  const [deleted] = await listed(admin, 1, 'sort=created_at&order=desc&limit=1&filter[type]=user.deleted');
  t.equal(deleted?.data.user_id, ANN);
});

t.test('what is erased with a person is no longer listed, but for the deletion itself', async (t) => {
  const users = await issuer.internal('users', 'notifications');
  t.equal((await call('POST', '/internal/notifications/erasures', users, { user_id: ANN })).status, 204);
  await until(
    async () => (await listed(admin, 1)).filter(({ data }) => data.user_id === ANN).length === 1,
    10_000,
  );
  t.match(await listed(admin, 1, 'filter[type]=user.deleted'), [{ data: { user_id: ANN } }]);
});

t.test('the catalogue has a schema and an example of each type, which fit', async (t) => {
  const { body } = await call('GET', '/api/v1/event-types', admin);
  const types = body.data as unknown as { type: string; schema: object; example: EventBody }[];
  t.same(
    types.map(({ type }) => type),
    Object.keys(EVENT_TYPES),
  );
  for (const { type, schema, example } of types) {
    t.same(bodyValidator(schema)(example.data), example.data, type);
    t.same(Object.keys((schema as { properties: object }).properties), Object.keys(example.data));
  }
});

t.test('events of identity are for the owner of the application', async (t) => {
  issuer.own(BOB, 'app_bob');
  const signIn = { type: 'sign_in.succeeded', user_id: ANN, client_id: 'app_bob' };
  const id = newId('evt');
  for (let i = 0; i < 2; i += 1) await publish('identity.audit.recorded', signIn, id);
  const query = 'filter[type]=sign_in.succeeded';
  const bobs = { sub: BOB, client_id: 'app_bob', scope: `${SCOPES} read:all`, roles: ['user'] };
  for (const [name, token, count] of [
    ['the owner', await issuer.person(BOB, 'user', `${SCOPES} manage:apps`), 1],
    ['the person', await issuer.person(ANN, 'user', `${SCOPES} manage:apps`), 1],
    ['an admin', await issuer.person('usr_admin', 'admin', `${SCOPES} manage:apps`), 1],
    ['the person, by another application', await issuer.person(ANN, 'user', SCOPES), 0],
    ['the owner, by another application', await issuer.person(BOB, 'user', SCOPES), 0],
    ['the owner, by the application', await issuer.sign(bobs), 0],
    ['an editor', await issuer.person('usr_ed', 'editor', `${SCOPES} manage:apps`), 0],
    ['an admin, by another application', admin, 0],
    ['a trusted application', await issuer.sign({ ...bobs, sub: 'app_bob', trusted: true }), 0],
  ] as const) {
    t.same(
      (await listed(token, count, query)).map(({ data }) => data.user_id),
      count === 1 ? [ANN] : [],
      name,
    );
  }
});

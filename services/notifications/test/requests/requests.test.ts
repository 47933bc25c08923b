import { newId } from '@gatehouse/core/ids';
import { createRequestRecorder } from '@gatehouse/server/usage/request-recorder';
import type { LoggedRequest } from '@gatehouse/server/usage/usage-batch';
import t from 'tap';
import { batchOf } from '../analytics/build.ts';
import { build } from '../events/build.ts';

type Row = { id: string; client_id: string; request_id: string; status: number } & Record<string, unknown>;

const ANN = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7';
const BOB = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b8';
const requestLog = { days: 7, rows: 100, successPercent: 0 };
const { call, issuer, publish } = await build(t, { requestLog });

const logged = (over: Partial<LoggedRequest> = {}): LoggedRequest => ({
  ...{
    id: newId('rlg'),
    client: 'app_ann',
    authenticated: true,
    method: 'POST',
    path: '/v2/orders',
    status: 403,
    ms: 1.5,
  },
  ...{ request_id: newId('req'), credential: 'k2Jd', code: 'forbidden' },
  ...{ message: 'This needs the scope write:data.', scope: 'write:data' },
  ...over,
});
const send = (log: LoggedRequest[], service = 'commerce') => {
  const batch = batchOf({ service });
  return publish(`analytics.usage.${service}`, { ...batch, log });
};
async function list(token: string, query = ''): Promise<Row[]> {
  const { status, body, text } = await call('GET', `/api/v1/requests?${query}`, token);
  if (status !== 200) throw new Error(text);
  return body.data as unknown as Row[];
}

issuer.own(ANN, 'app_ann');
issuer.own(BOB, 'app_bob');
const SCOPES = 'read:data manage:apps';
const ann = await issuer.person(ANN, 'user', SCOPES);
const bob = await issuer.person(BOB, 'user', SCOPES);
const actors = ['app_ann', 'app_bob'];
const of = {
  ann: logged({ actors }),
  bob: logged({ client: 'app_bob', code: 'not_found', status: 404, scope: null }),
};
await send([of.ann, of.bob]);
await send([of.ann]);

// A member of Ann's application, without events of it.
issuer.rights.set('usr_member', { visible_client_ids: ['app_ann'] });

t.test('an owner sees the requests of the own applications, once, and no others', async (t) => {
  const { client, ms, scope, ...same } = of.ann;
  const expected = { ...same, client_id: client, duration_ms: ms, missing_scope: scope, service: 'commerce' };
  t.match(await list(ann), [expected]);
  t.match(await list(bob), [{ actors: [] }]);
  const cases: [name: string, token: string, seen: string[]][] = [
    ['the owner', ann, ['app_ann']],
    ['another owner', bob, ['app_bob']],
    ['a member', await issuer.person('usr_member', 'user', SCOPES), ['app_ann']],
    ['a stranger', await issuer.person('usr_x', 'user', SCOPES), []],
    ['an editor', await issuer.person('usr_ed', 'editor', SCOPES), []],
    ['the owner by another application', await issuer.person(ANN, 'user', 'read:data'), []],
    ['an admin', await issuer.person('usr_admin', 'admin', SCOPES), ['app_bob', 'app_ann']],
    ['an admin by another application', await issuer.person('usr_admin', 'admin', 'read:data'), []],
    ['a machine', await issuer.machine('read:data read:all'), []],
  ];
  for (const [name, token, seen] of cases) {
    t.same(
      (await list(token)).map((it) => it.client_id),
      seen,
      name,
    );
    const asked = [
      `filter[client_id]=app_bob`,
      `filter[client_id][in]=app_ann,app_bob`,
      `filter[request_id]=${of.bob.request_id}`,
      'filter[code]=not_found',
      'filter[status][gte]=404',
    ];
    for (const query of asked) {
      const others = (await list(token, query)).filter((it) => !seen.includes(it.client_id));
      t.same(others, [], `${name}: ${query}`);
    }
    const { status } = await call('GET', `/api/v1/requests/${of.bob.id}`, token);
    t.equal(status, seen.includes('app_bob') ? 200 : 404, name);
  }
  t.equal((await call('GET', '/api/v1/requests', await issuer.machine('write:data'))).status, 403);
});

t.test('filters, and pages by cursor', async (t) => {
  for (const [query, count] of [
    [`filter[request_id]=${of.ann.request_id}`, 1],
    [`filter[request_id]=${of.bob.request_id}`, 0],
    ['filter[status]=403', 1],
    ['filter[status][lt]=400', 0],
    ['filter[code]=forbidden', 1],
    ['filter[code]=not_found', 0],
    ['filter[path][gte]=/v2/p', 0],
    ['filter[path][gte]=/v2/o&filter[path][lt]=/v2/p', 1],
    ['filter[duration_ms][gte]=1.5', 1],
    ['filter[duration_ms][lt]=1.5', 0],
  ] as const) {
    t.equal((await list(ann, query)).length, count, query);
  }
  const admin = await issuer.person('usr_admin', 'admin', SCOPES);
  t.equal((await list(admin, 'filter[path][gte]=/v2/o&filter[duration_ms][gte]=1')).length, 2, 'of all');
  await send([logged(), logged(), logged()]);
  const first = await call('GET', '/api/v1/requests?limit=3', ann);
  const next = await call('GET', String(first.body.links.next), ann);
  const ids = [...first.body.data, ...next.body.data].map(({ id }) => id);
  t.equal(ids.length, 4);
  t.same(ids, ids.toSorted().reverse(), 'the latest first');
});

t.test('an application has a maximum, and successes are sampled', async (t) => {
  await send([logged({ status: 200, code: null, message: null, scope: null })]);
  t.same(await list(ann, 'filter[status]=200'), []);
  const many = () => Array.from({ length: 60 }, () => logged({ client: 'app_bob' }));
  for (let i = 0; i < 5; i += 1) await send(many());
  const { body } = await call('GET', '/api/v1/requests?limit=100', bob);
  t.equal(body.data.length, 100);
  t.equal(body.links.next, undefined);
  t.equal((await list(ann, `filter[request_id]=${of.ann.request_id}`)).length, 1, 'others keep theirs');
});

t.test('requests that only name an application displace none of its own, and are marked', async (t) => {
  const named = (i: number) =>
    logged({ authenticated: false, credential: null, code: 'invalid_client', status: 401, ms: i });
  const own = (await list(ann)).map(({ id }) => id);
  for (let i = 0; i < 5; i += 1) await send(Array.from({ length: 60 }, (_, j) => named(i * 60 + j)));
  const all = async () => {
    const found: (Row & { authenticated: boolean; duration_ms: number })[] = [];
    for (let next: string | undefined = '/api/v1/requests?limit=100'; next !== undefined; ) {
      const { body } = await call('GET', next, ann);
      found.push(...(body.data as unknown as typeof found));
      next = body.links.next;
    }
    return found;
  };
  const rows = await all();
  t.same(
    rows.filter((it) => it.authenticated).map(({ id }) => id),
    own,
    'each of the own ones is there',
  );
  const others = rows.filter((it) => !it.authenticated);
  t.equal(others.length, 100, 'a ring of their own');
  t.equal(others[0]?.duration_ms, 299, 'of the latest');
  await send(Array.from({ length: 20 }, () => logged()));
  const kept = new Set((await all()).map(({ id }) => id));
  t.ok(
    own.every((id) => kept.has(id)),
    'also once the excess of its own is looked for',
  );
  await send(Array.from({ length: 60 }, () => logged()));
  await send(Array.from({ length: 60 }, () => logged()));
  const after = await all();
  const count = (authenticated: boolean) => after.filter((it) => it.authenticated === authenticated).length;
  t.equal(count(false), 100, 'nor do its own displace those');
  t.ok(count(true) >= 100 && count(true) <= 200, `${count(true)} of its own`);
});

t.test('what a service sends for another, or out of form, is not stored', async (t) => {
  const batch = { ...batchOf({ service: 'items' }), log: [logged({ message: 'for another' })] };
  await publish('analytics.usage.commerce', batch);
  await send([logged({ credential: 'a whole secret' })]);
  t.notMatch(JSON.stringify(await list(ann)), /for another|whole secret/);
});

t.test('no secrets, and bounded memory', (t) => {
  const SECRETS = [
    'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJlMTIz',
    'gatehouse_4fGq9LxT2mZ8a7B6c5D4e3F2g1H0i9J8k7L6m5N4o3P2q1R0s9T8u7V6',
    'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    'YXBwX2Fubjpob3JzZS1iYXR0ZXJ5LTE=',
    '3f9a1c7be2d84f60a5b1',
  ];
  const recorder = createRequestRecorder();
  const request = { route: 'GET /v2/orders/:id', client: 'app_1', status: 400, ms: 1 };
  for (const secret of SECRETS) {
    const failure = { code: 'invalid_parameter', message: `There is no parameter ${secret}. x: "${secret}"` };
    const info = { id: 'req_1', credential: secret.slice(-4), failure };
    recorder.observe({ ...request, path: `/v2/orders/${secret}`, info });
  }
  const { log } = recorder.take();
  t.equal(log.length, SECRETS.length);
  for (const row of log) {
    t.equal(row.path, '/v2/orders/:id');
    for (const part of SECRETS.flatMap((it) => it.split(/[./]/)).filter((it) => it.length > 8)) {
      t.notOk(JSON.stringify(row).includes(part), part);
    }
  }
  const message = `${`${SECRETS[4]} `.repeat(22)}x ${'y '.repeat(4)}sekret1234567890abcdef`;
  recorder.observe({
    ...request,
    path: '/',
    info: { id: 'req_1', credential: 'cdef', failure: { code: 'x', message } },
  });
  t.notMatch(recorder.take().log[0]?.message, 'sekret', 'nor a part of one where the message is cut');
  const id = 'ord_06f2k1c8w0h3v5n7q9t1x3z5b7';
  const info = { id: 'req_2', credential: undefined, failure: undefined };
  const paths = { [`/v2/orders/${id}`]: `/v2/orders/${id}`, [`/v2/orders/${ANN}`]: '/v2/orders/:id' };
  for (const [path, shown] of Object.entries(paths)) {
    recorder.observe({ ...request, path, info });
    t.equal(recorder.take().log[0]?.path, shown);
  }
  recorder.observe({ ...request, path: '/', info: { ...info, actors } });
  t.strictSame(recorder.take().log[0]?.actors, actors);
  recorder.observe({ ...request, client: undefined, info });
  recorder.observe({ ...request, client: 'gatehouse-login', info });
  t.same(recorder.take(), { log: [], isAll: true }, 'without an application');

  for (let i = 0; i < 5000; i += 1) {
    recorder.observe({ ...request, status: 200, client: `app_${i % 50}`, info });
    recorder.observe({ ...request, client: `app_${i % 5000}`, info });
  }
  let rows = 0;
  for (let isAll = false; !isAll; ) {
    const taken = recorder.take();
    rows += taken.log.length;
    isAll = taken.isAll;
  }
  t.equal(rows, 2000);

  const flood = { ...info, namedOnly: true };
  for (let i = 0; i < 5000; i += 1) recorder.observe({ ...request, client: `app_${i % 50}`, info: flood });
  for (let i = 0; i < 150; i += 1) recorder.observe({ ...request, client: 'app_1', info });
  const all: LoggedRequest[] = [];
  for (let isAll = false; !isAll; ) {
    const taken = recorder.take();
    t.ok(taken.log.length <= 200);
    all.push(...taken.log);
    isAll = taken.isAll;
  }
  const count = (authenticated: boolean) => all.filter((it) => it.authenticated === authenticated).length;
  t.same([count(true), count(false)], [100, 500], 'those that only name a client have a budget of their own');
  t.end();
});

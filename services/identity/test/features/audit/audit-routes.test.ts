import { newId } from '@gatehouse/core/ids';
import { AUDIT_ACTIONS, type AuditAction } from '@gatehouse/domain/audit-actions';
import { explainQueries, monitored } from '@gatehouse/testing/explain';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { newApiKey } from '@gatehouse/tokens/api-key';
import t from 'tap';
import { createAudit } from '../../../src/core/audit/audit.ts';
import { createAuditStore } from '../../../src/core/audit/audit-store.ts';
import { AUDIT_PATH, auditEndpoint } from '../../../src/features/audit/audit-routes.ts';
import { build, keyedApplication, PASSWORD } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';

const ACTIONS = Object.keys(AUDIT_ACTIONS);
const apiKey = newApiKey();
const uri = monitored(await testDatabase(t));
const built = await build(t, {
  checkResponses: true,
  mongodbUri: uri,
  applications: [keyedApplication(apiKey.key, ['read:all', 'manage:apps'])],
});
const { people, call, createApplication, logIn, login } = built;
const { connection, store } = await startTestDatabase(t, { uri, define: createAuditStore });
const audit = createAudit({ store, key: Buffer.alloc(32), keepDays: 30, logger });

const admin = await login('admin');
type Entry = Record<string, unknown> & { id: string; created_at: string };
type Page = { data: Entry[]; links: { next?: string; prev?: string }; meta: { totalItems: number } };
async function read(query = '', token = admin): Promise<Page> {
  const { status, body } = await call('GET', AUDIT_PATH + query, token);
  if (status !== 200) throw new Error(`${query} answered ${status} ${JSON.stringify(body)}`);
  return body as Page;
}

t.test('for people who have signed in to Gatehouse itself, and nobody else', async (t) => {
  const { access_token } = await tokensFor(built);
  const byLogin = / are for (?:admins|people), with a token of POST \/api\/v1\/auth\/login /;
  for (const [name, token, status, message] of [
    ['nobody', undefined, 401, String],
    ['an application', access_token, 403, byLogin],
    ['a trusted application', await built.machineToken(), 403, byLogin],
    ['an API key', apiKey.key, 403, String],
  ] as const) {
    for (const path of [AUDIT_PATH, `${AUDIT_PATH}/last-sign-ins?user_id=${people.ann.id}`]) {
      const response = await call('GET', path, token);
      t.equal(response.status, status, `${name} ${path}`);
      t.match(response.body, { error: { code: String, message } }, `${name} ${path}`);
    }
  }
  const signIns = await call(
    'GET',
    `${AUDIT_PATH}/last-sign-ins?user_id=${people.ann.id}`,
    await login('ann'),
  );
  t.match([signIns.status, signIns.body], [403, { error: { message: / are for admins only\./ } }]);
  t.match(await call('DELETE', AUDIT_PATH, admin), { status: 405 });
  t.match(await call('GET', `${AUDIT_PATH}/aud_1`, admin), { status: 404 });
  t.equal((await call('GET', AUDIT_PATH, admin)).headers.get('cache-control'), 'no-store');
});

t.test('an owner sees what was done to the own applications, and no addresses of others', async (t) => {
  const ann = await login('ann');
  const draft = { name: 'Owned', type: 'machine', scopes: ['read:data'] };
  const { client_id } = await createApplication(ann, draft);
  const other = await createApplication(admin, draft);
  await call('PATCH', `/api/v1/applications/${client_id}`, admin, { name: 'Renamed' });
  await call('POST', `/api/v1/applications/${client_id}/api-keys`, ann, { name: 'k', scopes: ['read:data'] });
  await built.createPerson('nils');
  const { data } = await read('', ann);
  const seen = data.map(({ action, client, actor, address, user_agent }) => [
    ...[action, client, actor, address !== null, user_agent !== null],
  ]);
  t.strictSame(seen, [
    ['api_key.created', client_id, people.ann.id, true, true],
    ['application.changed', client_id, people.admin.id, false, false],
    ['application.created', client_id, people.ann.id, true, true],
  ]);
  for (const query of [
    `?filter[client]=${other.client_id}`,
    '?filter[action]=sign_in.succeeded',
    `?filter[subject]=${people.admin.id}&filter[action]=account.changed`,
  ]) {
    t.strictSame((await read(query, ann)).data, [], query);
  }
  const redirect_uri = 'https://owned.example.org/callback';
  const web = await createApplication(ann, {
    ...{ name: 'Owned, too', type: 'web', scopes: ['openid'], redirect_uris: [redirect_uri] },
  });
  await tokensFor(built, { client: { ...web, redirect_uri }, more: { scope: 'openid' } });
  const ofWeb = async (token: string) =>
    (await read(`?filter[client]=${web.client_id}`, token)).data.map(({ action }) => action);
  t.ok((await ofWeb(admin)).includes('consent.granted'));
  t.strictSame(await ofWeb(ann), ['application.created'], 'not who uses them');
  t.equal((await call('GET', `${AUDIT_PATH}?filter[address]=127.0.0.1`, ann)).status, 403);
  t.strictSame((await read('', await login('nils'))).data, [], 'somebody without applications');
});

t.test('who did what, to whom, when and from where; and no secret', async (t) => {
  const ann = await login('ann');
  const draft = { name: 'Audited', type: 'machine', scopes: ['read:data'] };
  const { client_id, client_secret } = await createApplication(ann, draft);
  await call('DELETE', `/api/v1/applications/${client_id}`, admin);
  await call('DELETE', `/api/v1/sessions?user_id=${people.ann.id}`, admin);
  const wrong = 'not the password';
  await logIn('ann', wrong);
  const byApplication = await read(`?filter[client]=${client_id}`);
  t.match(byApplication, {
    data: [
      { action: 'application.deleted', actor: people.admin.id, client: client_id },
      {
        ...{ action: 'application.created', actor: people.ann.id, client: client_id, address: '127.0.0.1' },
        ...{ user_agent: String, request_id: String, details: { type: 'machine' } },
      },
    ],
    meta: { totalItems: 2, itemsPerPage: 2, currentPage: 1 },
  });
  const subject = `?filter[subject]=${people.ann.id}&filter[action]=session.ended,sign_in.failed`;
  await until(async () => (await read(subject)).data.length >= 2, 5000);
  t.match((await read(subject)).data, [
    { action: 'sign_in.failed', actor: null, subject: people.ann.id },
    { action: 'session.ended', actor: people.admin.id, subject: people.ann.id },
  ]);
  const everything = JSON.stringify((await read('?limit=100')).data);
  for (const secret of [PASSWORD, wrong, client_secret, ann, admin]) {
    t.notOk(everything.includes(secret), 'is not in it');
  }
  t.notMatch(everything, /hash/i);
});

t.test('when people last signed in', async (t) => {
  const path = `${AUDIT_PATH}/last-sign-ins`;
  const of = (...ids: string[]) => call('GET', `${path}?user_id=${ids.join()}`, admin);
  const before = Date.now();
  await login('ann');
  await logIn('ann', 'not the password');
  const signedIn = async () => {
    const { data } = (await of(people.ann.id, newId('usr'), people.ann.id)).body as unknown as {
      data: { user_id: string; signed_in_at: string }[];
    };
    t.equal(data.length, 1, 'one entry for ann, and none for somebody who has not signed in');
    t.equal(data[0]?.user_id, people.ann.id);
    return Date.parse(data[0]?.signed_in_at ?? '');
  };
  await until(async () => (await signedIn()) >= before, 5000);
  t.ok((await signedIn()) <= Date.now());
  t.match((await of(newId('usr'))).body, { data: [] });
  for (const query of ['', '?user_id=', `?user_id=${Array.from({ length: 101 }, (_, i) => i)}`]) {
    t.match(
      await call('GET', path + query, admin),
      { status: 400, body: { error: { code: String } } },
      query,
    );
  }
});

t.test('times limit it to the millisecond, and pages neither repeat nor skip', async (t) => {
  const subject = 'usr_paged';
  for (let i = 0; i < 25; i += 1) await audit.record({ action: 'account.changed', subject, details: { i } });
  const seen: Entry[] = [];
  let path: string | undefined = `?filter[subject]=${subject}&limit=10`;
  while (path !== undefined) {
    const page: Page = await read(path);
    t.equal(page.meta.totalItems, 25);
    seen.push(...page.data);
    path = page.links.next?.slice(AUDIT_PATH.length);
    // What comes meanwhile is newer than the first page.
    await audit.record({ action: 'account.changed', subject, details: { i: 'late' } });
  }
  t.same(
    seen.map(({ details }) => (details as { i: number }).i),
    Array.from({ length: 25 }, (_, i) => 24 - i),
  );
  const all = (await read(`?filter[subject]=${subject}&limit=100`)).data;
  const at = String(all[10]?.created_at);
  for (const [operator, meets] of [
    ['gte', (it: string) => it >= at],
    ['gt', (it: string) => it > at],
    ['lte', (it: string) => it <= at],
    ['lt', (it: string) => it < at],
  ] as const) {
    const found = await read(`?filter[subject]=${subject}&filter[created_at][${operator}]=${at}&limit=100`);
    t.same(
      found.data.map(({ id }) => id),
      all.filter(({ created_at }) => meets(created_at)).map(({ id }) => id),
      operator,
    );
  }
});

t.test('errors name the parameter', async (t) => {
  for (const [query, field] of [
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?cursor=x', 'cursor'],
    ['?page=2', 'page'],
    ['?filter[action]=nothing.happened', 'filter[action]'],
    ['?filter[login_hash]=x', 'filter[login_hash]'],
    ['?filter[actor][gt]=x', 'filter[actor][gt]'],
    ['?filter[created_at]=2026-01-01', 'filter[created_at]'],
    ['?filter[created_at][gte]=yesterday', 'filter[created_at][gte]'],
    ['?actor=usr_1', 'actor'],
  ] as const) {
    const { status, body } = await call('GET', AUDIT_PATH + query, admin);
    t.equal(status, 400, query);
    t.match(body, { error: { code: 'invalid_parameter', details: [{ field }] } }, query);
  }
});

t.test('every query reads one index, and of it no more than the page', async (t) => {
  const at = new Date();
  await store.insertMany(
    Array.from({ length: 1500 }, (_, i) => ({
      ...{ id: newId('aud'), at, expiresAt: new Date(at.getTime() + 86_400_000) },
      action: ACTIONS[i % ACTIONS.length] as AuditAction,
      origin: { address: `192.0.2.${i % 5}`, userAgent: undefined, requestId: 'req_1' },
      ...{ actor: `usr_${i % 7}`, subject: `usr_${i % 7}`, client: `app_${i % 3}` },
    })),
  );
  const half = new Date().toISOString();
  for (const [query, index, most] of [
    ['', '_id_', 25],
    ['filter[subject]=usr_1', 'subject_1__id_1', 25],
    ['filter[action]=sign_out&filter[actor]=usr_2', 'actor_1__id_1', 250],
    ['filter[client]=app_1', 'client_1__id_1', 25],
    ['filter[address]=192.0.2.1', 'address_1__id_1', 25],
    ['filter[action]=sign_out,keys.rotated', 'action_1__id_1', 25],
    [`filter[subject]=usr_1&filter[created_at][gt]=${half}`, 'subject_1__id_1', 2],
    [`filter[created_at][gt]=${half}`, '_id_', 2],
  ] as const) {
    const parameters = Object.fromEntries(new URLSearchParams(query));
    const source = { ...store.list, count: async () => 0 };
    const plans = await explainQueries(connection, () =>
      auditEndpoint.reply(parameters, source, { limited: (work) => work() }),
    );
    t.equal(plans.length, 1, query);
    const [plan] = plans;
    t.same([...new Set(plan?.indexes)], [index], query);
    t.notMatch(plan?.stages, /COLLSCAN|\bSORT\b/, query);
    t.ok((plan?.documents ?? most + 1) <= most, `${query} reads ${plan?.documents} documents`);
  }
});

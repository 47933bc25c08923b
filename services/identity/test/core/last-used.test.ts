import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, SPA } from '../build.ts';
import { tokensFor } from '../tokens.ts';

const built = await build(t, { checkResponses: true });
const { call, json, login, people } = built;

type Use = { last_used_at: string | null; last_used_address: string | null };
const NEVER: Use = { last_used_at: null, last_used_address: null };
const HERE = { last_used_at: /^\d{4}-.*Z$/, last_used_address: '127.0.0.1' };

t.test('an application, its secrets and its keys say when and where they were used last', async (t) => {
  const token = await login('ann');
  const draft = { name: 'Machine', type: 'machine', scopes: ['read:users'] };
  const { client_id, client_secret, ...made } = (await call('POST', '/api/v1/applications', token, draft))
    .body;
  const path = `/api/v1/applications/${client_id}`;
  t.match(made, NEVER);
  const created = await call('POST', `${path}/api-keys`, token, { name: 'Key', scopes: ['read:users'] });
  const key = created.body;
  t.match(key, NEVER);
  const read = async (below: string) => (await call('GET', path + below, token)).body;
  const secretsOf = async () => (await read('/secrets')).data as Use[];

  t.equal((await json({ grant_type: 'client_credentials', client_id, client_secret: 'wrong' })).status, 401);
  t.match(await secretsOf(), [NEVER]);
  t.match(await read(''), NEVER);
  t.equal((await json({ grant_type: 'client_credentials', client_id, client_secret })).status, 200);
  await until(async () => (await secretsOf())[0]?.last_used_at !== null, 5000);
  t.match(await secretsOf(), [HERE]);
  await until(async () => (await read('')).last_used_at !== null, 5000);
  t.match(await read(''), HERE);

  t.match(await read(`/api-keys/${key.id}`), NEVER);
  const { status } = await call('GET', `/v1/users/${people.ann.id}`, String(key.api_key));
  t.equal(status, 200, 'at another service, which asks identity');
  await until(async () => (await read(`/api-keys/${key.id}`)).last_used_at !== null, 5000);
  t.match(await read(`/api-keys/${key.id}`), HERE);
  const list = (await call('GET', '/api/v1/applications?q=machine', token)).body.data;
  t.match(list, [{ client_id, ...HERE }]);
});

t.test('one without a secret is used when it gets tokens', async (t) => {
  const admin = await login('admin');
  const read = async () => (await call('GET', `/api/v1/applications/${SPA.client_id}`, admin)).body;
  t.match(await read(), NEVER);
  await tokensFor(built, { client: SPA });
  await until(async () => (await read()).last_used_at !== null, 5000);
  t.match(await read(), HERE);
});

import { newId } from '@gatehouse/core/ids';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, textOf } from '../../build.ts';

type Logged = {
  id: string;
  duration_ms: number;
  path: string;
  status: number;
  code: string | null;
  message: string | null;
  missing_scope: string | null;
};

t.test('a developer finds why each call of an application failed', async (t) => {
  const built = await build(t, { notifications: true });
  const redirectUri = 'https://app.example/callback';
  type Made = { client_id: string; client_secret: string };
  const make = async (settings: object) =>
    (await built.call<Made>('POST', '/api/v1/applications', 'ann', { name: 'Failing', ...settings })).body;
  const web = await make({ type: 'web', scopes: ['openid'], redirect_uris: [redirectUri] });
  const machine = await make({ type: 'machine', scopes: ['read:data'] });
  const api = await make({ type: 'resource', scopes: [] });
  const post = async (path: string, as: Made, body: Record<string, string>, secret = as.client_secret) => {
    const authorization = `Basic ${Buffer.from(`${as.client_id}:${secret}`).toString('base64')}`;
    return fetch(built.base + path, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams(body),
    });
  };
  const machineToken = async () => {
    const response = await post('/oauth2/token', machine, { grant_type: 'client_credentials' });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const wrong = 'wrong-secret-0123456789abcdef';
  const code = 'wrong-code-0123456789abcdefghij';
  const request = { response_type: 'code', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
  const [credentials, refresh] = [{ grant_type: 'client_credentials' }, { grant_type: 'refresh_token' }];
  const codeGrant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  const cases: [as: Made, path: string, body: Record<string, string>, secret?: string][] = [
    [machine, '/oauth2/token', credentials, wrong],
    [machine, '/oauth2/token', { ...credentials, scope: 'write:data' }],
    [machine, '/oauth2/token', { ...refresh, refresh_token: code }],
    [web, '/oauth2/token', codeGrant],
    [web, '/oauth2/par', { ...request, redirect_uri: 'https://evil.example/', scope: 'openid' }],
    [web, '/oauth2/par', { ...request, redirect_uri: redirectUri }, wrong],
    [api, '/oauth2/introspect', { token: code }, wrong],
    [api, '/oauth2/introspect', {}],
    [machine, '/oauth2/revoke', { token: code }, wrong],
    [machine, '/oauth2/device_authorization', {}],
  ];
  /** Each failure as the caller saw it. */
  const failures: { as: Made; text: string }[] = [];
  for (const [as, path, body, secret] of cases) {
    const response = await post(path, as, body, secret);
    const { error } = (await response.json()) as { error: string };
    failures.push({ as, text: `${path} ${response.status} ${error}` });
  }
  t.equal(new Set(failures.map(({ text }) => text)).size, cases.length, 'they differ');
  const write = { token: await machineToken(), body: { name: 'x', value: 1 } };
  t.equal((await jsonRequest('POST', `${built.base}/api/v1/items`, write)).status, 403);
  failures.push({ as: machine, text: '/api/v1/items 403 forbidden' });

  const logged = async ({ client_id: id }: Made) =>
    (
      await built.call<{ data: Logged[] }>(
        'GET',
        `/api/v1/requests?filter[client_id]=${id}&filter[status][gte]=400`,
        'ann',
      )
    ).body.data;
  for (const made of [web, machine, api]) {
    const expected = failures.filter(({ as }) => as === made).map(({ text }) => text);
    await until(async () => (await logged(made)).length >= expected.length, 30_000);
    const found = await logged(made);
    t.same(found.map((it) => `${it.path} ${it.status} ${it.code}`).sort(), expected.sort());
    for (const { code: failure, message } of found) t.match(message, /\w+ \w+/, `${failure} is explained`);
    t.notMatch(JSON.stringify(found), /0123456789abcdef/, 'without what was sent');
  }
  const [forbidden] = (await logged(machine)).filter((it) => it.path === '/api/v1/items');
  t.equal(forbidden?.missing_scope, 'write:data');
  const { browser } = await built.signedIn('ann');
  const page = textOf(await browser.get('/dashboard/requests?status=failed'));
  for (const { text } of failures) t.match(page, text.split(' ').at(-1));
  t.match(page, 'Add a scope to the application');

  const filters = async (query: string) =>
    /<details class="panel filters"( open)?><summary>Filters<span id="filters-used">([^<]*)</.exec(
      (await browser.get(`/dashboard/requests${query}`)).html,
    );
  t.same((await filters(''))?.slice(1), [undefined, ''], 'folded, so that the list is in sight');
  t.same((await filters('?status=failed&slow=100'))?.slice(1), [' open', ' (2 set)']);

  const { id, path: asked, duration_ms: ms } = forbidden as Logged;
  const { body: key } = await built.call<{ api_key: string }>(
    'POST',
    `/api/v1/applications/${machine.client_id}/api-keys`,
    'ann',
    { name: 'nightly', scopes: ['read:data'] },
  );
  await jsonRequest('GET', `${built.base}/v2/orders/${newId('ord')}`, { token: key.api_key });
  const byKey = async () => (await logged(machine)).find((it) => it.path.startsWith('/v2/orders/'));
  await until(async () => (await byKey()) !== undefined, 30_000);
  await jsonRequest('POST', `${built.base}/api/v1/items`, { token: key.api_key, body: {} });
  const posts = async () => (await logged(machine)).filter((it) => it.path === '/api/v1/items');
  await until(async () => (await posts()).length === 2, 30_000);
  const refusedKey = (await posts()).find((it) => it.id !== id);
  for (const [entry, words] of [
    [forbidden, [`POST ${asked}`, '403', `${ms} ms`, 'Failing', 'Access token, ending in', 'write:data', id]],
    [forbidden, ['Then get a new token']],
    [refusedKey, ['create another API key']],
    [await byKey(), ['API key nightly , ending in', 'commerce', '404']],
  ] as const) {
    const shown = textOf(await browser.get(`/dashboard/requests/${entry?.id}`));
    for (const word of words) t.ok(shown.includes(word), `${entry?.path}: ${word}`);
  }
  const { browser: other } = await built.signedIn('editor');
  t.equal((await other.get(`/dashboard/requests/${id}`)).status, 404, 'others do not see it');

  const minute = (away: number) => new Date(Date.now() + away * 60_000).toISOString().slice(0, 16);
  for (const [query, isListed] of [
    ['path=/api/v1/it', true],
    ['path=/v2', false],
    ['slow=100000', false],
    [`from=${minute(-10)}&to=${minute(2)}`, true],
    [`from=${minute(2)}`, false],
    [`to=${minute(-10)}`, false],
    ['from=nonsense', false],
  ] as const) {
    const { html, status } = await browser.get(`/dashboard/requests?${query}`);
    t.equal(status, 200, query);
    t.equal(html.includes(`/dashboard/requests/${id}`), isListed, query);
  }
  const { html: hers } = await browser.get('/dashboard/requests');
  t.match(hers, `<option value="Failing" label="${machine.client_id}">`, 'the own applications are offered');
  const csv = await browser.get('/dashboard/requests/export.csv?path=/api/v1/items');
  t.match(csv.html, /^id,time,method,path,status,duration_ms,client_id/);
  t.match(csv.html, new RegExp(`^${id},.*,POST,/api/v1/items,403,`, 'm'));
});

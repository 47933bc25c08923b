import { until } from '@gatehouse/testing/processes';
import { newApiKey } from '@gatehouse/tokens/api-key';
import t from 'tap';
import {
  authorizeUrl,
  build,
  codeFor,
  keyedApplication,
  MACHINE,
  NATIVE,
  OTHER,
  SPA,
  signInAndAllow,
  WEB,
} from '../../build.ts';
import {
  age,
  dpopKey,
  type JsonResponse,
  keyOf,
  refresh,
  statusesOf,
  tokensFor,
  untilDead,
} from '../../tokens.ts';

const KEYED = { client_id: 'app_keyed', client_secret: 'the-secret-of-the-application-with-a-key' };
const apiKey = newApiKey();
const built = await build(t, {
  checkResponses: true,
  applications: [{ ...keyedApplication(apiKey.key, ['read:users']), clientSecret: KEYED.client_secret }],
});
const { base, form, json, machineToken, post } = built;
const database = await built.database();
const ALIVE = [200, 200];
const DEAD = [401, 401];
const { redirect_uri: _, ...webSecret } = WEB;

const revokeForm = (token: string, client: Record<string, string> = webSecret, more = {}) =>
  form({ token, ...client, ...more }, {}, '/oauth2/revoke');
const revokeJson = (token: string, client: Record<string, string> = webSecret, more = {}) =>
  post('/oauth2/revoke', JSON.stringify({ token, ...client, ...more }), {
    'content-type': 'application/json',
  });

t.test('five parallel exchanges of one code: one wins, and its tokens die', async (t) => {
  const browser = built.browser();
  for (let round = 0; round < 3; round += 1) {
    const code = await codeFor(browser);
    const exchange = () => json({ grant_type: 'authorization_code', code, ...WEB });
    const responses = await Promise.all(Array.from({ length: 5 }, exchange));
    t.same(responses.map(({ status }) => status).sort(), [200, 400, 400, 400, 400]);
    const lost = responses.filter(({ status }) => status === 400);
    t.ok(lost.every(({ body }) => body.error === 'invalid_grant'));
    const won = responses.find(({ status }) => status === 200) as JsonResponse;
    t.ok((await untilDead(built, String(won.body.access_token))) < 1000, 'within a second');
    t.match(await refresh(built, String(won.body.refresh_token)), {
      status: 400,
      body: { error: 'invalid_grant' },
    });
    const again = await tokensFor(built, { browser });
    t.same(await statusesOf(built, again.access_token), ALIVE, 'the same session goes on');
    t.match(await refresh(built, again.refresh_token), { status: 200 });
  }
});

t.test('a code that comes again later ends what it was exchanged for', async (t) => {
  const browser = built.browser();
  for (const later of [0, 61, 86_400]) {
    const code = await codeFor(browser);
    const parameters = { grant_type: 'authorization_code', code, ...WEB };
    const { body } = await form(parameters);
    t.same(await statusesOf(built, String(body.access_token)), ALIVE);
    await database
      .collection<{ _id: string }>('oidc_authorization_codes')
      .updateOne({ _id: keyOf(code) }, [
        { $set: { expires_at: { $subtract: ['$expires_at', later * 1000] } } },
      ]);
    t.match(await json(parameters), { status: 400, body: { error: 'invalid_grant' } }, `${later} s`);
    t.ok((await untilDead(built, String(body.access_token))) < 1000, `${later} s`);
    t.equal((await refresh(built, String(body.refresh_token))).status, 400, `${later} s`);
  }
  const again = await tokensFor(built, { browser });
  t.same(await statusesOf(built, again.access_token), ALIVE);
});

t.test('revoking one access token leaves the others alive', async (t) => {
  const browser = built.browser();
  for (const [how, revoke] of [
    ['form', revokeForm],
    ['JSON', revokeJson],
  ] as const) {
    const { access_token, refresh_token } = await tokensFor(built, { browser });
    const sibling = String((await refresh(built, refresh_token)).body.access_token);
    const response = await revoke(access_token, webSecret, { token_type_hint: 'access_token' });
    t.match(response, { status: 200, body: {} }, how);
    t.same(await statusesOf(built, access_token), DEAD, `${how}: dead when the answer is there`);
    t.same(await statusesOf(built, sibling), ALIVE, `${how}: another token of the grant`);
    t.match(await refresh(built, refresh_token), { status: 200 }, how);
    const next = await tokensFor(built, { browser });
    t.same(await statusesOf(built, next.access_token), ALIVE, `${how}: the next authorization`);
    t.match(await revoke(access_token), { status: 200 }, `${how}: once more`);
  }
});

t.test('revoking a refresh token ends its grant (RFC 7009 §2.1)', async (t) => {
  const browser = built.browser();
  for (const [client, credentials] of [
    [WEB, webSecret],
    [SPA, { client_id: SPA.client_id }],
  ] as const) {
    for (const hint of ['refresh_token', 'access_token', 'nonsense', undefined]) {
      const { access_token, refresh_token } = await tokensFor(built, { browser, client });
      const more = hint === undefined ? {} : { token_type_hint: hint };
      t.match(await revokeForm(refresh_token, credentials, more), { status: 200 });
      t.ok((await untilDead(built, access_token)) < 1000, `${client.client_id} ${hint}`);
      t.match(await refresh(built, refresh_token, client), { status: 400, body: { error: 'invalid_grant' } });
      const next = await tokensFor(built, { browser, client });
      t.same(await statusesOf(built, next.access_token), ALIVE);
    }
  }
});

t.test('tokens that the caller may not revoke', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built);
  const machine = await machineToken();
  for (const [name, token] of [
    ['an access token of another', access_token],
    ['a refresh token of another', refresh_token],
    ['a machine token of another', machine],
    ['nonsense', 'nonsense'],
    ['a JWT that is none of ours', `${access_token.slice(0, -4)}AAAA`],
    ['a JWT that is cut', access_token.slice(0, 40)],
    ['a handle of ours', 'handle-AAAAAAAAAAAAAAAAAAAAAA'],
    ['an operator', '{"$gt":""}'],
  ] as const) {
    for (const revoke of [revokeForm, revokeJson]) {
      const response = await revoke(token, OTHER);
      t.match(response, { status: 200, body: {} }, name);
      t.same(response.body, {}, `${name}: nothing is said`);
    }
  }
  t.same(await statusesOf(built, access_token), ALIVE);
  t.match(await refresh(built, refresh_token), { status: 200 });
  t.equal((await built.call('GET', '/api/v1/auth/permissions', machine)).status, 200);

  for (const [name, body, status, error] of [
    ['no token', { ...webSecret }, 400, 'invalid_request'],
    ['an empty token', { ...webSecret, token: '' }, 400, 'invalid_request'],
    ['no client', { token: access_token }, 401, 'invalid_client'],
    ['a wrong secret', { ...webSecret, client_secret: 'x', token: access_token }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'app_nobody', token: access_token }, 401, 'invalid_client'],
  ] as [string, Record<string, string>, number, string][]) {
    const responses = [
      await form(body, {}, '/oauth2/revoke'),
      await post('/oauth2/revoke', JSON.stringify(body), { 'content-type': 'application/json' }),
    ];
    for (const response of responses) {
      t.match(response, { status, body: { error } }, name);
      t.equal(response.headers.get('cache-control'), 'no-store', name);
    }
  }
  t.same(await statusesOf(built, access_token), ALIVE);
});

t.test('an API key is no token: it lives on, and that is said', async (t) => {
  for (const key of [apiKey.key, newApiKey().key]) {
    for (const revoke of [revokeForm, revokeJson]) {
      const response = await revoke(key, KEYED);
      t.match(response, { status: 400, body: { error: 'unsupported_token_type' } });
      t.equal(response.headers.get('cache-control'), 'no-store');
      t.notMatch(JSON.stringify(response.body), key);
    }
    t.match(await revokeForm(key, { ...KEYED, client_secret: 'x' }), { status: 401 });
  }
  t.equal((await built.call('GET', '/v1/users', apiKey.key)).status, 200);
  const asClient = await form({ token: 'x' }, { authorization: `ApiKey ${apiKey.key}` }, '/oauth2/revoke');
  t.match(asClient, { status: 401, body: { error: 'invalid_client' } }, 'nor does it authenticate a client');
});

t.test('machine tokens and bound tokens can be revoked', async (t) => {
  const machine = await machineToken();
  t.match(await revokeForm(machine, MACHINE), { status: 200 });
  t.equal((await built.call('GET', '/v1/users', machine)).status, 401);
  t.equal((await built.call('GET', '/v1/users', await machineToken())).status, 200, 'the next one lives');

  const key = await dpopKey();
  const dpop = await key.proof('POST', `${base}/oauth2/token`);
  const { access_token } = await tokensFor(built, { client: SPA, headers: { dpop } });
  const path = `/v1/users/${built.people.ann.id}`;
  const bound = async () =>
    fetch(base + path, {
      headers: {
        authorization: `DPoP ${access_token}`,
        dpop: await key.proof('GET', base + path, access_token),
      },
    });
  t.equal((await bound()).status, 200);
  t.equal((await built.call('GET', path, access_token)).status, 401, 'not as Bearer');
  t.match(await revokeForm(access_token, { client_id: SPA.client_id }), { status: 200 });
  t.equal((await bound()).status, 401);
});

t.test(
  'a rotated refresh token gets the same successor for a moment, and later ends the family',
  async (t) => {
    const first = await tokensFor(built, { client: SPA });
    const second = (await refresh(built, first.refresh_token, SPA)).body;
    const repeated = await refresh(built, first.refresh_token, SPA);
    t.match(repeated, { status: 200, body: { refresh_token: second.refresh_token } });
    t.same(await statusesOf(built, first.access_token), ALIVE);
    t.same(await statusesOf(built, String(second.access_token)), ALIVE);
    const third = await refresh(built, String(second.refresh_token), SPA);
    t.equal(third.status, 200);

    await age(database, 'oidc_refresh_tokens', first.refresh_token, { consumed_at: -5 });
    t.match((await refresh(built, first.refresh_token, SPA)).body, { refresh_token: second.refresh_token });
    t.same(await statusesOf(built, String(third.body.access_token)), ALIVE, 'still a moment');
    t.equal((await refresh(built, first.refresh_token, NATIVE)).status, 400, 'for its client alone');
    const { id } = built.people.ann;
    const path = `/api/v1/audit?filter[subject]=${id}&filter[action]=refresh_token.repeated`;
    const admin = await built.login('admin');
    await until(
      async () => ((await built.call('GET', path, admin)).body.data as unknown[]).length === 2,
      5000,
    );

    await age(database, 'oidc_refresh_tokens', first.refresh_token, { consumed_at: -11 });
    t.match(await refresh(built, first.refresh_token, SPA), {
      status: 400,
      body: { error: 'invalid_grant' },
    });
    for (const token of [first.access_token, second.access_token, third.body.access_token]) {
      t.ok((await untilDead(built, String(token))) < 1000, 'later, it ends the family');
    }
    t.match(await refresh(built, String(third.body.refresh_token), SPA), {
      status: 400,
      body: { error: 'invalid_grant' },
    });
  },
);

t.test(
  'revoking a refresh token that was rotated a moment ago ends its family (RFC 7009 §2.1)',
  async (t) => {
    const first = await tokensFor(built, { client: SPA });
    const second = (await refresh(built, first.refresh_token, SPA)).body;
    t.match(await revokeForm(first.refresh_token, { client_id: SPA.client_id }), { status: 200 });
    t.ok((await untilDead(built, String(second.access_token))) < 1000);
    t.equal((await refresh(built, String(second.refresh_token), SPA)).status, 400);
  },
);

t.test('parallel refreshes of a public client get the same successor', async (t) => {
  const { access_token, refresh_token } = await tokensFor(built, { client: SPA });
  const responses = await Promise.all(Array.from({ length: 5 }, () => refresh(built, refresh_token, SPA)));
  t.same(new Set(responses.map(({ status }) => status)), new Set([200]));
  const [successor, ...others] = new Set(responses.map(({ body }) => String(body.refresh_token)));
  t.same(others, []);
  for (const token of [access_token, ...responses.map(({ body }) => String(body.access_token))])
    t.same(await statusesOf(built, token), ALIVE);
  t.match(await refresh(built, String(successor), SPA), { status: 200 });
});

t.test(
  'the life of a refresh token: sliding for confidential clients, absolute for public ones',
  async (t) => {
    const tokens = database.collection<{ _id: string; grant_id: string; expires_at: Date }>(
      'oidc_refresh_tokens',
    );
    const grants = database.collection<{ _id: string; expires_at: Date }>('oidc_grants');
    const find = async (token: string) => {
      const found = await tokens.findOne({ _id: keyOf(token) });
      const grant = await grants.findOne({ _id: found?.grant_id ?? '' });
      return { token: Number(found?.expires_at), grant: Number(grant?.expires_at) };
    };
    const day = 86_400;
    const near = (actual: number, seconds: number) => Math.abs(actual - Date.now() - seconds * 1000) < 5000;

    const web = await tokensFor(built);
    t.ok(near((await find(web.refresh_token)).token, 30 * day));
    await age(database, 'oidc_refresh_tokens', web.refresh_token, { expires_at: day });
    t.equal((await refresh(built, web.refresh_token)).status, 200);
    const moved = await find(web.refresh_token);
    t.ok(near(moved.token, 30 * day), 'used, it lives 30 days from then');
    t.ok(moved.grant > moved.token, 'and its grant longer');

    const spa = await tokensFor(built, { client: SPA });
    await age(database, 'oidc_refresh_tokens', spa.refresh_token, { expires_at: 5 * day });
    const next = String((await refresh(built, spa.refresh_token, SPA)).body.refresh_token);
    t.ok(near((await find(next)).token, 5 * day), 'the new one ends when the old one would have');

    // The next authorization goes on with the grant, which may be old.
    const browser = built.browser();
    for (const client of [WEB, SPA]) {
      const first = await tokensFor(built, { browser, client });
      const { grant_id } = (await tokens.findOne({ _id: keyOf(first.refresh_token) })) ?? { grant_id: '' };
      await grants.updateOne({ _id: grant_id }, { $set: { expires_at: new Date(Date.now() + 3_600_000) } });
      const later = await find((await tokensFor(built, { browser, client })).refresh_token);
      t.ok(later.grant > later.token, `${client.client_id}: no refresh token outlives its grant`);
    }
  },
);

t.test('signing out ends what was issued in the session', async (t) => {
  const browser = built.browser();
  const { access_token, refresh_token, id_token } = await tokensFor(built, { browser });
  const elsewhere = await tokensFor(built);
  const confirm = await browser.get(`/oauth2/logout?${new URLSearchParams({ id_token_hint: id_token })}`);
  t.equal((await browser.submit(confirm, { logout: 'yes' })).status, 200);
  t.ok((await untilDead(built, access_token)) < 1000);
  t.equal((await refresh(built, refresh_token)).status, 400);
  const { url } = await browser.get(authorizeUrl({ prompt: 'none' }));
  t.equal(url.searchParams.get('error'), 'login_required');
  t.same(await statusesOf(built, elsewhere.access_token), ALIVE, 'another browser stays signed in');
});

t.test('revoking a permission ends its tokens; allowing it again works', async (t) => {
  const browser = built.browser();
  const web = await tokensFor(built, { browser });
  const spa = await tokensFor(built, { browser, client: SPA });
  let page = await signInAndAllow(browser, '/account/applications');
  page = await browser.submit(page, {}, WEB.client_id);
  t.equal(page.status, 200);
  t.ok((await untilDead(built, web.access_token)) < 1000);
  t.equal((await refresh(built, web.refresh_token)).status, 400);
  t.same(await statusesOf(built, spa.access_token), ALIVE);
  const asked = await browser.get(authorizeUrl());
  t.match(asked.url.pathname, /^\/consent\//, 'consent is asked for again');
  const again = await tokensFor(built, { browser });
  t.same(await statusesOf(built, again.access_token), ALIVE);
});

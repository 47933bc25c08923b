import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import { errors } from 'oidc-provider';
import t from 'tap';
import { oauthFailure } from '../../../src/core/oidc/oauth-failure.ts';
import { authorizeUrl } from '../../build.ts';
import { ACCESS_TOKEN, setUpExchange } from './exchange-set-up.ts';

const set = await setUpExchange(t, { checkResponses: true });
const { built, logins, paula, api, files, tokens, agent, exchange, exchanged, web } = set;
const { call, form } = built;
// Before the person allows any of it.
const [caller, second] = [await agent(), await agent()];
const server = await agent({ type: 'resource', scopes: [] });
const { access_token: subject } = await tokens();

t.test('a token for our API', async (t) => {
  const before = decodeJwt(subject);
  const { status, body, headers } = await exchange(subject, caller, { resource: api, scope: 'read:users' });
  t.equal(status, 200);
  t.match(headers.get('cache-control'), 'no-store');
  const { access_token, expires_in, ...rest } = body;
  t.strictSame(rest, { issued_token_type: ACCESS_TOKEN, token_type: 'Bearer', scope: 'read:users' });
  const claims = decodeJwt(String(access_token));
  t.match(claims, {
    ...{ sub: paula, aud: api, client_id: caller.client_id, scope: 'read:users', roles: ['user'] },
    ...{ gid: before.gid, act: { sub: caller.client_id }, acr: undefined, auth_time: undefined },
  });
  t.notMatch(claims, { act: { act: {} } });
  t.ok(Number(claims.exp) <= Number(before.exp));
  t.equal(Number(claims.exp) - Number(claims.iat), expires_in);
  t.equal((await call('GET', `/v1/users/${paula}`, String(access_token))).status, 200);
  t.equal((await call('GET', `/v1/users/${built.people.ann.id}`, String(access_token))).status, 403);
});

t.test('the scopes are those of the rule that the application and the token have now', async (t) => {
  const scopesAt = async (more: Record<string, string>, by = caller) =>
    (await exchange(subject, by, more)).body.scope;
  t.equal(await scopesAt({ audience: api }), 'read:users', 'of the application');
  t.equal(await scopesAt({ resource: files, audience: files }), 'files:read', 'of the rule');
  t.equal(await scopesAt({}), 'calendar:read', 'of the same API');
  const reader = await tokens({ scope: 'openid calendar:write' });
  const { status, body } = await exchange(reader.access_token, caller);
  t.match([status, body.error], [400, 'invalid_scope'], 'of the token');
  t.equal(await scopesAt({ resource: api }, server), 'read:users read:data', 'of a resource server');
  const wider = (await exchange(subject, caller, { resource: files, scope: 'files:write' })).body;
  const message = 'this exchange can have the scopes files:read';
  t.match(wider, { error: 'invalid_scope', error_description: message });
  const thrown = new errors.InvalidScope(message, 'files:write');
  t.equal(oauthFailure(thrown, { scope: 'read:users' } as never).message, message, 'in the request log, too');
});

t.test('both token paths, and both types of tokens', async (t) => {
  const request = {
    ...{ grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange', subject_token: subject, ...caller },
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    requested_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  };
  for (const { status, body } of [await built.json(request), await form(request)]) {
    t.match([status, body.issued_token_type], [200, request.requested_token_type]);
  }
});

t.test('the actors of a chain, the latest first', async (t) => {
  const first = await exchanged(subject, caller, { resource: files });
  const last = await exchanged(first, second, { resource: api });
  const chain = { sub: second.client_id, act: { sub: caller.client_id } };
  t.match(decodeJwt(last), { client_id: second.client_id, act: chain });
  for (const [token, client, act] of [
    [last, second, chain],
    [first, caller, { sub: caller.client_id }],
  ] as const) {
    const { body } = await form({ token, ...server }, {}, '/oauth2/introspect');
    t.strictSame(body.act, act);
    t.match(body, { active: true, sub: paula, client_id: client.client_id });
  }
});

t.test('the policy is the owner’s', async (t) => {
  const path = `/api/v1/applications/${caller.client_id}`;
  const rule = (resource: string, scopes: string[] = []) => ({ resource, scopes });
  const change = (token_exchange: unknown, by = logins.ann, at = path) =>
    call('PATCH', at, by, { token_exchange });
  t.match((await call('GET', path, logins.ann)).body.token_exchange, set.POLICY);
  for (const [name, policy] of Object.entries({
    'no URL': [rule('calendar')],
    'a fragment': [rule(`${api}#a`)],
    twice: [rule(api), rule(api)],
    'no scope': [rule(api, ['read:users write:users'])],
    'too many': Array.from({ length: 21 }, (_, i) => rule(`https://a.example.com/${i}`)),
  })) {
    t.equal((await change(policy)).status, 400, name);
  }
  t.equal((await change([rule(api)], logins.ann, `/api/v1/applications/${web.client_id}`)).status, 400);
  const member = await built.login('paula');
  t.equal(
    (await call('POST', `${path}/members`, logins.ann, { user: 'paula', role: 'developer' })).status,
    201,
  );
  t.equal((await call('POST', `/api/v1/memberships/${caller.client_id}/accept`, member)).status, 204);
  t.equal((await call('PATCH', path, member, { name: 'Renamed' })).status, 200);
  t.equal((await change([...set.POLICY, rule('https://more.example.com')], member)).status, 403);
  t.equal((await change(set.POLICY, logins.admin)).status, 200);
  const moved = await agent();
  const at = `/api/v1/applications/${moved.client_id}`;
  t.ok((await call('POST', `${at}/transfer`, logins.admin, { to: 'admin' })).status < 300);
  t.strictSame((await call('GET', at, logins.admin)).body.token_exchange, [], 'of another owner');
});

t.test('a new rule is for an API and scopes that the application can have', async (t) => {
  const [mine, foreign] = [await set.register('mine'), await set.register('foreign', logins.admin)];
  const { client_id } = await agent({ token_exchange: [] });
  const save = async (...rules: [resource: string, ...scopes: string[]][]) => {
    const token_exchange = rules.map(([resource, ...scopes]) => ({ resource, scopes }));
    const { status, body } = await call('PATCH', `/api/v1/applications/${client_id}`, logins.ann, {
      token_exchange,
    });
    return status === 200
      ? 200
      : (body.error as unknown as { details: { field: string }[] }).details.map(({ field }) => field).join();
  };
  const resources = (await call('GET', '/api/v1/resources', logins.ann)).body.data;
  const at = `/api/v1/resources/${(resources as Record<string, string>[]).find((it) => it.identifier === mine)?.id}`;
  const [none, scope] = ['token_exchange.0.resource', 'token_exchange.0.scopes'];
  const cases: [name: string, result: string | number, ...Parameters<typeof save>][] = [
    ['no such API', none, ['https://none.example.com/api', 'read']],
    ['of another owner, without scopes', none, [foreign]],
    ['no such scope', scope, [mine, 'mine:read', 'mine:raed']],
    ['no such scope of ours', scope, [api, 'read:everything']],
    ['the second rule', 'token_exchange.1.scopes', [mine], [api, 'mine:read']],
    ['its own and ours', 200, [mine, 'mine:read', 'mine:write'], [api, 'write:data']],
  ];
  for (const [name, result, ...rules] of cases) t.equal(await save(...rules), result, name);
  const only = { scopes: [{ name: 'mine:write', description: 'Writes' }] };
  t.equal((await call('PATCH', at, logins.ann, only)).status, 200);
  t.equal(await save([mine, 'mine:read', 'mine:write']), 200, 'a stored scope that the API has no longer');
  t.equal((await call('DELETE', at, logins.ann)).status, 204);
  t.equal(await save([mine, 'mine:read']), 200, 'a narrower rule for an API that is gone');
  t.equal(await save([mine, 'mine:read', 'mine:write']), none, 'a wider one');
  const draft = {
    name: 'A',
    type: 'machine',
    scopes: ['read:data'],
    token_exchange: [{ resource: mine, scopes: [] }],
  };
  t.match((await call('POST', '/api/v1/applications', logins.ann, draft)).body.error, {
    details: [{ field: none }],
  });
});

t.test(
  'the consent page says which applications act for the person, and nothing else is possible',
  async (t) => {
    const late = await agent({ name: 'Late', token_exchange: [] });
    const redirect = web.redirect_uri;
    const browser = built.browser();
    const client = { ...web, redirect_uri: redirect };
    const first = await set.tokens({ browser, client });
    const path = `/api/v1/applications/${late.client_id}`;
    t.equal((await call('PATCH', path, logins.ann, { token_exchange: set.POLICY })).status, 200);
    const there = { resource: api };
    t.match(
      [
        await exchange(first.access_token, late, there),
        await exchange(first.access_token, late, { resource: files }),
      ].map(({ status }) => status),
      [400, 200],
      'an API of the same owner needs no consent',
    );
    const applications = async () => (await browser.get('/account/applications')).html;
    t.notMatch(await applications(), /Late can act/);
    const { client_id } = web;
    const asked = {
      client_id,
      redirect_uri: redirect,
      scope: 'openid calendar:read',
      resource: set.calendar,
    };
    const page = await browser.get(authorizeUrl(asked));
    t.match(page.url.pathname, /^\/consent\//, 'asks again');
    t.match(page.html, /Late can act for you at Gatehouse \(127\.0\.0\.1:\d+\)/);
    t.match(page.html, /Read your own account details/);
    const allowed = await browser.submit(page, { decision: 'allow' });
    t.ok(allowed.url.searchParams.get('code'));
    t.match(await applications(), /Late can act for you at Gatehouse.*Read your own account details/s);
    const again = await set.tokens({ browser, client });
    t.equal((await exchange(again.access_token, late, there)).status, 200);
    await call('PATCH', `/api/v1/applications/${late.client_id}`, logins.ann, {
      scopes: ['read:users', 'write:users', 'read:data'],
    });
    t.equal((await exchange(again.access_token, late, there)).body.scope, 'read:users', 'what was said');
    await call('DELETE', path, logins.ann);
  },
);

t.test('the audit log says who acted for whom, and where', async (t) => {
  await exchanged(subject, caller, { resource: files, scope: 'files:read' });
  const by = `filter[subject]=${paula}&filter[client]=${caller.client_id}`;
  const path = `/api/v1/audit?filter[action]=token.exchanged&${by}`;
  const entries = async () =>
    (await call('GET', path, logins.admin)).body.data as { details?: { resource: string } }[];
  await until(async () => (await entries())[0]?.details?.resource === files, 3000);
  const details = { resource: files, scope: 'files:read', actors: [caller.client_id] };
  t.match((await entries())[0], { actor: null, subject: paula, client: caller.client_id, details });
  t.notMatch(JSON.stringify(await entries()), /eyJ/);
});

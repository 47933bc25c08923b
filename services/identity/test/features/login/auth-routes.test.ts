import { randomBytes } from 'node:crypto';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import { newApiKey } from '@gatehouse/tokens/api-key';
import { decodeJwt } from 'jose';
import t from 'tap';
import { LOGIN_CLIENT } from '../../../src/features/login/logins.ts';
import { build, keyedApplication, MACHINE, PASSWORD, SPA, WEB } from '../../build.ts';
import { dpopKey, refresh, signerOf, statusesOf, tokensFor } from '../../tokens.ts';

const masterKey = randomBytes(32);
const apiKey = newApiKey();
const built = await build(t, {
  checkResponses: true,
  masterKey,
  applications: [keyedApplication(apiKey.key, ['read:users'])],
});
const { base, call, machineToken, people } = built;
// Before the first test: with nothing to run meanwhile, the file would be taken for ended, and what is starting be stopped.
const shared = {
  mongodbUri: await testDatabase(t),
  masterKey,
  rateLimit: 'on',
  config: { passwordLogin: 'off', rateLimitStore: 'mongodb' },
} as const;
const limited = await build(t, shared);

/** A request to /api/v1/auth with any headers. */
async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
  const response = await fetch(`${base}/api/v1/auth${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const login = async (username = 'ann', password = PASSWORD) =>
  ask('POST', '/login', { 'content-type': 'application/json' }, JSON.stringify({ username, password }));
const loginToken = async (username?: string) => String((await login(username)).body.token);
const statusOf = async (token: string) => (await ask('GET', '/status', bearer(token))).status;

const database = await built.database();
const apiLogins = database.collection<{ _id: string }>('api_logins');
const sign = await signerOf(database, { masterKey, issuer: base });
const signLogin = async (authTime: number, more: { lifetime?: number; clientId?: string } = {}) => {
  const { epoch, gid } = decodeJwt(await loginToken());
  const { token, jti } = await sign({
    subject: people.ann.id,
    clientId: LOGIN_CLIENT,
    audience: `${base}/api`,
    scope: 'openid',
    lifetime: 3600,
    claims: { gid, roles: ['user'], epoch, auth_time: Math.floor(Date.now() / 1000) - authTime },
    ...more,
  });
  await apiLogins.updateOne({ _id: String(gid) }, { $set: { token_id: jti } });
  return token;
};

t.test('login', async (t) => {
  const reply = await login();
  t.equal(reply.status, 200);
  t.same(Object.keys(reply.body).sort(), ['token', 'user_id'], 'interface.md 2.2');
  t.equal(reply.body.user_id, people.ann.id);
  t.equal(reply.headers.get('cache-control'), 'no-store');
  const token = String(reply.body.token);
  const claims = decodeJwt(token);
  t.match(claims, {
    sub: people.ann.id,
    aud: `${base}/api`,
    client_id: LOGIN_CLIENT,
    acr: SINGLE_FACTOR,
    roles: ['user'],
    scope: 'openid profile email roles read:profile read:users write:users read:data write:data manage:apps',
  });
  t.ok(Math.abs(Number(claims.auth_time) - Date.now() / 1000) < 5);
  t.same(await statusesOf(built, token), [200, 200]);
  t.match(decodeJwt(await loginToken('admin')), { roles: ['admin'], scope: /read:all manage:apps/ });
  t.match(await login('ANN'), { status: 200 }, 'usernames are folded');
});

t.test('login: errors are {error: string}', async (t) => {
  const type = { 'content-type': 'application/json' };
  const wrong = await login('ann', 'wrong');
  const unknown = await login('nobody', 'wrong');
  t.equal(wrong.status, 401);
  t.same([unknown.status, unknown.body], [wrong.status, wrong.body], 'who exists is not said');
  for (const [name, reply, status] of [
    ['wrong password', wrong, 401],
    ['no body', await ask('POST', '/login'), 400],
    ['no password', await ask('POST', '/login', type, '{"username":"ann"}'), 400],
    ['no username', await ask('POST', '/login', type, `{"password":"${PASSWORD}"}`), 400],
    ['an operator', await ask('POST', '/login', type, '{"username":{"$gt":""},"password":{"$gt":""}}'), 400],
    ['null', await ask('POST', '/login', type, '{"username":null,"password":null}'), 400],
    ['a list', await ask('POST', '/login', type, '[]'), 400],
    ['malformed', await ask('POST', '/login', type, '{'), 400],
    ['__proto__', await ask('POST', '/login', type, '{"__proto__":{"username":"ann"}}'), 400],
    ['an empty username', await login('', PASSWORD), 401],
    ['a long password', await login('ann', 'x'.repeat(1000)), 401],
    ['a form', await ask('POST', '/login', { 'content-type': 'text/plain' }, 'x'), 415],
    ['packed', await ask('POST', '/login', { ...type, 'content-encoding': 'gzip' }, 'x'), 415],
    ['300 kB', await login('ann', 'x'.repeat(300_000)), 413],
    ['another method', await ask('GET', '/login'), 405],
    ['another path', await ask('GET', '/nothing'), 404],
  ] as const) {
    t.equal(reply.status, status, name);
    t.same(Object.keys(reply.body), ['error'], name);
    t.type(reply.body.error, 'string', name);
    t.equal(reply.headers.get('cache-control'), 'no-store', name);
    t.notMatch(reply.text, PASSWORD, name);
  }
  t.match((await ask('GET', '/login')).headers.get('allow'), /POST/);
});

t.test('status', async (t) => {
  const token = await loginToken();
  const machine = await machineToken();
  const out = { authenticated: false, user_id: null };
  const ann = { authenticated: true, user_id: people.ann.id };
  const asMachine = { authenticated: true, user_id: null };
  const expired = await signLogin(0, { lifetime: -60 });
  const key = await dpopKey();
  const headers = { dpop: await key.proof('POST', `${base}/oauth2/token`) };
  const { access_token: bound } = await tokensFor(built, { client: SPA, headers });
  const url = `${base}/api/v1/auth/status`;
  for (const [name, reply, status, body] of [
    ['without a token', ask('GET', '/status'), 200, out],
    ['an empty token', ask('GET', '/status?token='), 200, out],
    ['in the header', ask('GET', '/status', bearer(token)), 200, ann],
    ['in the query', ask('GET', `/status?token=${token}`), 200, ann],
    ['empty in the query', ask('GET', '/status?token=', bearer(token)), 200, ann],
    ['the query counts', ask('GET', `/status?token=${token}`, bearer('x')), 200, ann],
    ['the query counts', ask('GET', '/status?token=x', bearer(token)), 401, undefined],
    ['a machine', ask('GET', '/status', bearer(machine)), 200, asMachine],
    ['an API key', ask('GET', '/status', { authorization: `ApiKey ${apiKey.key}` }), 200, asMachine],
    ['an API key as Bearer', ask('GET', '/status', bearer(apiKey.key)), 200, asMachine],
    ['an API key in the query', ask('GET', `/status?token=${apiKey.key}`), 200, asMachine],
    [
      'a bound token',
      ask('GET', '/status', {
        authorization: `DPoP ${bound}`,
        dpop: await key.proof('GET', url, bound),
      }),
      200,
      ann,
    ],
    ['a bound token alone', ask('GET', '/status', bearer(bound)), 401, undefined],
    ['a bound token in the query', ask('GET', `/status?token=${bound}`), 401, undefined],
    ['nonsense', ask('GET', '/status', bearer('x')), 401, undefined],
    ['expired', ask('GET', '/status', bearer(expired)), 401, undefined],
    ['cut', ask('GET', `/status?token=${token.slice(0, -2)}`), 401, undefined],
    ['Basic', ask('GET', '/status', { authorization: 'Basic YTpi' }), 401, undefined],
    ['an unknown API key', ask('GET', '/status', bearer(newApiKey().key)), 401, undefined],
    ['twice', ask('GET', `/status?token=${token}&token=${token}`), 400, undefined],
  ] as const) {
    const { status: actual, headers, ...it } = await reply;
    t.equal(actual, status, name);
    if (body === undefined) {
      t.same(Object.keys(it.body), ['error'], name);
      t.type(it.body.error, 'string', name);
    } else t.same(it.body, body, name);
    t.equal(headers.get('cache-control'), 'no-store', name);
    t.notMatch(it.text, token, name);
  }
});

t.test('logout', async (t) => {
  const [token, other] = [await loginToken(), await loginToken()];
  const reply = await ask('POST', '/logout', bearer(token));
  t.equal(reply.status, 204);
  t.equal(reply.text, '');
  t.same(await statusesOf(built, token), [401, 401], 'dead when the answer is there');
  t.equal((await ask('POST', '/logout', bearer(token))).status, 401);
  t.equal((await ask('POST', '/refresh', bearer(token))).status, 401);
  t.equal(await statusOf(other), 200, 'another login lives');

  const web = await tokensFor(built);
  const sibling = String((await refresh(built, web.refresh_token)).body.access_token);
  t.equal((await ask('POST', '/logout', bearer(web.access_token))).status, 204);
  t.same([await statusOf(web.access_token), await statusOf(sibling)], [401, 401], 'with its grant');
  t.equal((await refresh(built, web.refresh_token)).status, 400);

  const [machine, machineToo] = [await machineToken(), await machineToken()];
  t.equal((await ask('POST', '/logout', bearer(machine))).status, 204);
  t.same([await statusOf(machine), await statusOf(machineToo)], [401, 200]);
  t.equal((await ask('POST', '/logout', bearer(apiKey.key))).status, 403, 'a key is revoked elsewhere');
  t.equal((await ask('POST', '/logout')).status, 401);
  t.equal((await ask('GET', '/logout', bearer(other))).status, 405);
});

t.test('refresh', async (t) => {
  const first = await loginToken();
  const reply = await ask('POST', '/refresh', bearer(first));
  t.equal(reply.status, 200);
  t.same(Object.keys(reply.body).sort(), ['token', 'user_id']);
  t.equal(reply.body.user_id, people.ann.id);
  const second = String(reply.body.token);
  t.same([await statusOf(first), await statusOf(second)], [401, 200]);
  const { auth_time } = decodeJwt(first);
  t.match(decodeJwt(second), { auth_time, acr: SINGLE_FACTOR }, 'the login is what it was');
  t.equal((await ask('POST', '/refresh', bearer(first))).status, 401, 'once');

  const third = String((await ask('POST', '/refresh', bearer(second))).body.token);
  const parallel = await Promise.all(Array.from({ length: 5 }, () => ask('POST', '/refresh', bearer(third))));
  t.same(parallel.map(({ status }) => status).sort(), [200, 401, 401, 401, 401]);
  const won = parallel.find(({ status }) => status === 200);
  t.equal(await statusOf(String(won?.body.token)), 200);

  const day = 86_400;
  t.equal((await ask('POST', '/refresh', bearer(await signLogin(30 * day - 60)))).status, 200);
  const old = await signLogin(30 * day + 60);
  const tooOld = await ask('POST', '/refresh', bearer(old));
  t.match(tooOld, { status: 401, body: { error: /log in again/ } });
  t.match(tooOld.headers.get('www-authenticate'), /error="invalid_token"/);
  t.equal(await statusOf(old), 200, 'what it is refused leaves the token as it is');

  const { access_token } = await tokensFor(built);
  for (const [name, token, status] of [
    ['of the code flow', access_token, 403],
    ['of a machine', await machineToken(), 403],
    ['an API key', apiKey.key, 403],
    ['expired', await signLogin(0, { lifetime: -60 }), 401],
    ['of another client', await signLogin(0, { clientId: WEB.client_id }), 403],
    ['nonsense', 'x', 401],
  ] as const) {
    const refused = await ask('POST', '/refresh', bearer(token));
    t.equal(refused.status, status, name);
    t.same(Object.keys(refused.body), ['error'], name);
  }
});

t.test('a token that was renewed, and comes again later, ends its login', async (t) => {
  const renew = async (token: string) => ask('POST', '/refresh', bearer(token));
  const other = await loginToken();
  for (const [name, seconds, survives] of [
    ['at once, as from two tabs', 5, true],
    ['later', 11, false],
  ] as const) {
    const first = await loginToken();
    const second = String((await renew(first)).body.token);
    const third = String((await renew(second)).body.token);
    const { gid } = decodeJwt(third);
    t.equal(gid, decodeJwt(first).gid, 'it is one login');
    const renewed_at = new Date(Date.now() - seconds * 1000);
    await apiLogins.updateOne({ _id: String(gid) }, { $set: { renewed_at } });
    t.equal((await renew(first)).status, 401);
    t.equal(await statusOf(third), survives ? 200 : 401, name);
    t.equal((await renew(third)).status, survives ? 200 : 401, name);
    t.equal(await apiLogins.countDocuments({ _id: String(gid) }), survives ? 1 : 0, name);
  }
  t.equal(await statusOf(other), 200, 'and no other');
});

t.test('permissions', async (t) => {
  const { access_token } = await tokensFor(built, { more: { scope: 'openid read:data' } });
  const ann = { user_id: people.ann.id, roles: ['user'] };
  for (const [name, token, expected] of [
    ['of the code flow', access_token, { ...ann, client_id: WEB.client_id, scopes: ['openid', 'read:data'] }],
    [
      'of a machine',
      await machineToken(),
      { user_id: null, client_id: MACHINE.client_id, roles: [], scopes: ['read:users', 'write:users'] },
    ],
    ['an API key', apiKey.key, { user_id: null, client_id: 'app_keyed', roles: [], scopes: ['read:users'] }],
  ] as const) {
    const { status, body } = await ask('GET', '/permissions', bearer(token));
    t.equal(status, 200, name);
    t.same(body, expected, name);
  }
  const { body } = await ask('GET', '/permissions', bearer(await loginToken()));
  t.match(body, { ...ann, client_id: LOGIN_CLIENT });
  t.ok((body.scopes as string[]).includes('manage:apps'));
  for (const headers of [{}, bearer('x')]) {
    const refused = await ask('GET', '/permissions', headers);
    t.equal(refused.status, 401);
    t.match(refused.headers.get('www-authenticate'), /^Bearer realm=/);
    t.same(Object.keys(refused.body), ['error']);
  }
});

t.test('an address identifies who has verified it', async (t) => {
  const created = await call('POST', '/v1/users', await loginToken('admin'), {
    username: 'bob',
    email: 'bob@example.org',
    password: PASSWORD,
  });
  t.equal(created.status, 201);
  t.equal((await login('bob')).status, 200);
  t.equal((await login('bob@example.org')).status, 401);
});

t.test('a request for the status counts, wherever its token is', async (t) => {
  const { access_token: token } = await tokensFor(limited);
  const counted = async (query: string, header?: string) => {
    const { headers } = await limited.call('GET', `/api/v1/auth/status${query}`, header);
    const [, name, left] = /^"(\w+)";r=(\d+);/.exec(headers.get('ratelimit') ?? '') ?? [];
    return { name, left: Number(left) };
  };
  const requests: [limit: string, query: string, header?: string][] = [
    ['credential', '', token],
    ['credential', `?token=${token}`],
    ['credential', `?token=${token}`, 'x'],
    ['address', '', 'x'],
    ['address', '?token=x'],
    ['address', ''],
    ['address', '?token='],
  ];
  const before = new Map<string, number>();
  for (const [name, query, header] of requests) {
    const { left, ...more } = await counted(query, header);
    t.strictSame(more, { name }, `${query} ${header}`);
    t.equal(left, (before.get(name) ?? left + 1) - 1, `${query} ${header}`);
    before.set(name, left);
  }
});

t.test('where passwords are not taken', async (t) => {
  const { status, body } = await limited.logIn();
  t.equal(status, 403);
  t.match(body, { error: /authorization code/ });
  const { access_token } = await tokensFor(limited);
  t.equal((await limited.call('GET', '/api/v1/auth/status', access_token)).status, 200, 'the rest works');
});

t.test('two replicas count together', async (t) => {
  const replicas = [limited, await build(t, shared)];
  const login = (replica = limited) => replica.logIn('ann', 'wrong');
  const leftAt = async (replica = limited) =>
    Number(/^"password";r=(\d+);/.exec((await login(replica)).headers.get('ratelimit') ?? '')?.[1]);
  const left = await leftAt();
  for (let i = 1; i <= left; i += 1) t.equal(await leftAt(replicas[i % 2]), left - i);
  for (const replica of replicas) t.equal((await login(replica)).status, 429);
});

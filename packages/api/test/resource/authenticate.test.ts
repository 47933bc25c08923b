import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import type { CallLimits } from '@gatehouse/api/http/identify-caller';
import { createAddressLimiter, createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { createApp } from '@gatehouse/api/resource/app';
import { authenticate, callerOf } from '@gatehouse/api/resource/authenticate';
import { newId } from '@gatehouse/core/ids';
import { freePort, until } from '@gatehouse/testing/processes';
import { sendSlowly } from '@gatehouse/testing/slow-request';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import { clientCredentialsGrant, createInternalClient } from '@gatehouse/tokens/internal-client';
import { apiAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import { createRevocationSet, type Revocation } from '@gatehouse/verify/revocations';
import t, { type Test } from 'tap';
import { serveApp } from './serve-app.ts';

const issuer = await createTestIssuer(t);
const person = await issuer.person('usr_1', 'editor', 'read:data');
const BODY = { 'content-type': 'application/json' };

/** As a service makes it, but for the feed. */
function credentialsBy(jwksUri: string, revocations = createRevocationSet()) {
  const internal = createInternalClient({
    service: 'identity',
    url: issuer.issuer,
    requestToken: clientCredentialsGrant({
      tokenUrl: `${issuer.issuer}/oauth2/token`,
      issuer: issuer.issuer,
      clientId: issuer.client.id,
      clientSecret: issuer.client.secret,
    }),
  });
  const { resolveApiKey } = createIdentityClient(internal);
  return createCredentialVerifier({
    tokens: createTokenVerifier({
      issuer: issuer.issuer,
      audience: apiAudience(issuer.issuer),
      jwksUri,
      revocations,
    }),
    apiKeys: createApiKeyResolver({ resolve: resolveApiKey, set: revocations }),
    publicUrl: issuer.issuer,
  });
}

/** POST /v2/things needs a credential and returns the caller; GET /v2/open lacks the hook. */
async function serve(t: Test, { limits, jwksUri }: { limits?: CallLimits; jwksUri?: string } = {}) {
  const revocations = createRevocationSet();
  const { logger, lines } = recordingLogger();
  const onRequest = authenticate(credentialsBy(jwksUri ?? `${issuer.issuer}/jwks`, revocations), limits);
  const options = { logger, errorBodyFor: () => v2Body, translate: () => undefined };
  const app = createApp({ ...options, authenticate: onRequest });
  app.post('/v2/things', { onRequest }, async (request) => {
    const { scopes, ...caller } = callerOf(request);
    return { ...caller, scopes: [...scopes], body: request.body };
  });
  app.get('/v2/open', async (request) => callerOf(request));
  const { url, port } = await serveApp(t, app, { logger, trustedProxies: ['127.0.0.1'] });
  const post = async (authorization?: string, headers: Record<string, string> = BODY, body = '{"a":1}') => {
    const response = await fetch(`${url}/v2/things`, {
      method: 'POST',
      headers: { ...headers, ...(authorization !== undefined && { authorization }) },
      body,
    });
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: (await response.json()) as Record<string, unknown>,
    };
  };
  return { url, port, lines, post, revocations };
}

t.test('the caller', async (t) => {
  const { post, lines } = await serve(t);
  t.match(await post(`Bearer ${person}`), {
    status: 200,
    body: {
      subject: 'usr_1',
      clientId: 'app_web',
      person: { id: 'usr_1', role: 'editor' },
      scopes: ['read:data'],
      body: { a: 1 },
    },
  });
  await post(`bearer ${await issuer.machine('read:all')}`);
  await until(() => lines.length === 2, 5000);
  t.match(lines, [{ client: 'app_web', subject: 'usr_1' }, { client: 'app_test' }]);
  t.notOk('subject' in (lines[1] ?? {}), 'a machine is its own subject');
});

const STRANGERS: [label: string, authorization: string | undefined, error: string | undefined][] = [
  ['no credential', undefined, undefined],
  ['an empty header', '', 'invalid_request'],
  ['another scheme', 'Basic dXNlcjpwYXNz', 'invalid_request'],
  ['no token', 'Bearer', 'invalid_request'],
  ['a token that is none', 'Bearer x', 'invalid_token'],
  ['an expired token', `Bearer ${await issuer.sign({ trusted: true, exp: 1 })}`, 'invalid_token'],
  ['an ID token', `Bearer ${await issuer.sign({ trusted: true }, { typ: 'JWT' })}`, 'invalid_token'],
];

t.test('missing and malformed credentials', async (t) => {
  const { post, url, lines } = await serve(t);
  for (const [label, authorization, error] of STRANGERS) {
    const { status, headers, body } = await post(authorization, { ...BODY, origin: 'https://app.example' });
    t.equal(status, 401, label);
    t.equal(
      headers['www-authenticate'],
      `Bearer realm="gatehouse"${error === undefined ? '' : `, error="${error}"`}`,
    );
    t.equal(headers['access-control-allow-origin'], '*', 'a browser may read it');
    t.equal(headers['cache-control'], 'no-store');
    t.match(body, { error: { code: 'unauthorized', message: String } });
  }
  const inQuery = await fetch(`${url}/v2/things?access_token=${person}`, { method: 'POST' });
  t.equal(inQuery.status, 401, 'a token in the query is not read');
  await until(() => lines.length === STRANGERS.length + 1, 5000);
  t.notMatch(JSON.stringify(lines), person.slice(-20));
  t.notOk(lines.some((line) => 'client' in line || 'subject' in line));
});

t.test('a DPoP-bound token', async (t) => {
  const { post, port, url } = await serve(t);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const { publicKey, privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey);
  const jkt = hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
  const token = await issuer.sign({ sub: 'usr_1', cnf: { jkt } });
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const proofFor = async (htu: string, htm = 'POST') => {
    const ath = hash('sha256', token, 'base64url');
    const claims = { jti: crypto.randomUUID(), htm, htu, iat: Math.floor(Date.now() / 1000), ath };
    const signed = `${encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } })}.${encode(claims)}`;
    const signature = await crypto.subtle.sign(algorithm, privateKey, Buffer.from(signed));
    return `${signed}.${Buffer.from(signature).toString('base64url')}`;
  };
  const here = `${issuer.issuer}/v2/things`;
  const proof = await proofFor(here);
  t.match(await post(`DPoP ${token}`, { ...BODY, dpop: proof }), { status: 200, body: { subject: 'usr_1' } });
  t.match(await post(`DPoP ${token}`, { ...BODY, dpop: proof }), { status: 401 }, 'once');
  const challenge = /^DPoP realm="gatehouse", error="invalid_dpop_proof", algs="ES256 /;
  const REFUSED = [
    await proofFor(`${url}/v2/things`),
    await proofFor(`${here}/x`),
    await proofFor(here, 'GET'),
    'x',
  ];
  for (const dpop of REFUSED) {
    const reply = await post(`DPoP ${token}`, { ...BODY, dpop });
    t.match(reply, { status: 401, headers: { 'www-authenticate': challenge } });
  }
  const bearer = await post(`Bearer ${token}`, { ...BODY, dpop: await proofFor(here) });
  t.match(bearer, { status: 401, headers: { 'www-authenticate': /^DPoP .*error="invalid_token"/ } });

  const headers = { ...BODY, authorization: `DPoP ${token}`, dpop: await proofFor(here) };
  const slow = await sendSlowly(`${url}/v2/things`, { headers, body: '{"a":1}' }, async () => {});
  t.equal(slow.status, 200, 'after a body that took its time, the proof still counts as used once');

  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const [first, second] = [await proofFor(here), await proofFor(here)];
  const head = [
    'POST /v2/things?a=b HTTP/1.1',
    'host: x',
    `authorization: DPoP ${token}`,
    'content-length: 0',
  ];
  socket.write([...head, `dpop: ${first}`, `dpop: ${second}`, '', ''].join('\r\n'));
  t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 401 /, 'two proofs (RFC 9449 §4.3)');
  socket.write([...head, `dpop: ${first}`, '', ''].join('\r\n'));
  t.match(
    String((await once(socket, 'data'))[0]),
    /^HTTP\/1\.1 200 /,
    'each alone would do, with a query too',
  );
});

t.test('unauthenticated requests are rejected before the body is read', async (t) => {
  const { post, port } = await serve(t);
  t.equal((await post(undefined, BODY, '{')).status, 401, 'not 400');
  t.equal((await post(undefined, { 'content-type': 'text/plain' })).status, 401, 'not 415');
  t.equal((await post(undefined, BODY, 'x'.repeat(300_000))).status, 401, 'not 413');
  t.equal((await post(`Bearer ${person}`, BODY, '{')).status, 400, 'which a caller gets');

  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write(
    'POST /v2/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n',
  );
  const [received] = await once(socket, 'data');
  t.match(String(received), /^HTTP\/1\.1 401 /, 'the body is not even waited for');
});

t.test('a credential that ends while the body is on its way writes nothing', async (t) => {
  const limits = limitsOf(99, 9);
  const { url, post, revocations } = await serve(t, { limits });
  const soon = Math.floor(Date.now() / 1000) + 2;
  const [jti, demoted, key] = [crypto.randomUUID(), newId('usr'), issuer.apiKey()];
  const end = (revocation: Omit<Revocation, 'expiresAt'>) => async () =>
    revocations.add({ ...revocation, expiresAt: soon + 60 });
  const CASES: [label: string, authorization: string, end: () => Promise<unknown>][] = [
    [
      'a revoked token',
      `Bearer ${await issuer.sign({ trusted: true, jti })}`,
      end({ kind: 'token', id: jti }),
    ],
    [
      'of a person whose role has changed',
      `Bearer ${await issuer.person(demoted, 'admin', '')}`,
      end({ kind: 'subject', id: demoted, epoch: 1 }),
    ],
    [
      'a revoked key',
      `ApiKey ${key.key}`,
      async () => {
        issuer.revoke({ kind: 'api_key', id: key.id });
        await end({ kind: 'api_key', id: key.id })();
      },
    ],
    [
      'an expired token',
      `Bearer ${await issuer.sign({ trusted: true, exp: soon })}`,
      () => until(() => Date.now() / 1000 > soon, 5000),
    ],
  ];
  for (const [label, authorization, meanwhile] of CASES) {
    const send = (then: () => Promise<unknown>) =>
      sendSlowly(`${url}/v2/things`, { headers: { ...BODY, authorization }, body: '{"a":1}' }, then);
    t.match(await send(async () => {}), { status: 200 }, `${label}: before`);
    const reply = await send(meanwhile);
    t.match(reply, { status: 401, headers: { 'www-authenticate': /error="invalid_token"/ } }, label);
  }
  t.match(await post(`Bearer ${person}`), { headers: { ratelimit: /r=98/ } }, 'counted once');
});

t.test(
  'a request without a route is logged for its caller, and its response is the same for everybody',
  async (t) => {
    const { url, lines } = await serve(t, { limits: limitsOf(4, 2) });
    const known = { client: 'app_web', subject: 'usr_1' };
    const nobody = { client: undefined, subject: undefined };
    const CASES: [path: string, method: string, authorization: string, status: number, line: object][] = [
      ['/v2/things', 'DELETE', `Bearer ${person}`, 405, { ...known, route: '/v2/things' }],
      ['/v2/thigns/thg_1', 'GET', `Bearer ${person}`, 404, { ...known, route: '/v2/*' }],
      ['/v2/things/secret', 'POST', `Bearer ${person}`, 404, { ...known, route: '/v2/things/*' }],
      ['/v2/things/', 'GET', `Bearer ${person}`, 404, { ...known, route: '/v2/things/*' }],
      ['/v2/things', 'PUT', `ApiKey ${issuer.apiKey().key}`, 405, { client: /^app_/, route: '/v2/things' }],
      ['/v2/things', 'PUT', '', 405, nobody],
      ['/v2/thigns', 'GET', 'Bearer x', 404, nobody],
      ['/v2/thigns', 'GET', 'Bearer y', 404, nobody],
      ['/v2/thigns', 'GET', 'Bearer z', 404, nobody],
      ['/v2/thigns', 'GET', `Bearer ${person}`, 404, known],
    ];
    for (const [i, [path, method, authorization, status]] of CASES.entries()) {
      const body = method === 'POST' ? '{"a":1}' : null;
      const headers = { ...BODY, ...(authorization && { authorization }), 'x-request-id': `case-${i}` };
      const response = await fetch(url + path, { method, headers, body });
      t.equal(response.status, status, `${method} ${path}`);
      t.equal(response.headers.get('www-authenticate'), null);
    }
    await until(() => lines.length === CASES.length, 5000);
    for (const [i, [path, method, , , line]] of CASES.entries()) {
      const { client, subject, route } = lines.find((it) => it.req_id === `case-${i}`) ?? {};
      t.match({ client, subject, route }, line, `${method} ${path}`);
    }
    t.equal((await fetch(`${url}/v2/thigns`)).headers.get('ratelimit'), null, 'nobody is counted');
  },
);

t.test('a route without the hook is a server error', async (t) => {
  const { url } = await serve(t);
  const response = await fetch(`${url}/v2/open`, { headers: { authorization: `Bearer ${person}` } });
  t.equal(response.status, 500);
});

function limitsOf(authenticated: number, unauthenticated: number): CallLimits {
  return {
    authenticated: createRateLimiter({ name: 'credential', quota: authenticated, seconds: 60 }),
    person: createRateLimiter({ name: 'person', quota: authenticated * 2, seconds: 60 }),
    unauthenticated: createAddressLimiter({ name: 'address', quota: unauthenticated, seconds: 60 }),
  };
}

const from = (address: string) => ({ ...BODY, 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });

t.test('an address whose quota is used up', async (t) => {
  const { post } = await serve(t, { limits: limitsOf(9, 2) });
  const here = from('203.0.113.1');
  const key = `ApiKey ${issuer.apiKey().key}`;
  const known = await issuer.person('usr_3', 'user', 'read:data');
  t.match(await post(`Bearer ${known}`, here), { status: 200 });
  t.match(await post(key, here), { status: 200 });
  t.match(await post(undefined, here), {
    status: 401,
    headers: { 'ratelimit-policy': '"address";q=2;w=60', ratelimit: '"address";r=1;t=60' },
  });
  t.match(await post('Bearer x', here), { status: 401, headers: { ratelimit: /r=0/ } });

  const refused = { status: 429, headers: { 'retry-after': '60', ratelimit: '"address";r=0;t=60' } };
  const resolved = issuer.asked.get('/internal/identity/api-keys/resolve');
  const limited = { 'access-control-allow-origin': '*' };
  const body = { error: { code: 'rate_limited' } };
  t.match(await post('Bearer x', here), { ...refused, headers: { ...refused.headers, ...limited }, body });
  t.match(await post(undefined, here), refused);
  t.match(await post(`Bearer ${person}`, here), refused, 'a new token is not even verified');
  t.match(await post(`ApiKey ${issuer.apiKey().key}`, here), refused, 'nor a new key resolved');
  t.equal(issuer.asked.get('/internal/identity/api-keys/resolve'), resolved);
  t.match(
    await post(`Bearer ${known}`, here),
    { status: 200, headers: { ratelimit: '"credential";r=7;t=60' } },
    'known callers are not affected by others at the same address',
  );
  t.match(await post(key, here), { status: 200 });
  t.match(await post(`Bearer ${person}`, from('203.0.113.2')), { status: 200 }, 'nor is anybody elsewhere');
});

t.test('the keys of an application share a limit', async (t) => {
  const { post, lines } = await serve(t, { limits: limitsOf(2, 9) });
  const owner = { trusted: false, owner: 'usr_1', role: 'user' } as const;
  const keyOf = (client: string) => `Bearer ${issuer.apiKey({ client_id: client, ...owner }).key}`;
  t.match(await post(keyOf('app_1')), { status: 200, body: { clientId: 'app_1', person: { id: 'usr_1' } } });
  t.match(await post(keyOf('app_1')), { status: 200, headers: { ratelimit: '"credential";r=0;t=60' } });
  t.match(await post(keyOf('app_1')), { status: 429 });
  t.match(await post(keyOf('app_2')), { status: 200 }, 'another application has a separate quota');
  await until(() => lines.length === 4, 5000);
  t.match(lines[0], { client: 'app_1' });
  t.notMatch(JSON.stringify(lines), 'gatehouse_', 'the key is in no log');
});

t.test('whose limit a request counts for, beside that of its credential', async (t) => {
  const APART = 'usr_owner by applications';
  const machine = { sub: 'app_1', client_id: 'app_1', owner: 'usr_owner' };
  const key = { client_id: 'app_1', trusted: false, owner: 'usr_owner', role: 'user' } as const;
  const CASES: [credential: string, whose: string | undefined][] = [
    [await issuer.sign({ sub: 'usr_owner', client_id: 'login', scope: 'manage:apps' }), 'usr_owner'],
    [await issuer.sign({ sub: 'usr_owner', client_id: 'app_1', scope: 'openid' }), APART],
    [await issuer.sign(machine), 'usr_owner'],
    [issuer.apiKey(key).key, 'usr_owner'],
    [await issuer.sign({ ...machine, given_by: 'usr_member' }), 'usr_member'],
    [issuer.apiKey({ ...key, given_by: 'usr_member' }).key, 'usr_member'],
    [await issuer.sign({ ...machine, trusted: true, given_by: 'usr_member' }), undefined],
  ];
  for (const [i, [credential, whose]] of CASES.entries()) {
    const limits = limitsOf(9, 9);
    const { post } = await serve(t, { limits });
    t.match(await post(`Bearer ${credential}`), { status: 200 });
    for (const who of ['usr_owner', 'usr_member', APART]) {
      const { left } = await limits.person.take(who);
      t.equal(left, who === whose ? 16 : 17, `case ${i}: ${who}`);
    }
  }
});

t.test('while the keys are unreachable no caller counts as unauthenticated', async (t) => {
  const jwksUri = `http://127.0.0.1:${await freePort()}/jwks`;
  const { post } = await serve(t, { limits: limitsOf(2, 2), jwksUri });
  for (const time of ['first', 'second', 'third']) {
    t.match(
      await post(`Bearer ${person}`),
      { status: 503, headers: { 'retry-after': '1' }, body: { error: { code: 'unavailable' } } },
      `${time} request`,
    );
  }
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { createApp, handlerOf } from '@gatehouse/http/app';
import { authenticate, type CallLimits, callerOf, createCallLimits } from '@gatehouse/http/auth';
import { v2Body } from '@gatehouse/http/error-bodies';
import { createRateLimiter } from '@gatehouse/http/rate-limit';
import { createLogger } from '@gatehouse/kit/logger';
import { run } from '@gatehouse/kit/run';
import { freePort, until } from '@gatehouse/testing/processes';
import { createTestIssuer } from '@gatehouse/testing/test-issuer';
import { apiAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import t, { type Test } from 'tap';

const issuer = await createTestIssuer(t);
const person = await issuer.person('usr_1', 'editor', 'read:data');
const BODY = { 'content-type': 'application/json' };

function verifierAt(jwksUri: string) {
  return createTokenVerifier({ issuer: issuer.issuer, audience: apiAudience(issuer.issuer), jwksUri });
}

/** POST /v2/things needs a credential and answers who calls; GET /v2/open forgot to ask for one. */
async function serve(t: Test, { limits, jwksUri }: { limits?: CallLimits; jwksUri?: string } = {}) {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const logger = createLogger({ name: 'test', readable: false, destination });
  const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
  const onRequest = authenticate(verifierAt(jwksUri ?? `${issuer.issuer}/jwks`), limits);
  app.post('/v2/things', { onRequest }, async (request) => {
    const { scopes, ...caller } = callerOf(request);
    return { ...caller, scopes: [...scopes], body: request.body };
  });
  app.get('/v2/open', async (request) => callerOf(request));
  const service = {
    name: 'test',
    prefixes: ['/v2'],
    handle: handlerOf(app),
    start: async () => {},
    stop: () => app.close(),
    unready: async () => undefined,
  };
  const running = await run([service], {
    port: 0,
    host: '127.0.0.1',
    logger,
    trustedProxies: ['127.0.0.1'],
    requireHttps: false,
    drainSeconds: 0,
  });
  t.teardown(() => running.stop());
  const url = `http://127.0.0.1:${running.port}`;
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
  return { url, port: running.port, lines, post };
}

t.test('who calls', async (t) => {
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

t.test('who does not show who it is', async (t) => {
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

t.test('a stranger is refused before the body is read', async (t) => {
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

t.test('a route that forgot the hook is our fault', async (t) => {
  const { url } = await serve(t);
  const response = await fetch(`${url}/v2/open`, { headers: { authorization: `Bearer ${person}` } });
  t.equal(response.status, 500);
});

function limitsOf(callers: number, strangers: number): CallLimits {
  return {
    callers: createRateLimiter({ name: 'credential', quota: callers, seconds: 60 }),
    strangers: createRateLimiter({ name: 'address', quota: strangers, seconds: 60 }),
  };
}

const from = (address: string) => ({ ...BODY, 'x-forwarded-for': address, 'x-forwarded-proto': 'https' });

t.test('strangers are counted by address', async (t) => {
  const { post } = await serve(t, { limits: limitsOf(9, 2) });
  t.match(await post(undefined, from('203.0.113.1')), {
    status: 401,
    headers: { 'ratelimit-policy': '"address";q=2;w=60', ratelimit: '"address";r=1;t=60' },
  });
  t.match(await post('Bearer x', from('203.0.113.1')), { status: 401, headers: { ratelimit: /r=0/ } });
  t.match(await post('Bearer y', from('203.0.113.1')), {
    status: 429,
    headers: { 'retry-after': '60', ratelimit: '"address";r=0;t=60', 'access-control-allow-origin': '*' },
    body: { error: { code: 'rate_limited' } },
  });
  t.match(await post(undefined, from('203.0.113.2')), { status: 401 }, 'another address has its own quota');
  t.match(
    await post(`Bearer ${person}`, from('203.0.113.1')),
    { status: 200, headers: { ratelimit: '"credential";r=8;t=60' } },
    'and who has a credential is not held up by strangers at the same address',
  );
});

t.test('callers are counted by client and subject', async (t) => {
  const { post } = await serve(t, { limits: limitsOf(2, 9) });
  const again = await issuer.person('usr_1', 'editor', 'openid');
  const other = await issuer.person('usr_2', 'editor', 'read:data');
  t.match(await post(`Bearer ${person}`, from('203.0.113.1')), {
    status: 200,
    headers: { 'ratelimit-policy': '"credential";q=2;w=60', ratelimit: '"credential";r=1;t=60' },
  });
  t.match(await post(`Bearer ${again}`, from('203.0.113.2')), { status: 200, headers: { ratelimit: /r=0/ } });
  t.match(
    await post(`Bearer ${person}`, from('203.0.113.3'), '{'),
    { status: 429, headers: { 'retry-after': '60' }, body: { error: { code: 'rate_limited' } } },
    'wherever it calls from',
  );
  t.match(await post(`Bearer ${other}`), { status: 200 }, 'another person has an own quota');
  t.match(await post(`Bearer ${await issuer.machine('')}`), { status: 200 }, 'and so has another client');
  t.match(await post(undefined, from('203.0.113.1')), { status: 401 }, 'strangers are not counted with them');
});

t.test('when the keys are away nobody is taken for a stranger', async (t) => {
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

t.test('the quotas of a service', async (t) => {
  const limits = createCallLimits();
  t.match(await limits.callers.count('a'), { 'ratelimit-policy': '"credential";q=6000;w=60' });
  t.match(await limits.strangers.count('a'), { 'ratelimit-policy': '"address";q=300;w=60' });
});

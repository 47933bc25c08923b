import { setTimeout as sleep } from 'node:timers/promises';
import { createCore } from '@gatehouse/verify/core';
import { createDiscovery } from '@gatehouse/verify/discovery';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import { createVerifier, type VerifierOptions } from '@gatehouse/verify/verifier';
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import t, { type Test } from 'tap';
import { pass } from './clock.ts';
import { CREDENTIALS, type Issuer, startIssuer, verifierOf } from './issuer.ts';
import { tokenOfNow } from './local.ts';
import { AUDIENCE, apiKey, JWKS, proof, STRANGER, token as sign, thumbprint } from './vectors/signing.ts';

const REVOKED = { status: 401, message: 'The access token has been revoked.' };
const UNKNOWN = { status: 503, message: 'It is not known at the moment which tokens are revoked.' };
const FEED = '/api/v1/resources/rsr_1/revocations';

const bearer = (token: string) => new Request(AUDIENCE, { headers: { authorization: `Bearer ${token}` } });
const signed = (issuer: Issuer, change = {}) => tokenOfNow({ iss: issuer.url, ...change });
const fails =
  (status: number) => (_request: unknown, response: { writeHead(status: number): { end(): void } }) =>
    response.writeHead(status).end();

async function until(isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 1000 && !isSo(); i += 1) await sleep(5);
}

t.test('a token, until it is revoked', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier, states } = verifierOf(t, issuer);
  const token = await signed(issuer);
  t.match(
    await verifier.verify(bearer(token)),
    { subject: 'usr_1', kind: 'person' },
    'the first waits for the feed',
  );
  t.strictSame(states, ['connected']);
  issuer.revoke({ kind: 'token', id: 'jti_1' });
  await until(() => verifier.metrics().revocations > 0);
  await t.rejects(verifier.verify(bearer(token)), REVOKED);
  t.match(await verifier.verify(bearer(await signed(issuer, { jti: 'other' }))), { subject: 'usr_1' });
  t.equal(issuer.count('/introspect'), 0);
  t.equal(issuer.count('/jwks'), 1);
  const { behindSeconds, ...metrics } = verifier.metrics();
  t.strictSame(metrics, {
    verified: 2,
    refused: { '401 invalid_token': 1 },
    revocations: 1,
    introspections: 0,
  });
  t.ok((behindSeconds ?? 60) < 5);

  const [found, feed] = ['/api/v1/resources?', FEED].map((path) =>
    issuer.requests.find((request) => request.path.startsWith(path)),
  );
  t.equal(found?.path, `/api/v1/resources?${new URLSearchParams({ identifier: AUDIENCE })}`);
  // RFC 6749 §2.3.1
  const basic = `Basic ${Buffer.from('cli%2Fent:s+ecret%3A%C3%A9').toString('base64')}`;
  t.equal(found?.headers.authorization, basic);
  t.equal(feed?.headers.authorization, basic);
  t.equal(feed?.headers.accept, 'text/event-stream');
  t.match(feed?.headers['user-agent'], /^gatehouse-verify-node\/\d+\.\d+\.\d+$/);
  t.match(feed?.headers['x-gatehouse-verifier'], /^id=[\w-]+; stale=introspect$/);
});

t.test('entries in parts, in odd forms and twice', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  await verifier.verify(bearer(await signed(issuer)));
  const entry = (id: string) => JSON.stringify({ kind: 'token', id, until: Date.now() / 1000 + 600 });
  const text =
    `id: 2\r\ndata: ${entry('crlf')}\r\n\r\n` +
    `data:${entry('space')}\nid:3\n\n` +
    `event: revocation\nretry: 5\nid: 4\ndata: ${entry('moré')}\n\n` +
    `id: 5\ndata: {"kind":"unknown"}\n\nid: 6\ndata: null\n\nid: 7\ndata: ${entry('last')}\n\n`;
  const bytes = Buffer.from(text);
  for (let i = 0; i < bytes.length; i += 7) {
    for (const stream of issuer.streams) stream.write(bytes.subarray(i, i + 7));
    if (i % 70 === 0) await sleep(1);
  }
  await until(() => verifier.metrics().revocations === 4);
  for (const jti of ['crlf', 'space', 'moré', 'last']) {
    await t.rejects(verifier.verify(bearer(await signed(issuer, { jti }))), REVOKED, jti);
  }
});

t.test('a connection that ends is made again, behind the last entry', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier, states } = verifierOf(t, issuer);
  const token = await signed(issuer);
  await verifier.verify(bearer(token));
  issuer.revoke({ kind: 'token', id: 'x' }, 'position-7');
  await until(() => verifier.metrics().revocations > 0);
  for (const stream of issuer.streams) stream.destroy();
  await until(() => issuer.count(FEED) === 2);
  t.equal(issuer.requests.at(-1)?.headers['last-event-id'], 'position-7');
  t.match(await verifier.verify(bearer(token)), { subject: 'usr_1' });
  t.equal(issuer.count('/introspect'), 0, 'it is fresh meanwhile');
  t.equal(issuer.count('/api/v1/resources?'), 1);
  t.strictSame(states, ['connected']);
});

t.test('a connection without a byte is broken off', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  await verifier.verify(bearer(await signed(issuer)));
  const begun = performance.now();
  await until(() => issuer.count(FEED) === 2);
  while (issuer.count(FEED) < 2 && performance.now() - begun < 10_000) await sleep(50);
  const seconds = (performance.now() - begun) / 1000;
  t.ok(seconds > 5 && seconds < 9, `${seconds} s`);
});

const POLICIES = ['introspect', 'refuse', 'accept'] as const;

t.test('the feed is silent', async (t) => {
  for (const then of POLICIES) {
    const issuer = await startIssuer(t);
    issuer.instead.set(FEED, () => {});
    const { verifier, states, lines } = verifierOf(t, issuer, { stale: { then, afterSeconds: 0.2 } });
    const token = await signed(issuer);
    issuer.introspection[token] = { active: true };
    const verify = () => verifier.verify(bearer(token));
    if (then === 'refuse') await t.rejects(verify(), UNKNOWN);
    else t.match(await verify(), { subject: 'usr_1' }, then);
    await until(() => states.length > 0);
    t.strictSame(states, ['silent'], then);
    t.match(lines[0], AUDIENCE);
    t.equal(issuer.count('/introspect'), then === 'introspect' ? 1 : 0);
    if (then !== 'introspect') continue;
    await Promise.all([verify(), verify(), verify()]);
    t.equal(issuer.count('/introspect'), 2, 'requests at the same time share a response');
    issuer.introspection[token] = { active: false };
    await t.rejects(verify(), REVOKED);
    issuer.instead.set('/introspect', fails(500));
    await t.rejects(verify(), UNKNOWN);
  }
});

t.test('silence ends', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier, states } = verifierOf(t, issuer, { stale: { afterSeconds: 0.3 } });
  const token = await signed(issuer);
  await verifier.verify(bearer(token));
  await until(() => states.length === 2);
  // A timer may be a millisecond early.
  await sleep(2);
  await t.rejects(verifier.verify(bearer(token)), REVOKED, 'it is introspected, and unknown');
  issuer.beat();
  await until(() => states.length === 3);
  t.match(await verifier.verify(bearer(token)), { subject: 'usr_1' });
  t.strictSame(states.slice(0, 3), ['connected', 'silent', 'connected']);
});

t.test('the feed counts as silent by either clock', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer, { stale: { then: 'refuse' } });
  const request = bearer(await signed(issuer));
  await verifier.verify(request);
  for (const clock of [Date, performance]) {
    const { now } = clock;
    clock.now = () => now.call(clock) + 11_000;
    await t.rejects(verifier.verify(request), UNKNOWN).finally(() => {
      clock.now = now;
    });
    t.match(await verifier.verify(request), { subject: 'usr_1' });
  }
});

t.test('revocations that come while a token is verified', async (t) => {
  const issuer = await startIssuer(t);
  const set = createRevocationSet();
  let isFresh = false;
  const verifier = createCore({
    issuer: issuer.url,
    audience: AUDIENCE,
    staleThen: 'refuse',
    keys: createLocalJWKSet(JWKS as JSONWebKeySet),
    set: {
      ...set,
      isRevoked(...credential) {
        const isRevoked = set.isRevoked(...credential);
        set.add({ kind: 'token', id: 'jti_1', expiresAt: Date.now() / 1000 + 600 });
        isFresh = true;
        return isRevoked;
      },
    },
    credentials: {
      introspect: async () => ({}),
      feed: {
        isFresh: () => isFresh,
        started: Promise.resolve(),
        behindSeconds: () => undefined,
        async close() {},
      },
    },
  });
  await t.rejects(verifier.verify(bearer(await signed(issuer))), UNKNOWN);
});

t.test('the feed refuses', async (t) => {
  for (const status of [401, 403, 404]) {
    const issuer = await startIssuer(t);
    issuer.instead.set(FEED, fails(status));
    const { states, lines } = verifierOf(t, issuer);
    await until(() => states.length > 0);
    t.strictSame(states, ['refused']);
    t.match(lines[0], `status ${status}`);
    t.notMatch(lines[0], CREDENTIALS.clientSecret);
    await sleep(500);
    t.equal(issuer.count(FEED), 1, 'it waits');
  }
  const issuer = await startIssuer(t);
  issuer.instead.set('/api/v1/resources', (_request, response) => void response.end('{"data":[]}'));
  const { states } = verifierOf(t, issuer);
  await until(() => states.length > 0);
  t.strictSame(states, ['refused'], 'an API that is not registered');
});

t.test('an API that is registered again', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier, states } = verifierOf(t, issuer);
  const old = bearer(await signed(issuer));
  await verifier.verify(old);
  const key = apiKey('k3Y');
  issuer.introspection[key] = { active: true, aud: AUDIENCE, client_id: 'cli_7', jti: 'key_1' };
  await verifier.verify(bearer(key));
  issuer.revoke({ kind: 'token', id: 'before' }, 'a position of the first');
  await until(() => verifier.metrics().revocations === 1);
  const created = Math.ceil(Date.now() / 1000) + 1;
  const created_at = new Date(created * 1000).toISOString();
  const again = { data: [{ id: 'rsr_2', identifier: AUDIENCE, created_at }] };
  issuer.instead.set(FEED, fails(404));
  issuer.instead.set('/api/v1/resources', (_request, response) => void response.end(JSON.stringify(again)));
  const second = FEED.replace('rsr_1', 'rsr_2');
  issuer.instead.set(second, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(issuer.greeting);
  });
  for (const stream of issuer.streams) stream.end();
  await until(() => states.length === 3);
  t.strictSame(states, ['connected', 'refused', 'connected'], 'at once');
  await t.rejects(verifier.verify(old), REVOKED, 'a token of the first registration');
  issuer.introspection[key] = { active: false };
  await t.rejects(verifier.verify(bearer(key)), { message: 'The API key is not valid.' }, 'nor a key');
  const young = await tokenOfNow({ iss: issuer.url, iat: created, jti: 'young' });
  t.match(await verifier.verify(bearer(young)), { subject: 'usr_1' });
  const request = issuer.requests.find(({ path }) => path === second);
  t.equal(request?.headers['last-event-id'], undefined);
});

t.test('Retry-After is kept to', async (t) => {
  const issuer = await startIssuer(t);
  issuer.instead.set(
    FEED,
    (_request, response) => void response.writeHead(503, { 'retry-after': '1' }).end(),
  );
  verifierOf(t, issuer);
  await sleep(800);
  t.equal(issuer.count(FEED), 1);
  issuer.instead.delete(FEED);
  await until(() => issuer.count(FEED) === 2);
  t.equal(issuer.count(FEED), 2);
});

t.test('an API key is cached until something is revoked that concerns it', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  const key = apiKey('k3Y');
  const response = {
    active: true,
    aud: AUDIENCE,
    client_id: 'cli_7',
    jti: 'key_1',
    owner: 'usr_9',
    scope: 'a b',
  };
  issuer.introspection[key] = response;
  const verify = () => verifier.verify(bearer(key));
  t.match(await verify(), { subject: 'cli_7', kind: 'key', scopes: ['a', 'b'], claims: { jti: 'key_1' } });
  await verify();
  t.equal(issuer.count('/introspect'), 1);
  let asked = 1;
  const entries = { token: 'key_1', client: 'cli_7', subject: 'usr_9', grant: 'key_1' };
  for (const [kind, id] of Object.entries(entries)) {
    const { revocations } = verifier.metrics();
    issuer.revoke({ kind, id });
    await until(() => verifier.metrics().revocations > revocations);
    await verify();
    await verify();
    asked += kind === 'grant' ? 0 : 1;
    t.equal(issuer.count('/introspect'), asked, kind);
  }
  issuer.introspection[key] = { active: false };
  issuer.revoke({ kind: 'token', id: 'key_1' });
  await until(() => verifier.metrics().revocations > 4);
  await t.rejects(verify(), { status: 401, message: 'The API key is not valid.' });
});

t.test('a response that was on its way when the key was revoked', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  await verifier.verify(bearer(await signed(issuer)));
  const key = apiKey('k3Y');
  const active = { active: true, aud: AUDIENCE, client_id: 'cli_7', jti: 'key_1' };
  let finish = () => {};
  issuer.instead.set('/introspect', (_request, response) => {
    finish = () => void response.end(JSON.stringify(active));
  });
  const verified = verifier.verify(bearer(key));
  await until(() => issuer.count('/introspect') === 1);
  issuer.revoke({ kind: 'token', id: 'key_1' });
  await until(() => verifier.metrics().revocations > 0);
  issuer.instead.delete('/introspect');
  finish();
  await t.rejects(verified, { status: 401, message: 'The API key is not valid.' });
  t.equal(issuer.count('/introspect'), 2);
});

t.test('many tokens and keys of strangers cost few requests', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  const [header = '', payload = ''] = (await signed(issuer)).split('.');
  const random = () => crypto.randomUUID().replaceAll('-', '');
  for (let i = 0; i < 20_000; i += 1) {
    const unknown = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: random() })).toString(
      'base64url',
    );
    const token =
      i % 3 === 0
        ? `gatehouse_${random()}${random()}`.slice(0, 70)
        : `${i % 3 === 1 ? header : unknown}.${payload}.${random()}${random()}`;
    await verifier.verify(bearer(token)).catch(() => {});
  }
  t.ok(issuer.requests.length < 100, `${issuer.requests.length} requests`);
});

t.test('the keys are rotated without a failed request', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  const cached = bearer(await signed(issuer));
  await verifier.verify(cached);
  await pass(t, 2);
  const next = { ...STRANGER, kid: 'next' };
  const now = Math.floor(Date.now() / 1000);
  const token = await sign({ iss: issuer.url, iat: now, exp: now + 600 }, {}, next);
  const { kty, crv, x, y } = next;
  const jwks = { keys: [{ kty, crv, x, y, kid: 'next', alg: 'ES256' }] };
  issuer.instead.set('/jwks', (_request, response) => void response.end(JSON.stringify(jwks)));
  t.match(await verifier.verify(bearer(token)), { subject: 'usr_1' });
  await t.rejects(
    verifier.verify(cached),
    { message: 'The access token is not valid.' },
    'of the previous key',
  );
});

t.test('a withdrawn signing key is refused while it is still cached', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  const token = await signed(issuer);
  await verifier.verify(bearer(token));
  issuer.revoke({ kind: 'key', id: 'es' });
  await until(() => verifier.metrics().revocations > 0);
  await t.rejects(verifier.verify(bearer(token)), REVOKED);
  await t.rejects(verifier.verify(bearer(await signed(issuer, { jti: 'forged' }))), REVOKED);
});

t.test('requests share a caller, which cannot be changed', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer);
  const key = apiKey('1');
  const client_id = 'app_1';
  issuer.introspection[key] = { active: true, aud: [AUDIENCE], client_id, scope: 'notes:read' };
  for (const token of [await signed(issuer, { act: { sub: 'app_2' } }), key]) {
    const caller = await verifier.verify(bearer(token));
    t.equal(await verifier.verify(bearer(token)), caller);
    t.throws(() => (caller.scopes as string[]).push('notes:write'), TypeError);
    t.throws(() => Object.assign(caller, { subject: 'usr_2' }), TypeError);
    t.throws(() => Object.assign(caller.claims.act ?? caller.claims.aud ?? {}, { sub: 'usr_2' }), TypeError);
  }
});

t.test('without credentials it says that revocation is not checked', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier, states } = verifierOf(t, issuer, { clientId: undefined, clientSecret: undefined });
  t.strictSame(states, ['unchecked']);
  t.match(await verifier.verify(bearer(await signed(issuer))), { subject: 'usr_1' });
  t.equal(issuer.count('/api/'), 0);
  t.equal(verifier.metrics().behindSeconds, undefined);
});

t.test('Gatehouse is away', async (t) => {
  const issuer = await startIssuer(t);
  const { verifier } = verifierOf(t, issuer, { clientId: undefined, clientSecret: undefined });
  issuer.instead.set('/.well-known/oauth-authorization-server', fails(500));
  const token = await signed(issuer);
  await t.rejects(verifier.verify(bearer(token)), {
    status: 503,
    message: 'The keys for verifying access tokens cannot be fetched at the moment.',
    headers: { 'retry-after': '5' },
  });
  issuer.instead.clear();
  t.match(await verifier.verify(bearer(token)), { subject: 'usr_1' });
  issuer.instead.set('/.well-known/oauth-authorization-server', (_request, response) => {
    response.end(JSON.stringify({ issuer: 'https://other.example', jwks_uri: `${issuer.url}/jwks` }));
  });
  const other = verifierOf(t, issuer, { clientId: undefined, clientSecret: undefined });
  await t.rejects(
    other.verifier.verify(bearer(token)),
    { message: /cannot be fetched/ },
    'the metadata of another issuer',
  );
});

t.test('the endpoints of an https issuer', async (t) => {
  const issuer = 'https://id.example.com';
  const good = {
    issuer,
    jwks_uri: 'https://keys.example.net/jwks',
    introspection_endpoint: `${issuer}/introspect`,
  };
  const find = (metadata: object) =>
    createDiscovery({ issuer, fetch: async () => Response.json(metadata) }).url('jwks_uri');
  t.equal(await find(good), good.jwks_uri, 'another origin');
  for (const name of ['jwks_uri', 'introspection_endpoint']) {
    await t.rejects(find({ ...good, [name]: 'http://id.example.com/it' }), /not https/, name);
  }
});

const BAD: [label: string, options: object, message: RegExp][] = [
  ['no issuer', { issuer: 'gatehouse' }, /issuer/],
  ['a slash', { issuer: 'https://id.example.com/' }, /slash/],
  ['an audience that is no URL', { audience: 'notes' }, /audience/],
  ['an ID alone', { clientId: 'a' }, /together/],
  ['a secret alone', { clientSecret: 'a' }, /together/],
  ['an origin with a path', { origins: ['https://api.example.com/notes'] }, /origins/],
  ['an origin of another scheme', { origins: ['ftp://api.example.com'] }, /origins/],
  ['no list of origins', { origins: [''] }, /origins/],
  ['an unknown policy', { stale: { then: 'ignore' } }, /stale/],
];

t.test('options that are wrong', async (t: Test) => {
  const good = { issuer: 'https://id.example.com', audience: AUDIENCE };
  for (const [label, options, message] of BAD) {
    t.throws(() => createVerifier({ ...good, ...options } as VerifierOptions), message, label);
  }
});

t.test('behind a proxy', async (t) => {
  const issuer = await startIssuer(t);
  const bound = await signed(issuer, { cnf: { jkt: await thumbprint() } });
  const verify = async (options: Partial<VerifierOptions>, url: string, headers = {}) => {
    const { verifier } = verifierOf(t, issuer, options);
    const dpop = await proof({ token: bound, url }, { iat: Math.floor(Date.now() / 1000) });
    const all = { host: '10.0.0.7:8080', authorization: `DPoP ${bound}`, dpop, ...headers };
    return verifier.verify({ method: 'GET', url: '/notes/7?x=1', headers: all, socket: {} });
  };
  const forwarded = { 'x-forwarded-proto': 'https, http', 'x-forwarded-host': 'api.example.net, proxy' };
  const outside = 'https://api.example.net/notes/7';
  const origins = ['https://notes.example.com'];
  t.match(await verify({}, `${AUDIENCE}/7`, forwarded), { subject: 'usr_1' });
  t.match(await verify({ trustProxy: true }, outside, forwarded), { subject: 'usr_1' });
  const message = "The DPoP proof's htu is not the request's URL.";
  await t.rejects(verify({}, outside, forwarded), { message }, 'forwarded headers of an untrusted client');
  await t.rejects(verify({ trustProxy: true, origins }, outside, forwarded), { message }, 'origins win');
  await t.rejects(verify({ trustProxy: true }, outside, { ...forwarded, 'x-forwarded-host': '%' }), {
    message,
  });
});

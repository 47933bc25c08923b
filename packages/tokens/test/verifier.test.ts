import { createHmac, KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceError } from '@gatehouse/core/errors';
import { createRevocationSet, type Revocation } from '@gatehouse/tokens/revocations';
import { createTokenVerifier, type KeyGetter, type VerifierOptions } from '@gatehouse/tokens/verifier';
import {
  CompactSign,
  type CryptoKey,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';
import t, { type Test } from 'tap';
import { pass } from './callers.ts';

const ISSUER = 'https://id.example.com';
const AUDIENCE = `${ISSUER}/api`;
const NOW = Math.floor(Date.now() / 1000);
const HOUR = 3600;

type Claims = Record<string, unknown>;
type Key = { kid: string; alg: string; privateKey: CryptoKey; publicKey: CryptoKey };

const CLAIMS: Claims = {
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'usr_1',
  client_id: 'cli_1',
  iat: NOW - 10,
  exp: NOW + HOUR,
  jti: 'jti_1',
  scope: 'openid read:users',
  roles: ['editor'],
};

async function makeKey(kid: string, alg = 'ES256'): Promise<Key> {
  return { kid, alg, ...(await generateKeyPair(alg, { extractable: true })) };
}

const ours = await makeKey('ours');
const foreign = await makeKey('foreign');

/** A token of the claims changed so (undefined takes one away); by default as the issuer signs it. */
async function sign(change: Claims = {}, key: Key = ours, header: Partial<JWTHeaderParameters> = {}) {
  const claims = JSON.parse(JSON.stringify({ ...CLAIMS, ...change }));
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
    .sign(key.privateKey, { crit: { x: false } });
}

const UNAUTHENTICATED = { name: 'ServiceError', kind: 'unauthenticated' };
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** An issuer's keys, over HTTP; what it serves can be changed. */
async function publish(t: Test, keys: Key[]) {
  const published = {
    uri: '',
    keys,
    fetches: 0,
    response: (async (_request, response) => {
      const all = published.keys.map(async ({ kid, alg, publicKey }) => {
        return { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
      });
      response.setHeader('content-type', 'application/jwk-set+json');
      response.end(JSON.stringify({ keys: await Promise.all(all) }));
    }) as RequestListener,
  };
  const server = createServer((request, response) => {
    published.fetches += 1;
    published.response(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  published.uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return published;
}

type Options = { revocations?: ReturnType<typeof createRevocationSet>; cacheSize?: number; jwksUri?: string };

async function setUp(t: Test, options: Options = {}, keys: Key[] = [ours]) {
  const published = await publish(t, keys);
  const verifier = createTokenVerifier({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwksUri: published.uri,
    ...options,
  });
  return { verifier, published };
}

t.test('a token that holds', async (t) => {
  const { verifier, published } = await setUp(t);
  const caller = {
    subject: 'usr_1',
    clientId: 'cli_1',
    scopes: new Set(['openid', 'read:users']),
    person: { id: 'usr_1', role: 'editor' },
    expiresAt: NOW + HOUR,
    issuedAt: NOW - 10,
    tokenId: 'jti_1',
    grantId: undefined,
    keyId: undefined,
    actor: undefined,
    keyThumbprint: undefined,
    profiles: {},
    epoch: { client: 0, subject: 0 },
    authTime: undefined,
  };
  const token = await sign();
  t.strictSame(await verifier.verify(token), caller);
  t.strictSame(await verifier.verify(token), caller, 'again');
  t.strictSame(
    await verifier.verify(await sign({ jti: 'jti_2' })),
    { ...caller, tokenId: 'jti_2' },
    'another one',
  );
  t.equal(published.fetches, 1, 'the keys are fetched once');
});

const VARIANTS: [label: string, change: Claims, header: Partial<JWTHeaderParameters>][] = [
  ['several audiences', { aud: ['https://other.example', AUDIENCE] }, {}],
  ['the long form of the type', {}, { typ: 'application/at+jwt' }],
  ['the type in upper case', {}, { typ: 'AT+JWT' }],
  ['begun', { nbf: NOW - 1 }, {}],
  ['more claims than needed', { azp: 'cli_1', profiles: 'A', x: { y: 1 } }, {}],
];

t.test('forms of a token that hold as well', async (t) => {
  const { verifier } = await setUp(t);
  for (const [label, change, header] of VARIANTS) {
    t.match(await verifier.verify(await sign(change, ours, header)), { subject: 'usr_1' }, label);
  }
  const keys = await Promise.all(['ES256', 'RS256', 'PS256', 'EdDSA'].map((alg) => makeKey(`k-${alg}`, alg)));
  const several = await setUp(t, {}, keys);
  for (const key of keys) {
    t.match(await several.verifier.verify(await sign({}, key)), { subject: 'usr_1' }, key.alg);
  }
});

async function failure(verified: Promise<unknown>): Promise<unknown> {
  try {
    return await verified;
  } catch (error) {
    const { kind, message, headers } = error as ServiceError;
    return { kind, message, headers };
  }
}

t.test('a token that does not hold', async (t) => {
  const es384 = await makeKey('es384', 'ES384');
  const begun = performance.now();
  const { verifier, published } = await setUp(t, {}, [ours, es384]);
  const good = await sign();
  await verifier.verify(good);
  const [header = '', payload = '', signature = ''] = good.split('.');

  const hmac = (secret: string | Buffer, kid: string) => {
    const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${encode(CLAIMS)}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  const publicKey = KeyObject.from(ours.publicKey);
  const spki = { type: 'spki', format: 'der' } as const;
  const unsigned = (alg: string) => `${encode({ alg, typ: 'at+jwt', kid: 'ours' })}.${payload}.`;
  const own = { ...foreign, kid: 'ours' };
  const embedded = { jwk: await exportJWK(foreign.publicKey), jku: 'http://127.0.0.1:1/' };

  const INVALID = 'The access token is not valid.';
  const EXPIRED = 'The access token has expired.';
  const not = (claim: string) => `The access token's ${claim} is not accepted here.`;
  const CASES: [label: string, token: string, message: string][] = [
    ['nothing', '', INVALID],
    ['a word', 'token', INVALID],
    ['an API key', 'gatehouse_0123456789abcdef0123456789', INVALID],
    ['dots', '..', INVALID],
    ['a part too few', `${header}.${payload}`, INVALID],
    ['a part too many', `${good}.${signature}`, INVALID],
    ['a header that is no JSON', `e30x.${payload}.${signature}`, INVALID],
    ['a header that is a list', `${encode([])}.${payload}.${signature}`, INVALID],
    ['a header without an algorithm', `${encode({})}.${payload}.${signature}`, INVALID],
    ['a payload that is a list', await signRaw([]), INVALID],
    ['a payload that is null', await signRaw(null), INVALID],
    ['no signature', `${header}.${payload}.`, INVALID],
    ['half a signature', `${header}.${payload}.${signature.slice(0, 43)}`, INVALID],
    ['another payload', `${header}.${encode({ ...CLAIMS, roles: ['admin'] })}.${signature}`, INVALID],
    [
      'another header',
      `${encode({ alg: 'ES256', kid: 'ours', typ: 'at+jwt', x: 1 })}.${payload}.${signature}`,
      INVALID,
    ],
    [
      'no kid, by which its key could be withdrawn',
      await sign({}, ours, { kid: undefined as never }),
      INVALID,
    ],
    ['signed by a stranger', await sign({}, foreign), INVALID],
    ['signed by a stranger under our kid', await sign({}, own), INVALID],
    ['with the key to verify it', await sign({}, own, embedded), INVALID],
    ['a critical extension', await sign({}, ours, { crit: ['x'], x: 1 }), INVALID],
    ['none', unsigned('none'), INVALID],
    ['None', unsigned('None'), INVALID],
    ['an empty algorithm', unsigned(''), INVALID],
    [
      'the public key as a shared secret, PEM',
      hmac(publicKey.export({ type: 'spki', format: 'pem' }), 'ours'),
      INVALID,
    ],
    ['the public key as a shared secret, DER', hmac(publicKey.export(spki), 'ours'), INVALID],
    [
      'the public key as a shared secret, JWK',
      hmac(encode(await exportJWK(ours.publicKey)), 'ours'),
      INVALID,
    ],
    ['another algorithm than ours', await sign({}, es384), INVALID],
    ['expired', await sign({ exp: NOW - 1 }), EXPIRED],
    ['expired in this second', await sign({ exp: NOW }), EXPIRED],
    ['not yet', await sign({ nbf: NOW + HOUR }), not('nbf')],
    ['of another issuer', await sign({ iss: 'https://id.example.net' }), not('iss')],
    ['of an issuer with a slash', await sign({ iss: `${ISSUER}/` }), not('iss')],
    ['for another audience', await sign({ aud: `${ISSUER}/internal` }), not('aud')],
    ['for other audiences', await sign({ aud: ['a', 'b'] }), not('aud')],
    ['an ID token', await sign({}, ours, { typ: 'JWT' }), not('typ')],
    ['without a type', await sign({}, ours, { typ: undefined as never }), not('typ')],
    ['a logout token', await sign({}, ours, { typ: 'logout+jwt' }), not('typ')],
    ...(await Promise.all(
      ['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id'].map(
        async (claim): Promise<[string, string, string]> => [
          `no ${claim}`,
          await sign({ [claim]: undefined }),
          not(claim),
        ],
      ),
    )),
    ['exp as a text', await sign({ exp: String(NOW + HOUR) }), not('exp')],
    ['nbf as a text', await sign({ nbf: 'never' }), not('nbf')],
    ['sub as a number', await sign({ sub: 1 }), INVALID],
    ['client_id as a list', await sign({ client_id: ['cli_1'] }), INVALID],
    ['a machine without an owner', await sign({ sub: 'cli_1' }), INVALID],
    ['a machine with a strange owner', await sign({ sub: 'cli_1', owner: { id: 'usr_1' } }), INVALID],
    ['jti as a number', await sign({ jti: 1 }), INVALID],
    ['gid as a number', await sign({ gid: 1 }), INVALID],
    ['epochs as texts', await sign({ epoch: { client: '1', subject: 1 } }), INVALID],
    ['an epoch of the person as a text', await sign({ epoch: { client: 1, subject: '1' } }), INVALID],
    ['bound in an unknown way', await sign({ cnf: { 'x5t#S256': 'a' } }), INVALID],
    ['bound to nothing', await sign({ cnf: null }), INVALID],
    ['a machine that is trusted as a text', await sign({ sub: 'cli_1', trusted: 'true' }), INVALID],
  ];

  async function signRaw(value: unknown): Promise<string> {
    return new CompactSign(Buffer.from(JSON.stringify(value)))
      .setProtectedHeader({ alg: 'ES256', kid: 'ours', typ: 'at+jwt' })
      .sign(ours.privateKey);
  }

  const headers = { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_token"' };
  for (const [label, token, message] of CASES) {
    const expected = { kind: 'unauthenticated', message, headers };
    t.strictSame(await failure(verifier.verify(token)), expected, label);
    t.strictSame(await failure(verifier.verify(token)), expected, `${label}, again`);
  }
  const seconds = (performance.now() - begun) / 1000;
  t.ok(published.fetches <= 1 + seconds, 'strange tokens make it fetch the keys once a second at most');
  t.match(await verifier.verify(good), { subject: 'usr_1' });
});

const CALLERS: [label: string, change: Claims, expected: Claims][] = [
  ['a person', {}, { subject: 'usr_1', person: { id: 'usr_1', role: 'editor' } }],
  ['an admin', { roles: ['admin'] }, { person: { id: 'usr_1', role: 'admin' } }],
  ['no roles', { roles: undefined }, { person: { id: 'usr_1', role: 'user' } }],
  ['unknown roles', { roles: ['owner', 7, null] }, { person: { id: 'usr_1', role: 'user' } }],
  ['roles that are no list', { roles: 'admin' }, { person: { id: 'usr_1', role: 'user' } }],
  [
    'several roles: the highest',
    { roles: ['user', 'admin', 'editor'] },
    { person: { id: 'usr_1', role: 'admin' } },
  ],
  ['a known role among others', { roles: ['owner', 'admin'] }, { person: { id: 'usr_1', role: 'admin' } }],
  [
    'a person is never trusted like a machine',
    { trusted: true },
    { person: { id: 'usr_1', role: 'editor' } },
  ],
  ['a person has no owner', { owner: 'usr_9' }, { person: { id: 'usr_1', role: 'editor' } }],
  [
    'a machine with an owner',
    { sub: 'cli_1', owner: 'usr_9' },
    { subject: 'cli_1', clientId: 'cli_1', person: { id: 'usr_9', role: 'editor' } },
  ],
  ['a trusted machine', { sub: 'cli_1', trusted: true }, { subject: 'cli_1', person: undefined }],
  ['a trusted machine with an owner', { sub: 'cli_1', trusted: true, owner: 'usr_9' }, { person: undefined }],
  ['no scope', { scope: undefined }, { scopes: new Set() }],
  ['an empty scope', { scope: '' }, { scopes: new Set() }],
  ['a scope that is a list', { scope: ['read:all'] }, { scopes: new Set() }],
  [
    'all that can be revoked',
    { gid: 'gra_1', epoch: { client: 3, subject: 4 } },
    { tokenId: 'jti_1', grantId: 'gra_1', epoch: { client: 3, subject: 4 } },
  ],
  ['no epoch of a person', { epoch: { client: 3 } }, { epoch: { client: 3, subject: 0 } }],
  ['pinned profiles', { profiles: { v1_users: 'E', items: 7 } }, { profiles: { v1_users: 'E' } }],
  ['bound to a key', { cnf: { jkt: 'thumb' } }, { keyThumbprint: 'thumb' }],
  ['signed in at', { auth_time: NOW - 60 }, { authTime: NOW - 60 }],
];

t.test('who a token stands for', async (t) => {
  const { verifier } = await setUp(t);
  for (const [label, change, expected] of CALLERS) {
    const caller: Claims = await verifier.verify(await sign(change));
    t.strictSame(Object.fromEntries(Object.keys(expected).map((key) => [key, caller[key]])), expected, label);
  }
});

t.test('a token expires in the cache too', async (t) => {
  const { verifier } = await setUp(t);
  const token = await sign();
  await verifier.verify(token);
  await pass(t, HOUR - 60);
  t.match(await verifier.verify(token), { subject: 'usr_1' });
  await pass(t, 61);
  const expired = { kind: 'unauthenticated', message: 'The access token has expired.' };
  await t.rejects(verifier.verify(token), expired);
});

t.test('a key that is new', async (t) => {
  const { verifier, published } = await setUp(t);
  await verifier.verify(await sign());
  const next = await makeKey('next');
  const token = await sign({}, next);
  await t.rejects(verifier.verify(token), UNAUTHENTICATED, 'not published yet');
  published.keys = [next, ours];
  await pass(t, 2);
  t.match(await verifier.verify(token), { subject: 'usr_1' }, 'the keys are fetched again');
  t.match(await verifier.verify(await sign({ jti: 'a' })), { subject: 'usr_1' }, 'the old key still holds');
  t.equal(published.fetches, 2);

  published.keys = [next];
  await pass(t, HOUR / 2);
  await t.rejects(verifier.verify(await sign({ jti: 'b' })), UNAUTHENTICATED, 'until it is gone');
});

t.test('many tokens at once fetch the keys once', async (t) => {
  const { verifier, published } = await setUp(t);
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => sign({ jti: `jti_${i}` })));
  await Promise.all([...tokens, ...tokens].map((token) => verifier.verify(token)));
  t.equal(published.fetches, 1);
});

const AWAY: [label: string, reply: RequestListener][] = [
  ['an error', (_request, response) => void response.writeHead(500).end('{}')],
  ['not found', (_request, response) => void response.writeHead(404).end('{"keys":[]}')],
  ['no JSON', (_request, response) => void response.end('<html>')],
  ['no keys in it', (_request, response) => void response.end('{"status":"starting"}')],
  ['a cut connection', (request) => void request.socket.destroy()],
  [
    'half an answer',
    (_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"keys":');
      response.destroy();
    },
  ],
  ['silence', () => {}],
];

t.test('the keys cannot be had', async (t) => {
  const token = await sign();
  const unavailable = {
    name: 'ServiceError',
    kind: 'unavailable',
    status: 503,
    headers: { 'retry-after': '1' },
  };
  // All at once: for silence it waits 3 s.
  const cases = AWAY.map(async ([label, reply]) => {
    const { verifier, published } = await setUp(t);
    const serving = published.response;
    published.response = reply;
    await t.rejects(verifier.verify(token), unavailable, label);
    published.response = serving;
    t.match(await verifier.verify(token), { subject: 'usr_1' }, `${label}: it recovers by itself`);
  });
  await Promise.all(cases);

  const nobody = createServer().listen(0, '127.0.0.1');
  await once(nobody, 'listening');
  const jwksUri = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}/`;
  nobody.close();
  await once(nobody, 'close');
  const { verifier } = await setUp(t, { jwksUri });
  await t.rejects(verifier.verify(token), unavailable, 'nobody listens');
});

t.test('keys that were loaded before the first token', async (t) => {
  const { verifier, published } = await setUp(t);
  await verifier.loadKeys();
  published.response = (request) => void request.socket.destroy();
  t.match(await verifier.verify(await sign()), { subject: 'usr_1' });
  await t.rejects(verifier.loadKeys(), 'when they cannot be fetched');
});

t.test('the cache keeps so many tokens, the newest', async (t) => {
  const { verifier, published } = await setUp(t, { cacheSize: 3 });
  const tokens = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((jti) => sign({ jti })));
  for (const token of tokens) await verifier.verify(token);
  // By now the keys must be fetched again for what is not in the cache, and cannot be.
  published.response = (request) => void request.socket.destroy();
  await pass(t, HOUR / 2);
  const kept: boolean[] = [];
  for (const token of tokens) {
    kept.push(
      await verifier.verify(token).then(
        () => true,
        (error) => error.kind !== 'unavailable',
      ),
    );
  }
  t.strictSame(kept, [false, false, true, true, true]);
});

const OTHER: Claims = { jti: 'other', sub: 'usr_2', client_id: 'cli_2', gid: 'gra_2' };
const EPOCHS = { epoch: { client: 5, subject: 7 }, gid: 'gra_1' };
const MACHINE = { ...EPOCHS, sub: 'cli_1' };
const REVOCATIONS: [label: string, change: Claims, entry: Omit<Revocation, 'expiresAt'>, isDead: boolean][] =
  [
    ['its jti', EPOCHS, { kind: 'token', id: 'jti_1' }, true],
    ['another jti', EPOCHS, { kind: 'token', id: 'jti_2' }, false],
    ['its grant', EPOCHS, { kind: 'grant', id: 'gra_1' }, true],
    ['another grant', EPOCHS, { kind: 'grant', id: 'gra_9' }, false],
    ['a grant, of a token without one', { gid: undefined }, { kind: 'grant', id: 'undefined' }, false],
    ['its key', EPOCHS, { kind: 'key', id: 'ours' }, true],
    ['another key', EPOCHS, { kind: 'key', id: 'foreign' }, false],
    ['an API key of the name', EPOCHS, { kind: 'api_key', id: 'jti_1' }, false],
    ['its client, a lower epoch', EPOCHS, { kind: 'client', id: 'cli_1', epoch: 4 }, false],
    ['its client, the same epoch', EPOCHS, { kind: 'client', id: 'cli_1', epoch: 5 }, false],
    ['its client, a higher epoch', EPOCHS, { kind: 'client', id: 'cli_1', epoch: 6 }, true],
    ['its client, any epoch', EPOCHS, { kind: 'client', id: 'cli_1' }, true],
    ['its client, a token without epochs', {}, { kind: 'client', id: 'cli_1', epoch: 1 }, true],
    ['another client', EPOCHS, { kind: 'client', id: 'usr_1', epoch: 99 }, false],
    ['its subject, a lower epoch', EPOCHS, { kind: 'subject', id: 'usr_1', epoch: 6 }, false],
    ['its subject, the same epoch', EPOCHS, { kind: 'subject', id: 'usr_1', epoch: 7 }, false],
    ['its subject, a higher epoch', EPOCHS, { kind: 'subject', id: 'usr_1', epoch: 8 }, true],
    ['another subject', EPOCHS, { kind: 'subject', id: 'cli_1', epoch: 99 }, false],
    ['its owner', { ...MACHINE, owner: 'usr_9' }, { kind: 'subject', id: 'usr_9', epoch: 8 }, true],
    [
      'its owner, the same epoch',
      { ...MACHINE, owner: 'usr_9' },
      { kind: 'subject', id: 'usr_9', epoch: 7 },
      false,
    ],
    [
      'the owner of a trusted machine',
      { ...MACHINE, owner: 'usr_9', trusted: true },
      { kind: 'subject', id: 'usr_9', epoch: 8 },
      false,
    ],
  ];

t.test('what is revoked is dead, known or new', async (t) => {
  const revoked = { kind: 'unauthenticated', message: 'The access token has been revoked.' };
  for (const [label, change, entry, isDead] of REVOCATIONS) {
    const revocations = createRevocationSet();
    const { verifier } = await setUp(t, { revocations }, [ours, foreign]);
    const token = await sign(change);
    const other = await sign(OTHER, foreign);
    await verifier.verify(token);
    await verifier.verify(other);
    revocations.add({ ...entry, expiresAt: NOW + HOUR });
    const outcome = (given: string) =>
      verifier.verify(given).then(
        () => false,
        (error) => error,
      );
    const outcomes = [
      await outcome(token),
      await outcome(token),
      await outcome(await sign({ ...change, iat: NOW })),
    ];
    for (const result of outcomes) {
      if (isDead) t.match(result, revoked, label);
      else t.equal(result, false, label);
    }
    if (entry.id !== 'foreign') t.equal(await outcome(other), false, `${label}: others live`);
  }
});

t.test('a withdrawn key makes it fetch the keys again', async (t) => {
  const revocations = createRevocationSet();
  const { verifier, published } = await setUp(t, { revocations });
  await verifier.verify(await sign());
  const next = await makeKey('next');
  published.keys = [next];
  revocations.add({ kind: 'key', id: 'ours', expiresAt: NOW + HOUR });
  revocations.add({ kind: 'key', id: 'ours', expiresAt: NOW + HOUR });
  t.match(await verifier.verify(await sign({}, next)), { subject: 'usr_1' }, 'within the cooldown, too');
  await t.rejects(verifier.verify(await sign({ jti: 'a' })), UNAUTHENTICATED, 'the old key is gone');
  t.equal(published.fetches, 2, 'once');

  published.response = (request) => void request.socket.destroy();
  revocations.add({ kind: 'key', id: 'third', expiresAt: NOW + HOUR });
  t.match(
    await verifier.verify(await sign({ jti: 'b' }, next)),
    { subject: 'usr_1' },
    'else the keys at hand serve',
  );
});

t.test('the issuer itself verifies with its keys at hand', async (t) => {
  const jwksOf = async ({ publicKey, kid, alg }: Key) =>
    createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid, alg }] });
  let current = await jwksOf(ours);
  const keys: KeyGetter = (header, token) => current(header, token);
  const options: VerifierOptions = { issuer: ISSUER, audience: AUDIENCE, keys };
  const verifier = createTokenVerifier(options);
  t.match(await verifier.verify(await sign()), { subject: 'usr_1' });
  await t.rejects(verifier.verify(await sign({}, foreign)), UNAUTHENTICATED, 'not published');
  current = await jwksOf(foreign);
  t.match(await verifier.verify(await sign({}, foreign)), { subject: 'usr_1' }, 'after the swap');
  await t.rejects(verifier.verify(await sign({ jti: 'a' })), UNAUTHENTICATED);
  const failing = createTokenVerifier({ ...options, keys: () => Promise.reject(new Error('no database')) });
  await t.rejects(failing.verify(await sign()), { name: 'ServiceError', kind: 'unavailable' });
});

t.test('only a token that is not known yet must be admitted', async (t) => {
  const { verifier, published } = await setUp(t);
  let asked = 0;
  const refuse = async () => {
    asked += 1;
    throw new Error('over quota');
  };
  const token = await sign();
  await t.rejects(verifier.verify(token, refuse), { message: 'over quota' });
  t.equal(published.fetches, 0, 'and is not looked at before');
  await verifier.verify(token, async () => {});
  t.match(await verifier.verify(token, refuse), { subject: 'usr_1' });
  t.equal(asked, 1);
});

t.test('what a check costs', async (t) => {
  const { verifier } = await setUp(t);
  const tokens = await Promise.all(Array.from({ length: 200 }, (_, i) => sign({ jti: `jti_${i}` })));
  await verifier.verify(await sign());
  const microseconds = async () => {
    const begin = performance.now();
    for (const token of tokens) await verifier.verify(token);
    return Math.round(((performance.now() - begin) * 1000) / tokens.length);
  };
  const first = await microseconds();
  const cached = await microseconds();
  t.comment(`a new token ${first} µs, a known one ${cached} µs`);
  t.pass('measured, not judged');
});

import { createHmac, KeyObject } from 'node:crypto';
import type { ServiceError } from '@gatehouse/core/errors';
import { createRevocationSet, type RevocationKind } from '@gatehouse/verify/revocations';
import { CompactSign, exportJWK, type JWTHeaderParameters } from 'jose';
import t from 'tap';
import { pass } from './callers.ts';
import {
  AUDIENCE,
  CLAIMS,
  type Claims,
  foreign,
  HOUR,
  ISSUER,
  makeKey,
  NOW,
  ours,
  setUp,
  sign,
} from './issuer.ts';

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

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
  const act = (sub: string, act?: object) => ({ sub, ...(act && { act }) });
  for (const [claim, named] of [
    [act('app_2', act('app_1')), { actor: undefined, actors: ['app_2', 'app_1'] }],
    [act('notifications'), { actor: 'notifications' }],
  ] as const) {
    t.strictSame(await verifier.verify(await sign({ act: claim })), { ...caller, ...named });
  }
  await t.rejects(
    verifier.verify(await sign({ act: act('app_1', {}) })),
    new Error('The access token is not valid.'),
  );
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
  ['signed in', { auth_time: NOW - 60, acr: 'phr' }, { authTime: NOW - 60, acr: 'phr' }],
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

t.test('revoked tokens are refused, known or new', async (t) => {
  const revoked = { kind: 'unauthenticated', message: 'The access token has been revoked.' };
  const revocations = createRevocationSet();
  const { verifier } = await setUp(t, { revocations }, [ours, foreign]);
  const entries: [kind: RevocationKind, id: string, claims: Claims][] = [
    ['token', 'revoked', { jti: 'revoked' }],
    ['grant', 'revoked', { gid: 'revoked' }],
    ['client', 'revoked', { client_id: 'revoked', epoch: { client: 5 } }],
    ['subject', 'revoked', { sub: 'revoked', epoch: { subject: 5 } }],
    ['subject', 'owner', { sub: 'cli_1', owner: 'owner', epoch: { subject: 5 } }],
    ['key', 'ours', {}],
  ];
  for (const [kind, id, claims] of entries) {
    const token = await sign(claims);
    const other = await sign({}, foreign);
    await verifier.verify(token);
    revocations.add({ kind, id, epoch: 6, expiresAt: NOW + HOUR });
    for (const dead of [token, token, await sign({ ...claims, iat: NOW })])
      await t.rejects(verifier.verify(dead), revoked, `${kind} ${id}`);
    t.match(await verifier.verify(other), { subject: 'usr_1' }, `${kind}: others live`);
  }
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

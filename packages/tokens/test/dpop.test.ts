import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceError } from '@gatehouse/core/errors';
import { createDpopVerifier, dpopUnauthenticated } from '@gatehouse/tokens/dpop';
import { exportJWK } from 'jose';
import t from 'tap';
import { pass } from './callers.ts';
import { makeProof, makeProofKey } from './proofs.ts';

const ORIGIN = 'https://id.example.com';
const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AZaz09-_';
const PATH = '/v1/users/a%20b?fields=name';
const URL_OF_PATH = `${ORIGIN}/v1/users/a%20b`;
const REQUEST = { method: 'GET', url: URL_OF_PATH, token: TOKEN };

const key = await makeProofKey();
const other = await makeProofKey();
const shown = { method: 'GET', path: PATH, token: TOKEN, keyThumbprint: key.thumbprint };
const NOW = Math.floor(Date.now() / 1000);

type Change = Record<string, unknown>;

const GOOD: [label: string, claims: Change, header?: Change][] = [
  ['as it should be', {}],
  ['made a little ago', { iat: NOW - 50 }],
  ['by a clock that is ahead', { iat: NOW + 50 }],
  ['with the query', { htu: `${URL_OF_PATH}?fields=name` }],
  ['with a fragment', { htu: `${URL_OF_PATH}#top` }],
  ['with the default port', { htu: `${ORIGIN}:443/v1/users/a%20b` }],
  ['scheme and host in capitals', { htu: 'HTTPS://ID.EXAMPLE.COM/v1/users/a%20b' }],
  ['escaped where it need not be', { htu: `${ORIGIN}/v%31/%75sers/a%20b` }],
  ['dot segments', { htu: `${ORIGIN}/v1/x/../users/./a%20b` }],
  ['more claims', { nonce: 'x', extra: 1 }],
  ['a public key with its use', {}, { jwk: { ...key.jwk, use: 'sig', alg: 'ES256' } }],
];

t.test('a proof that holds', async (t) => {
  const proofs = createDpopVerifier({ publicUrl: `${ORIGIN}/` });
  for (const [label, claims, header] of GOOD) {
    await proofs.verify({ ...shown, proof: await makeProof(key, REQUEST, claims, header) });
    t.pass(label);
  }
  for (const alg of ['ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256']) {
    const strong = await makeProofKey(alg);
    const proof = await makeProof(strong, REQUEST);
    await proofs.verify({ ...shown, proof, keyThumbprint: strong.thumbprint });
    t.pass(alg);
  }
  const local = createDpopVerifier({ publicUrl: 'http://localhost:3000' });
  const proof = await makeProof(key, { ...REQUEST, url: 'http://localhost:3000/v1/users/%c3%a4' });
  await local.verify({ ...shown, path: '/v1/users/%C3%A4', proof });
  t.pass('escapes in small letters');
});

async function rejectionOf(verified: Promise<void>): Promise<unknown> {
  return verified.then(
    () => 'taken',
    ({ kind, message, headers }: ServiceError) => ({ kind, message, headers }),
  );
}

t.test('a proof that does not hold', async (t) => {
  const proofs = createDpopVerifier({ publicUrl: ORIGIN });
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const good = await makeProof(key, REQUEST);
  const [header = '', payload = '', signature = ''] = good.split('.');
  const byHmac = (jwk: unknown) => {
    const signed = `${encode({ typ: 'dpop+jwt', alg: 'HS256', jwk })}.${payload}`;
    return `${signed}.${createHmac('sha256', 'secret').update(signed).digest('base64url')}`;
  };
  const oct = { kty: 'oct', k: Buffer.from('secret').toString('base64url') };
  const make = (claims: Change, changes: Change = {}, by = key) => makeProof(by, REQUEST, claims, changes);
  const NO_JWT = 'The DPoP proof is not a JWT signed with its own key.';
  const KEY = 'The DPoP proof was not made with the key that the access token is bound to.';
  const HTM = "The DPoP proof's htm is not the request's method.";
  const HTU = "The DPoP proof's htu is not the request's URL.";
  const ATH = "The DPoP proof's ath is not the token's.";
  const IAT = 'The DPoP proof was not made within 60 s of now.';
  const JTI = 'The DPoP proof needs a jti of at most 256 characters.';
  const CASES: [label: string, proof: string | undefined, message: string][] = [
    ['none', undefined, 'A DPoP proof is missing.'],
    ['an empty one', '', NO_JWT],
    ['a word', 'proof', NO_JWT],
    ['two', `${good}, ${good}`, NO_JWT],
    ['another type', await make({}, { typ: 'JWT' }), NO_JWT],
    ['no type', await make({}, { typ: undefined }), NO_JWT],
    ['no signature', `${header}.${payload}.`, NO_JWT],
    ['no algorithm', `${encode({ typ: 'dpop+jwt', alg: 'none', jwk: key.jwk })}.${payload}.`, NO_JWT],
    ['a shared secret', byHmac(oct), NO_JWT],
    ['a shared secret, with a public key', byHmac(key.jwk), NO_JWT],
    ['another payload', `${header}.${encode({ htm: 'POST' })}.${signature}`, NO_JWT],
    ['no key', await make({}, { jwk: undefined }), NO_JWT],
    ['a private key', await make({}, { jwk: await exportJWK(key.privateKey) }), NO_JWT],
    ['a key that is a text', await make({}, { jwk: 'key' }), NO_JWT],
    ['the key of another, unsigned by it', await make({}, { jwk: other.jwk }), NO_JWT],
    ['another key', await make({}, {}, other), KEY],
    ['another method', await make({ htm: 'POST' }), HTM],
    ['a method in small letters', await make({ htm: 'get' }), HTM],
    ['no method', await make({ htm: undefined }), HTM],
    ['another host', await make({ htu: 'https://id.example.net/v1/users/a%20b' }), HTU],
    ['another scheme', await make({ htu: URL_OF_PATH.replace('https', 'http') }), HTU],
    ['another port', await make({ htu: `${ORIGIN}:8443/v1/users/a%20b` }), HTU],
    ['another path', await make({ htu: `${ORIGIN}/v1/users/a` }), HTU],
    ['a slash too many', await make({ htu: `${URL_OF_PATH}/` }), HTU],
    ['a path in capitals', await make({ htu: `${ORIGIN}/V1/users/a%20b` }), HTU],
    ['an escaped slash', await make({ htu: `${ORIGIN}/v1%2Fusers/a%20b` }), HTU],
    ['with a user', await make({ htu: 'https://me@id.example.com/v1/users/a%20b' }), HTU],
    ['a path alone', await make({ htu: '/v1/users/a%20b' }), HTU],
    ['no URL', await make({ htu: undefined }), HTU],
    ['a list of URLs', await make({ htu: [URL_OF_PATH] }), HTU],
    ['of another token', await makeProof(key, { ...REQUEST, token: 'x' }), ATH],
    ['of no token', await make({ ath: undefined }), ATH],
    ['too old', await make({ iat: NOW - 70 }), IAT],
    ['too new', await make({ iat: NOW + 70 }), IAT],
    ['no time', await make({ iat: undefined }), IAT],
    ['no jti', await make({ jti: undefined }), JTI],
    ['an empty jti', await make({ jti: '' }), JTI],
    ['a jti that is a number', await make({ jti: 7 }), JTI],
    ['a jti that is too long', await make({ jti: 'a'.repeat(257) }), JTI],
  ];
  const algs = 'ES256 ES384 ES512 Ed25519 EdDSA PS256 RS256';
  const headers = {
    'www-authenticate': `DPoP realm="gatehouse", error="invalid_dpop_proof", algs="${algs}"`,
  };
  for (const [label, proof, message] of CASES) {
    const expected = { kind: 'unauthenticated', message, headers };
    t.strictSame(await rejectionOf(proofs.verify({ ...shown, proof })), expected, label);
  }
  await proofs.verify({ ...shown, proof: good });
  t.pass('none of them used up the good one');
});

t.test('a proof is taken once', async (t) => {
  const proofs = createDpopVerifier({ publicUrl: ORIGIN });
  const proof = await makeProof(key, REQUEST, { jti: 'once' });
  await proofs.verify({ ...shown, proof });
  const replayed = { name: 'ServiceError', message: 'The DPoP proof has been used before.' };
  await t.rejects(proofs.verify({ ...shown, proof }), replayed);
  const again = await makeProof(key, { ...REQUEST, method: 'POST' }, { jti: 'once' });
  await t.rejects(
    proofs.verify({ ...shown, method: 'POST', proof: again }),
    replayed,
    'its jti, whatever else',
  );
  const theirs = await makeProof(other, REQUEST, { jti: 'once' });
  await proofs.verify({ ...shown, proof: theirs, keyThumbprint: other.thumbprint });
  t.pass("another key's jti is another one");

  const race = await makeProof(key, REQUEST);
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, () => proofs.verify({ ...shown, proof: race })),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, 'of ten at once, too');

  const early = await makeProof(key, REQUEST, { jti: 'early', iat: NOW + 55 });
  await proofs.verify({ ...shown, proof: early });
  await pass(t, 100);
  await t.rejects(proofs.verify({ ...shown, proof: early }), replayed, 'for as long as it would pass');
});

t.test('a used proof is remembered by the wall clock', async (t) => {
  const proofs = createDpopVerifier({ publicUrl: ORIGIN });
  const proof = await makeProof(key, REQUEST);
  await proofs.verify({ ...shown, proof });
  // As when the wall clock is set back after a while.
  t.intercept(performance, 'now', { value: () => Number.MAX_SAFE_INTEGER });
  await sleep(2);
  await t.rejects(proofs.verify({ ...shown, proof }), { message: 'The DPoP proof has been used before.' });
});

t.test('a full cache drops the oldest proof, even if that was replayed', async (t) => {
  const proofs = createDpopVerifier({ publicUrl: ORIGIN, cacheSize: 2 });
  const [first = '', second = '', third = ''] = await Promise.all(
    ['1', '2', '3'].map((jti) => makeProof(key, REQUEST, { jti })),
  );
  const replayed = { message: 'The DPoP proof has been used before.' };
  await proofs.verify({ ...shown, proof: first });
  await proofs.verify({ ...shown, proof: second });
  await t.rejects(proofs.verify({ ...shown, proof: first }), replayed);
  await proofs.verify({ ...shown, proof: third });
  await t.rejects(proofs.verify({ ...shown, proof: second }), replayed);
  await t.rejects(proofs.verify({ ...shown, proof: third }), replayed);
});

t.test('the challenge', async (t) => {
  const { status, headers } = dpopUnauthenticated('Why.', 'invalid_token');
  t.equal(status, 401);
  t.match(
    headers['www-authenticate'],
    /^DPoP realm="gatehouse", error="invalid_token", algs="ES256 [\w ]+"$/,
  );
});

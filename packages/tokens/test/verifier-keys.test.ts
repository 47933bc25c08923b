import type { RequestListener } from 'node:http';
import { createTokenVerifier, type VerifierOptions } from '@gatehouse/tokens/verifier';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import type { KeyGetter } from '@gatehouse/verify/token-verifier';
import { createLocalJWKSet, exportJWK } from 'jose';
import t from 'tap';
import { pass } from './callers.ts';
import {
  AUDIENCE,
  foreign,
  HOUR,
  ISSUER,
  type Key,
  makeKey,
  NOW,
  ours,
  setUp,
  sign,
  UNAUTHENTICATED,
} from './issuer.ts';
import { nobody } from './servers.ts';

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

  const { verifier } = await setUp(t, { jwksUri: await nobody() });
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
  const { verifier } = await setUp(t, { cacheSize: 3 });
  const tokens = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((jti) => sign({ jti })));
  for (const token of tokens) await verifier.verify(token);
  const kept: boolean[] = [];
  for (const token of tokens) {
    let isKept = true;
    const stop = async () => {
      isKept = false;
      throw new Error('not kept');
    };
    await verifier.verify(token, stop).catch(() => {});
    kept.push(isKept);
  }
  t.strictSame(kept, [false, false, true, true, true]);
});

t.test('the known keys remain in use while they cannot be fetched', async (t) => {
  const { verifier, published } = await setUp(t);
  await verifier.verify(await sign());
  published.response = (request) => void request.socket.destroy();
  await pass(t, HOUR / 2);
  t.match(await verifier.verify(await sign({ jti: 'a' })), { subject: 'usr_1' });
  await t.rejects(verifier.verify(await sign({}, foreign)), UNAUTHENTICATED, 'another one is still unknown');
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

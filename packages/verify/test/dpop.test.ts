import { setTimeout as sleep } from 'node:timers/promises';
import { createProofVerifier, createReplayStore } from '@gatehouse/verify/dpop';
import t from 'tap';
import { pass } from './clock.ts';
import { clientKey, type Json, proof, thumbprint } from './vectors/signing.ts';

const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.AZaz09-_';
const URL_OF_REQUEST = 'https://api.example.com/notes';
const USED = { name: 'VerifyError', status: 401, message: 'The DPoP proof has been used before.' };
const keyThumbprint = await thumbprint();
const request = {
  scheme: 'dpop',
  method: 'GET',
  urls: () => [URL_OF_REQUEST],
  token: TOKEN,
  keyThumbprint,
} as const;

const now = () => Math.floor(Date.now() / 1000);
const make = (claims: Json = {}, key = clientKey(), method = 'GET') =>
  proof({ token: TOKEN, url: URL_OF_REQUEST, method }, { iat: now(), ...claims }, {}, key);

t.test('a proof is taken once', async (t) => {
  const proofs = createProofVerifier();
  const once = await make({ jti: 'once' });
  await proofs.verify({ ...request, proof: once });
  await t.rejects(proofs.verify({ ...request, proof: once }), USED);
  const posted = await make({ jti: 'once' }, clientKey(), 'POST');
  await t.rejects(
    proofs.verify({ ...request, method: 'POST', proof: posted }),
    USED,
    'its jti, whatever else',
  );
  const theirs = await make({ jti: 'once' }, clientKey('other'));
  await proofs.verify({ ...request, proof: theirs, keyThumbprint: await thumbprint('other') });
  t.pass("another key's jti is another one");

  const race = await make({ jti: 'race' });
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, () => proofs.verify({ ...request, proof: race })),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, 'of ten at once, too');

  const early = await make({ jti: 'early', iat: now() + 55 });
  await proofs.verify({ ...request, proof: early });
  await pass(t, 100);
  await t.rejects(proofs.verify({ ...request, proof: early }), USED, 'for as long as it would pass');
});

t.test('a used proof is remembered by the wall clock', async (t) => {
  const proofs = createProofVerifier();
  const used = await make();
  await proofs.verify({ ...request, proof: used });
  // As when the wall clock is set back after a while.
  t.intercept(performance, 'now', { value: () => Number.MAX_SAFE_INTEGER });
  await sleep(2);
  await t.rejects(proofs.verify({ ...request, proof: used }), USED);
});

t.test('a full store drops the oldest proof, even if that was replayed', async (t) => {
  const proofs = createProofVerifier({ replayStore: createReplayStore({ max: 2 }) });
  const [first = '', second = '', third = ''] = await Promise.all(
    ['1', '2', '3'].map((jti) => make({ jti })),
  );
  await proofs.verify({ ...request, proof: first });
  await proofs.verify({ ...request, proof: second });
  await t.rejects(proofs.verify({ ...request, proof: first }), USED);
  await proofs.verify({ ...request, proof: third });
  await t.rejects(proofs.verify({ ...request, proof: second }), USED);
  await t.rejects(proofs.verify({ ...request, proof: third }), USED);
  await proofs.verify({ ...request, proof: first });
});

t.test('replicas share a store', async (t) => {
  const used: [key: string, ttl: number][] = [];
  const replayStore = {
    async use(key: string, ttl: number) {
      used.push([key, ttl]);
      return used.length === 1;
    },
  };
  const [one, two] = [createProofVerifier({ replayStore }), createProofVerifier({ replayStore })];
  const shared = await make();
  await one.verify({ ...request, proof: shared });
  await t.rejects(two.verify({ ...request, proof: shared }), USED);
  t.equal(used[0]?.[0], used[1]?.[0], 'by the same key');
  t.equal(used[0]?.[1], 120);
  const broken = createProofVerifier({ replayStore: { use: () => Promise.reject(new Error('hidden')) } });
  await t.rejects(broken.verify({ ...request, proof: shared }), {
    status: 503,
    message: 'The DPoP proof cannot be checked at the moment.',
  });
});

t.test('a URL that cannot be parsed matches nothing', async (t) => {
  const proofs = createProofVerifier();
  const odd = await proof({ token: TOKEN, url: 'odd' }, { iat: now() });
  const message = "The DPoP proof's htu is not the request's URL.";
  await t.rejects(proofs.verify({ ...request, proof: odd, urls: () => ['odd'] }), { message });
});

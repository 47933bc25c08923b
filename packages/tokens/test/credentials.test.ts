import { type ServiceError, unavailable } from '@gatehouse/core/errors';
import { newApiKey } from '@gatehouse/tokens/api-key';
import type { ApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import { createRevocationSet } from '@gatehouse/verify/revocations';
import { generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { callerWith } from './callers.ts';
import { makeProof, makeProofKey } from './proofs.ts';

const ISSUER = 'https://id.example.com';
const NOW = Math.floor(Date.now() / 1000);
const PATH = '/v1/users?limit=1';

const issuerKey = await generateKeyPair('ES256');
const proofKey = await makeProofKey();

function sign(claims: Record<string, unknown> = {}): Promise<string> {
  const all = {
    iss: ISSUER,
    aud: `${ISSUER}/api`,
    sub: 'usr_1',
    client_id: 'cli_1',
    iat: NOW,
    exp: NOW + 600,
    jti: crypto.randomUUID(),
    ...claims,
  };
  return new SignJWT(all)
    .setProtectedHeader({ alg: 'ES256', kid: 'ours', typ: 'at+jwt' })
    .sign(issuerKey.privateKey);
}

const free = await sign();
const bound = await sign({ cnf: { jkt: proofKey.thumbprint } });
const { key } = newApiKey();
const proofOf = (token: string, method = 'GET') =>
  makeProof(proofKey, { method, url: `${ISSUER}/v1/users`, token });

const tokens = createTokenVerifier({
  issuer: ISSUER,
  audience: `${ISSUER}/api`,
  keys: async () => issuerKey.publicKey,
});
const apiKeys: ApiKeyResolver = {
  verify: async (value, beforeVerification) => {
    await beforeVerification?.();
    return callerWith({ keyId: value.slice(10, 21) });
  },
};
const keyId = key.slice(10, 21);
const credentials = createCredentialVerifier({ tokens, apiKeys, publicUrl: ISSUER });
const shown = (authorization: string | undefined, dpop?: string) => ({
  authorization,
  dpop,
  method: 'GET',
  path: PATH,
});

t.test('credentials that hold', async (t) => {
  const CASES: [label: string, authorization: string, dpop: string | undefined, expected: object][] = [
    ['a token', `Bearer ${free}`, undefined, { subject: 'usr_1', keyId: undefined }],
    ['a token, with a proof that nobody needs', `bearer ${free}`, 'x', { subject: 'usr_1' }],
    ['a bound token', `DPoP ${bound}`, await proofOf(bound), { keyThumbprint: proofKey.thumbprint }],
    ['a bound token, again', `dpop ${bound}`, await proofOf(bound), { keyThumbprint: proofKey.thumbprint }],
    ['an API key as Bearer', `Bearer ${key}`, undefined, { keyId }],
    ['an API key', `ApiKey ${key}`, undefined, { keyId }],
  ];
  for (const [label, authorization, dpop, expected] of CASES) {
    t.match(await credentials.verify(shown(authorization, dpop)), expected, label);
  }
});

t.test('credentials that do not hold', async (t) => {
  const BEARER = 'Bearer realm="gatehouse"';
  const INVALID = `${BEARER}, error="invalid_token"`;
  const REQUEST = `${BEARER}, error="invalid_request"`;
  const UNBOUND = /^DPoP realm="gatehouse", error="invalid_token", algs="ES256 /;
  const PROOF = /^DPoP realm="gatehouse", error="invalid_dpop_proof", algs="ES256 /;
  const CASES: [
    label: string,
    authorization: string | undefined,
    dpop: string | undefined,
    is: string | RegExp,
  ][] = [
    ['none', undefined, undefined, BEARER],
    ['a proof alone', undefined, await proofOf(bound), BEARER],
    ['another scheme', 'Basic YTpi', undefined, REQUEST],
    ['no token', 'Bearer x', undefined, INVALID],
    ['a token as an API key', `ApiKey ${free}`, undefined, /./],
    ['an API key as DPoP', `DPoP ${key}`, await proofOf(key), INVALID],
    ['a bound token as Bearer', `Bearer ${bound}`, undefined, UNBOUND],
    ['a bound token as Bearer, with its proof', `Bearer ${bound}`, await proofOf(bound), UNBOUND],
    ['a free token as DPoP', `DPoP ${free}`, await proofOf(free), UNBOUND],
    ['a bound token without a proof', `DPoP ${bound}`, undefined, PROOF],
    ['a bound token with the proof of another', `DPoP ${bound}`, await proofOf(free), PROOF],
    ['a bound token with the proof of another method', `DPoP ${bound}`, await proofOf(bound, 'PUT'), PROOF],
  ];
  const real = createCredentialVerifier({
    tokens,
    apiKeys: { verify: (value) => tokens.verify(value.replace(free, '')) },
    publicUrl: ISSUER,
  });
  for (const [label, authorization, dpop, challenge] of CASES) {
    const error: ServiceError = await real.verify(shown(authorization, dpop)).then(
      () => t.fail(`${label} was taken`),
      (thrown) => thrown,
    );
    t.equal(error.status, 401, label);
    t.match(error.headers['www-authenticate'], challenge, label);
  }
  const without = createCredentialVerifier({ tokens, publicUrl: ISSUER });
  for (const scheme of ['Bearer', 'ApiKey']) {
    await t.rejects(without.verify(shown(`${scheme} ${key}`)), {
      name: 'ServiceError',
      kind: 'unauthenticated',
      message: 'API keys are not accepted here.',
    });
  }
});

t.test('a credential is checked again without its proof', async (t) => {
  const epoch = { client: 1, subject: 1 };
  let resolved = callerWith({ keyId, epoch });
  const set = createRevocationSet();
  const changing = createCredentialVerifier({
    tokens: createTokenVerifier({
      issuer: ISSUER,
      audience: `${ISSUER}/api`,
      keys: async () => issuerKey.publicKey,
      revocations: set,
    }),
    apiKeys: { verify: async () => resolved },
    publicUrl: ISSUER,
  });
  const caller = await changing.verify(shown(`DPoP ${bound}`, await proofOf(bound)));
  await changing.recheck(`DPoP ${bound}`, caller);
  set.add({ kind: 'token', id: String(caller.tokenId), expiresAt: NOW + 600 });
  const revoked = { name: 'ServiceError', kind: 'unauthenticated' };
  await t.rejects(changing.recheck(`DPoP ${bound}`, caller), revoked);

  const ofKey = await changing.verify(shown(`ApiKey ${key}`));
  resolved = callerWith({ keyId, epoch });
  await changing.recheck(`ApiKey ${key}`, ofKey);
  for (const later of [
    { ...epoch, client: 2 },
    { ...epoch, subject: 2 },
  ]) {
    resolved = callerWith({ keyId, epoch: later });
    await t.rejects(changing.recheck(`ApiKey ${key}`, ofKey), revoked, 'it stands for something else now');
  }
});

t.test('while too little is known about revocations', async (t) => {
  const away = unavailable('Not known.');
  let isStale = true;
  const feed = {
    check() {
      if (isStale) throw away;
    },
  };
  const guarded = createCredentialVerifier({ tokens, apiKeys, feed, publicUrl: ISSUER });
  for (const authorization of [`Bearer ${free}`, `ApiKey ${key}`, `DPoP ${bound}`]) {
    await t.rejects(guarded.verify(shown(authorization)), away);
  }
  await t.rejects(guarded.verify(shown(undefined)), { name: 'ServiceError', kind: 'unauthenticated' });
  isStale = false;
  const caller = await guarded.verify(shown(`Bearer ${free}`));
  t.match(caller, { subject: 'usr_1' });
  isStale = true;
  await t.rejects(guarded.recheck(`Bearer ${free}`, caller), away);
});

t.test('beforeVerification can refuse a credential that is not cached', async (t) => {
  const refuse = () => Promise.reject(new Error('over quota'));
  await t.rejects(credentials.verify(shown(`Bearer ${await sign()}`), refuse), { message: 'over quota' });
  await t.rejects(credentials.verify(shown(`ApiKey ${key}`), refuse), { message: 'over quota' });
  t.match(await credentials.verify(shown(`Bearer ${free}`), refuse), { subject: 'usr_1' });
});

import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import t from 'tap';
import { createIssuerKeys } from '../../../src/features/trusted-issuers/issuer-keys.ts';
import { ALGORITHMS, type TrustedIssuer } from '../../../src/features/trusted-issuers/trusted-issuer.ts';
import { verifyWorkloadToken } from '../../../src/features/trusted-issuers/workload-token.ts';

const now = Math.floor(Date.now() / 1000);
const ISSUER = 'https://ci.example';
const CLAIMS = { iss: ISSUER, sub: 'repo:acme/shop', iat: now, exp: now + 300 };

const UNVERIFIED = 'cannot be verified: the keys of its issuer cannot be read, forged';

type Pair = { privateKey: CryptoKey; publicKey: CryptoKey };

/** An issuer with one key, and the claims of a token or its problem. */
async function issuerOf(
  { publicKey }: Pick<Pair, 'publicKey'>,
  algorithms: readonly string[] = ALGORITHMS,
  url = ISSUER,
) {
  const jwk = await exportJWK(publicKey);
  const issuer = { id: 'iss_1', issuer: url, algorithms, jwks: { keys: [jwk] }, generation: 0 };
  const keys = createIssuerKeys({ outbound: { read: () => Promise.reject(new Error('not pasted')) } });
  return (token: string) =>
    verifyWorkloadToken(token, issuer as unknown as TrustedIssuer, keys).then(
      ({ sub }) => sub,
      ({ message, isForged }) => `${message}${isForged ? ', forged' : ''}`,
    );
}

const sign = ({ privateKey }: Pair, header: JWTHeaderParameters, claims: object = {}) =>
  new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader(header).sign(privateKey);

for (const alg of ALGORITHMS) {
  t.test(`${alg}: only what the key has signed, by an allowed algorithm`, async (t) => {
    const pair = await generateKeyPair(alg);
    const verify = await issuerOf(pair);
    const token = await sign(pair, { alg, typ: 'JWT' });
    t.equal(await verify(token), CLAIMS.sub);
    const [header, , signature] = token.split('.');
    const payload = Buffer.from(JSON.stringify({ ...CLAIMS, sub: 'repo:acme/evil' })).toString('base64url');
    t.equal(await verify(`${header}.${payload}.${signature}`), 'has a wrong signature, forged');
    t.equal(await verify(await sign(await generateKeyPair(alg), { alg })), 'has a wrong signature, forged');
    const others = await issuerOf(
      pair,
      ALGORITHMS.filter((it) => it !== alg),
    );
    t.equal(await others(token), 'has an algorithm that is not allowed for its issuer, forged');
  });
}

t.test('a token for something else, by its typ', async (t) => {
  const alg = 'ES256';
  const pair = await generateKeyPair(alg);
  const [verify, verifySvid] = [await issuerOf(pair), await issuerOf(pair, [alg], 'spiffe://example.org')];
  const sub = 'spiffe://example.org/worker';
  const other = 'has the typ of tokens for something else';
  for (const [typ, outcome, ofSvid] of [
    [undefined, CLAIMS.sub, sub],
    ['JWT', CLAIMS.sub, sub],
    ['JOSE', CLAIMS.sub, sub],
    ['kubernetes', CLAIMS.sub, other],
    ['at+jwt', other, other],
    ['application/at+jwt', other, other],
    ['Logout+JWT', other, other],
    ['secevent+jwt', other, other],
    ['oauth-id-jag+jwt', other, other],
  ] as const) {
    const header = { alg, ...(typ === undefined ? {} : { typ }) };
    t.equal(await verify(await sign(pair, header)), outcome, `${typ}`);
    t.equal(await verifySvid(await sign(pair, header, { sub })), ofSvid, `${typ}, of a trust domain`);
  }
});

t.test('a token with a wrong RSA signature', async (t) => {
  const alg = 'RS256';
  const pair = await generateKeyPair(alg);
  const verify = await issuerOf(pair);
  const token = await sign(pair, { alg });
  const broken = token.replace(/^[^.]+/, 'e30x');
  const critical = { alg, crit: ['b64'], b64: true };
  for (const [name, given, problem] of [
    ['expired', await sign(pair, { alg }, { exp: now - 61 }), 'has expired'],
    ['old', await sign(pair, { alg }, { iat: now - 86_500 }), 'has expired'],
    ['without an end', await sign(pair, { alg }, { exp: undefined }), 'has no exp'],
    ['without a beginning', await sign(pair, { alg }, { iat: undefined }), 'has no iat'],
    ['from the future', await sign(pair, { alg }, { nbf: now + 120 }), 'has a wrong time in nbf'],
    ['of another issuer', await sign(pair, { alg }, { iss: 'https://a.example' }), 'is of another issuer'],
    ['with a kid that is unknown', await sign(pair, { alg, kid: 'x' }), 'names no key of its issuer, forged'],
    ['with an extension that nobody knows', await unknownExtension(pair), UNVERIFIED],
    ['with an extension that jose knows', await sign(pair, critical), CLAIMS.sub],
    ['without a header', broken, 'is no valid JWT, forged'],
    ['with two signatures', `${token}.${token.split('.')[2]}`, 'is no valid JWT, forged'],
  ] as const)
    t.equal(await verify(given), problem, name);
});

t.test('keys with fewer than 2048 bits are refused, and those with more than 4096 are not', async (t) => {
  for (const [bits, outcome] of [
    [1024, UNVERIFIED],
    [4104, CLAIMS.sub],
  ] as const) {
    const pair = await rsaPair(bits);
    const token = await signByHand(pair, { alg: 'RS256' });
    t.equal(await (await issuerOf(pair))(token), outcome, `${bits} bits`);
  }
});

const RSA = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', publicExponent: new Uint8Array([1, 0, 1]) };
const rsaPair = (modulusLength: number) =>
  crypto.subtle.generateKey({ ...RSA, modulusLength }, true, ['sign', 'verify']);

/** A token that jose would not sign. */
async function signByHand({ privateKey }: Pair, header: object): Promise<string> {
  const signed = [header, CLAIMS]
    .map((it) => Buffer.from(JSON.stringify(it)).toString('base64url'))
    .join('.');
  const signature = await crypto.subtle.sign(RSA.name, privateKey, Buffer.from(signed));
  return `${signed}.${Buffer.from(signature).toString('base64url')}`;
}

const unknownExtension = (pair: Pair) => signByHand(pair, { alg: 'RS256', crit: ['ours'], ours: 1 });

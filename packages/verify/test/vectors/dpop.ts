import { accepted, INVALID, invalidToken, refused, vector } from './cases.ts';
import {
  CLOCK,
  clientKey,
  encode,
  hmacToken,
  type Json,
  proof,
  publicPart,
  thumbprint,
  token,
  type Vector,
} from './signing.ts';

const DPOP = { scheme: 'DPoP' };
const BOUND = 'The access token is bound to a key: send it as DPoP, with a proof.';
const UNBOUND = 'The access token is not bound to a key: send it as Bearer.';
const MISSING = 'A DPoP proof is missing.';
const NO_JWT = 'The DPoP proof is not a JWT signed with its own key.';
const KEY = 'The DPoP proof was not made with the key that the access token is bound to.';
const HTM = "The DPoP proof's htm is not the request's method.";
const HTU = "The DPoP proof's htu is not the request's URL.";
const ATH = "The DPoP proof's ath is not the token's.";
const IAT = 'The DPoP proof was not made within 60 s of now.';
const JTI = 'The DPoP proof needs a jti of at most 256 characters.';
const USED = 'The DPoP proof has been used before.';

const ORIGIN = 'https://api.example.com';
const PATH = '/notes/a%20b';
const URL_OF_REQUEST = ORIGIN + PATH;
const badProof = (description: string) => refused(401, 'invalid_dpop_proof', description, DPOP);

const GOOD: [name: string, claims: Json, header?: Json][] = [
  ['a proof', {}],
  ['made a little ago', { iat: CLOCK - 59 }],
  ['by a clock that is ahead', { iat: CLOCK + 59 }],
  ['just in time', { iat: CLOCK - 60 }],
  ['with the query', { htu: `${URL_OF_REQUEST}?fields=name` }],
  ['with another query', { htu: `${URL_OF_REQUEST}?x=1` }],
  ['with a fragment', { htu: `${URL_OF_REQUEST}#top` }],
  ['with the default port', { htu: `${ORIGIN}:443/notes/a%20b` }],
  ['scheme and host in capitals', { htu: 'HTTPS://API.EXAMPLE.COM/notes/a%20b' }],
  ['escaped where it need not be', { htu: `${ORIGIN}/%6Eotes/a%20b` }],
  ['dot segments', { htu: `${ORIGIN}/notes/x/.././a%20b` }],
  ['more claims', { nonce: 'x', extra: 1 }],
  ['a jti of 256 characters', { jti: 'a'.repeat(256) }],
  ['a key with its use', {}, { jwk: { ...publicPart(clientKey()), use: 'sig' } }],
];

const BAD: [name: string, claims: Json, header: Json, description: string][] = [
  ['another type', {}, { typ: 'JWT' }, NO_JWT],
  ['no type', {}, { typ: undefined }, NO_JWT],
  ['no key', {}, { jwk: undefined }, NO_JWT],
  ['a key that is a text', {}, { jwk: 'key' }, NO_JWT],
  ['a private key', {}, { jwk: { ...clientKey(), alg: undefined } }, NO_JWT],
  ['the key of another, unsigned by it', {}, { jwk: publicPart(clientKey('other')) }, NO_JWT],
  ['another method', { htm: 'POST' }, {}, HTM],
  ['a method in small letters', { htm: 'get' }, {}, HTM],
  ['no method', { htm: undefined }, {}, HTM],
  ['another host', { htu: 'https://api.example.net/notes/a%20b' }, {}, HTU],
  ['another scheme', { htu: URL_OF_REQUEST.replace('https', 'http') }, {}, HTU],
  ['another port', { htu: `${ORIGIN}:8443/notes/a%20b` }, {}, HTU],
  ['another path', { htu: `${ORIGIN}/notes/a` }, {}, HTU],
  ['a slash too many', { htu: `${URL_OF_REQUEST}/` }, {}, HTU],
  ['a path in capitals', { htu: `${ORIGIN}/NOTES/a%20b` }, {}, HTU],
  ['an escaped slash', { htu: `${ORIGIN}/notes%2Fa%20b` }, {}, HTU],
  ['with a user', { htu: 'https://me@api.example.com/notes/a%20b' }, {}, HTU],
  ['a path alone', { htu: '/notes/a%20b' }, {}, HTU],
  ['no URL', { htu: undefined }, {}, HTU],
  ['a list of URLs', { htu: [URL_OF_REQUEST] }, {}, HTU],
  ['of another token', { ath: 'x' }, {}, ATH],
  ['of no token', { ath: undefined }, {}, ATH],
  ['too old', { iat: CLOCK - 61 }, {}, IAT],
  ['too new', { iat: CLOCK + 61 }, {}, IAT],
  ['no time', { iat: undefined }, {}, IAT],
  ['no jti', { jti: undefined }, {}, JTI],
  ['an empty jti', { jti: '' }, {}, JTI],
  ['a jti that is a number', { jti: 7 }, {}, JTI],
  ['a jti that is too long', { jti: 'a'.repeat(257) }, {}, JTI],
];

const NET = 'https://api.example.net';
/** Proofs for an origin, with requests whose Host header names another or the same. */
const ORIGINS: [name: string, host: string, proven: string, isOwn: boolean, origins?: string[]][] = [
  ['the origin of the audience, through a proxy', 'http://10.0.0.7:8080', ORIGIN, true],
  ['the origin of the audience, at a loopback address', 'http://localhost:4000', ORIGIN, true],
  ['a loopback address', 'http://127.0.0.1:4000', 'http://127.0.0.1:4000', true],
  ['a loopback address of IPv6', 'http://[::1]:4000', 'http://[::1]:4000', true],
  ['another port of a loopback address', 'http://localhost:4000', 'http://localhost:4001', false],
  ['a loopback address, at another host', ORIGIN, 'http://localhost:4000', false],
  ['another host, which the request names', NET, NET, false],
  [
    'a host that begins like a loopback address',
    'http://localhost.a.example',
    'http://localhost.a.example',
    false,
  ],
  ['one of the origins', 'http://localhost:4000', NET, true, ['http://localhost', NET]],
  ['one of the origins, which has a port', ORIGIN, `${NET}:8443`, true, [NET, `${NET}:8443`]],
  ['one of the origins, with a slash and its port', ORIGIN, NET, true, [`${NET}:443/`]],
  ['another port of the origins', `${NET}:8443`, `${NET}:8443`, false, [NET]],
  ['none of the origins, which the request names', 'https://a.example', 'https://a.example', false, [NET]],
  ['the origin of the audience, which is none of the origins', ORIGIN, ORIGIN, false, [NET]],
  ['a loopback address, which is none of the origins', 'http://localhost', 'http://localhost', false, [NET]],
];

export async function dpopVectors(): Promise<Vector[]> {
  const jkt = await thumbprint();
  const bound = await token({ cnf: { jkt } });
  const free = await token();
  const of = { token: bound, url: URL_OF_REQUEST };
  const request = (dpop?: string | string[], more: object = {}) => ({
    url: `${URL_OF_REQUEST}?fields=name`,
    ...more,
    headers: dpop === undefined ? {} : { dpop },
  });
  const good = await proof(of);
  const [header = '', payload = '', signature = ''] = good.split('.');
  const jwk = publicPart(clientKey());
  const secret = { typ: 'dpop+jwt', alg: 'HS256' };
  const malformed: [name: string, dpop: string | string[] | undefined, description: string][] = [
    ['none', undefined, MISSING],
    ['a word', 'proof', NO_JWT],
    ['two in one header', `${good}, ${good}`, NO_JWT],
    ['two headers', [good, good], NO_JWT],
    ['no signature', `${header}.${payload}.`, NO_JWT],
    ['another payload', `${header}.${encode({ htm: 'POST' })}.${signature}`, NO_JWT],
    ['no algorithm', `${encode({ typ: 'dpop+jwt', alg: 'none', jwk })}.${payload}.`, NO_JWT],
    ['a shared secret', hmacToken('secret', { ...secret, jwk: { kty: 'oct', k: 'c2VjcmV0' } }), NO_JWT],
    ['a shared secret, with a public key', hmacToken('secret', { ...secret, jwk }), NO_JWT],
    ['the access token', bound, NO_JWT],
    ['with another key', await proof(of, {}, {}, clientKey('other')), KEY],
  ];
  const all: Vector[] = [];
  for (const [name, claims, changes] of GOOD) {
    const dpop = await proof(of, claims, changes);
    all.push(vector(name, `DPoP ${bound}`, { request: request(dpop), expected: accepted() }));
  }
  for (const alg of ['ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256']) {
    const strong = await token({ cnf: { jkt: await thumbprint(alg) } });
    const dpop = await proof({ ...of, token: strong }, {}, { alg }, clientKey(alg));
    all.push(vector(`a proof by ${alg}`, `DPoP ${strong}`, { request: request(dpop), expected: accepted() }));
  }
  for (const [name, dpop, description] of malformed) {
    all.push(vector(name, `DPoP ${bound}`, { request: request(dpop), expected: badProof(description) }));
  }
  for (const [name, claims, changes, description] of BAD) {
    const dpop = await proof(of, claims, changes);
    all.push(vector(name, `DPoP ${bound}`, { request: request(dpop), expected: badProof(description) }));
  }
  for (const [name, host, proven, isOwn, origins] of ORIGINS) {
    const dpop = await proof({ token: bound, url: proven + PATH });
    const change = {
      ...(origins === undefined ? {} : { options: { origins } }),
      request: request(dpop, { url: host + PATH }),
      expected: isOwn ? accepted() : badProof(HTU),
    };
    all.push(vector(`for ${name}`, `DPoP ${bound}`, change));
  }
  const invalid = (description: string) => invalidToken(description, DPOP);
  const freeProof = await proof({ ...of, token: free });
  const expired = await token({ exp: CLOCK - 60, cnf: { jkt } });
  const revoked = {
    state: 'fresh' as const,
    revocations: [{ kind: 'token', id: 'jti_1', until: CLOCK + 3600 }],
  };
  const posted = await proof({ ...of, method: 'POST' });
  const local = 'http://localhost:3000/notes';
  const localProof = await proof({ token: bound, url: 'http://localhost:3000/notes' });
  const standard = await proof({ token: bound, url: 'http://localhost/notes' });
  const umlaut = await proof({ token: bound, url: `${ORIGIN}/n/%c3%a4` });
  const REVOKED = 'The access token has been revoked.';
  all.push(
    vector('a bound token as Bearer', `Bearer ${bound}`, { expected: invalid(BOUND) }),
    vector('a bound token as Bearer, with a proof', `Bearer ${bound}`, {
      request: request(good),
      expected: invalid(BOUND),
    }),
    vector('an unbound token as DPoP', `DPoP ${free}`, { request: request(), expected: invalid(UNBOUND) }),
    vector('an unbound token as DPoP, with a proof', `DPoP ${free}`, {
      request: request(freeProof),
      expected: invalid(UNBOUND),
    }),
    vector('an unbound token as Bearer, with a proof that nobody needs', `Bearer ${free}`, {
      request: request('x'),
      expected: accepted(),
    }),
    vector('the proof of another token', `DPoP ${bound}`, {
      request: request(freeProof),
      expected: badProof(ATH),
    }),
    vector('an invalid token as DPoP', 'DPoP x.y.z', { request: request(good), expected: invalid(INVALID) }),
    vector('an expired token as DPoP', `DPoP ${expired}`, {
      request: request(good),
      expected: invalid('The access token has expired.'),
    }),
    vector('a revoked token as DPoP', `DPoP ${bound}`, {
      feed: revoked,
      request: request(good),
      expected: invalid(REVOKED),
    }),
    vector('a revoked token as DPoP, without a proof', `DPoP ${bound}`, {
      feed: revoked,
      request: request(),
      expected: invalid(REVOKED),
    }),
    vector('a revoked bound token as Bearer', `Bearer ${bound}`, {
      feed: revoked,
      expected: invalid(REVOKED),
    }),
    vector('a bound token as Bearer that introspection finds revoked', `Bearer ${bound}`, {
      feed: { state: 'silent', revocations: [] },
      introspection: {},
      expected: invalid(REVOKED),
    }),
    vector('the scheme in small letters', `dpop ${bound}`, { request: request(good), expected: accepted() }),
    vector('POST', `DPoP ${bound}`, { request: request(posted, { method: 'POST' }), expected: accepted() }),
    vector('a proof for GET with POST', `DPoP ${bound}`, {
      request: request(good, { method: 'POST' }),
      expected: badProof(HTM),
    }),
    vector('a port', `DPoP ${bound}`, { request: request(localProof, { url: local }), expected: accepted() }),
    vector('the default port of http', `DPoP ${bound}`, {
      request: request(standard, { url: 'http://localhost:80/notes' }),
      expected: accepted(),
    }),
    vector('escapes in small letters', `DPoP ${bound}`, {
      request: request(umlaut, { url: `${ORIGIN}/n/%C3%A4` }),
      expected: accepted(),
    }),
    vector('a proof twice', `DPoP ${bound}`, {
      request: request(good),
      repeat: true,
      expected: badProof(USED),
    }),
  );
  return all;
}

import { accepted, INVALID, invalidToken, notAccepted, tokenVector, vector } from './cases.ts';
import {
  AUDIENCE,
  CLAIMS,
  CLOCK,
  encode,
  hmacToken,
  ISSUER,
  issuerKey,
  type Json,
  JWKS,
  publicPart,
  STRANGER,
  signRaw,
  token,
  type Vector,
} from './signing.ts';

const EXPIRED = 'The access token has expired.';

const GOOD: [name: string, claims: Json, header: Json, caller?: Json][] = [
  ['a person', {}, {}],
  ['the long form of the type', {}, { typ: 'application/at+jwt' }],
  ['the type in upper case', {}, { typ: 'AT+JWT' }],
  ['several audiences', { aud: ['https://other.example', AUDIENCE] }, {}],
  ['an audience as a list of one', { aud: [AUDIENCE] }, {}],
  ['already in force', { nbf: CLOCK }, {}],
  ['in force within the clock skew', { nbf: CLOCK + 4 }, {}],
  ['expired within the clock skew', { exp: CLOCK - 3 }, {}],
  ['issued by a clock that is ahead', { iat: CLOCK + 300 }, {}],
  ['a time with a fraction', { iat: CLOCK - 0.5, exp: CLOCK + 60.5 }, {}],
  ['more claims than needed', { azp: 'cli_1', roles: ['admin'], x: { y: 1 } }, {}],
  ['an unknown header parameter', {}, { x: 1 }],
  ['a machine', { sub: 'cli_1' }, {}, { subject: 'cli_1', kind: 'machine' }],
  ['a machine with an owner', { sub: 'cli_1', owner: 'usr_9' }, {}, { subject: 'cli_1', kind: 'machine' }],
  ['a person with an owner claim', { owner: 'usr_9' }, {}],
  ['a grant', { gid: 'gra_1' }, {}],
  ['epochs', { epoch: { client: 3, subject: 4 } }, {}],
  ['an epoch of the client alone', { epoch: { client: 3 } }, {}],
  ['epochs that are empty', { epoch: {} }, {}],
  ['an actor', { act: { sub: 'notifications' } }, {}, { actor: 'notifications' }],
  ['an actor with an actor', { act: { sub: 'a', act: { sub: 'b' } } }, {}, { actor: 'a' }],
  ['a sign-in', { acr: 'phr', auth_time: CLOCK - 60 }, {}, { acr: 'phr', authTime: CLOCK - 60 }],
  ['an acr of another kind', { acr: 'urn:example:strong' }, {}, { acr: 'urn:example:strong' }],
  ['an acr that is a number', { acr: 2 }, {}],
  ['an auth_time that is a text', { auth_time: '1' }, {}],
  ['no scope', { scope: undefined }, {}, { scopes: [] }],
  ['an empty scope', { scope: '' }, {}, { scopes: [] }],
  ['a scope that is a list', { scope: ['notes:read'] }, {}, { scopes: [] }],
  ['a scope twice, with spaces', { scope: ' a  b a ' }, {}, { scopes: ['a', 'b'] }],
  [
    'a scope that every object has',
    { scope: '__proto__ constructor' },
    {},
    { scopes: ['__proto__', 'constructor'] },
  ],
  ['a subject that is not ASCII', { sub: 'Zoë 🗝' }, {}, { subject: 'Zoë 🗝' }],
];

const BAD: [name: string, claims: Json, header: Json, description: string][] = [
  ['expired', { exp: CLOCK - 60 }, {}, EXPIRED],
  ['expired beyond the clock skew', { exp: CLOCK - 6 }, {}, EXPIRED],
  ['expired long ago', { exp: 0 }, {}, EXPIRED],
  ['not yet in force', { nbf: CLOCK + 3600 }, {}, notAccepted('nbf')],
  ['not in force beyond the clock skew', { nbf: CLOCK + 6 }, {}, notAccepted('nbf')],
  ['of another issuer', { iss: 'https://id.example.net' }, {}, notAccepted('iss')],
  ['of the issuer with a slash', { iss: `${ISSUER}/` }, {}, notAccepted('iss')],
  ['of the issuer in capitals', { iss: ISSUER.toUpperCase() }, {}, notAccepted('iss')],
  ['for another audience', { aud: 'https://api.example.com/other' }, {}, notAccepted('aud')],
  ['for the audience with a slash', { aud: `${AUDIENCE}/` }, {}, notAccepted('aud')],
  ['for the origin', { aud: 'https://api.example.com' }, {}, notAccepted('aud')],
  ['for no audience', { aud: [] }, {}, notAccepted('aud')],
  ['for other audiences', { aud: ['a', 'b'] }, {}, notAccepted('aud')],
  ['an ID token', {}, { typ: 'JWT' }, notAccepted('typ')],
  ['without a type', {}, { typ: undefined }, notAccepted('typ')],
  ['a logout token', {}, { typ: 'logout+jwt' }, notAccepted('typ')],
  ['a security event token', {}, { typ: 'secevent+jwt' }, notAccepted('typ')],
  ...['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id'].map((claim): (typeof BAD)[number] => [
    `no ${claim}`,
    { [claim]: undefined },
    {},
    notAccepted(claim),
  ]),
  ['exp as a text', { exp: String(CLOCK + 60) }, {}, notAccepted('exp')],
  ['exp that is null', { exp: null }, {}, notAccepted('exp')],
  ['iat as a text', { iat: 'now' }, {}, notAccepted('iat')],
  ['nbf as a text', { nbf: 'never' }, {}, notAccepted('nbf')],
  ['sub as a number', { sub: 1 }, {}, INVALID],
  ['sub that is null', { sub: null }, {}, INVALID],
  ['client_id as a list', { client_id: ['cli_1'] }, {}, INVALID],
  ['jti as a number', { jti: 1 }, {}, INVALID],
  ['gid as a number', { gid: 1 }, {}, INVALID],
  ['gid that is null', { gid: null }, {}, INVALID],
  ['owner as an object', { sub: 'cli_1', owner: { id: 'usr_1' } }, {}, INVALID],
  ['epochs as texts', { epoch: { client: '1', subject: 1 } }, {}, INVALID],
  ['an epoch of the person as a text', { epoch: { client: 1, subject: '1' } }, {}, INVALID],
  ['bound in an unknown way', { cnf: { 'x5t#S256': 'a' } }, {}, INVALID],
  ['bound to null', { cnf: null }, {}, INVALID],
  ['bound to a number', { cnf: { jkt: 1 } }, {}, INVALID],
  ['an actor without a sub', { act: {} }, {}, INVALID],
  ['an actor that is a text', { act: 'notifications' }, {}, INVALID],
  ['without a kid', {}, { kid: undefined }, INVALID],
  ['with an unknown kid', {}, { kid: 'unknown' }, INVALID],
  ['with the kid of another key', {}, { kid: 'rs' }, INVALID],
  ['with a critical extension', {}, { crit: ['x'], x: 1 }, INVALID],
];

async function forged(): Promise<[name: string, token: string][]> {
  const good = await token();
  const [header = '', payload = '', signature = ''] = good.split('.');
  const es = { alg: 'ES256', typ: 'at+jwt', kid: 'es' };
  const stranger = { ...STRANGER, kid: 'es' };
  const shared = { alg: 'HS256', typ: 'at+jwt', kid: 'es' };
  return [
    ['a word', 'token'],
    ['dots', '..'],
    ['a part too few', `${header}.${payload}`],
    ['a part too many', `${good}.${signature}`],
    ['a header that is no JSON', `e30x.${payload}.${signature}`],
    ['a header that is a list', `${encode([])}.${payload}.${signature}`],
    ['a header without an algorithm', `${encode({})}.${payload}.${signature}`],
    ['a payload that is a list', await signRaw([], es, issuerKey())],
    ['a payload that is null', await signRaw(null, es, issuerKey())],
    ['no signature', `${header}.${payload}.`],
    ['half a signature', `${header}.${payload}.${signature.slice(0, 43)}`],
    ['another payload', `${header}.${encode({ ...CLAIMS, sub: 'usr_2' })}.${signature}`],
    ['another header', `${encode({ ...es, x: 1 })}.${payload}.${signature}`],
    ['signed by a stranger', await token({}, {}, { ...STRANGER, kid: 'stranger' })],
    ['signed by a stranger under our kid', await token({}, {}, stranger)],
    ['with the key to verify it', await token({}, { jwk: publicPart(STRANGER) }, stranger)],
    ['with the URL of the key to verify it', await token({}, { jku: 'http://127.0.0.1:1/' }, stranger)],
    ['the algorithm none', `${encode({ ...es, alg: 'none' })}.${payload}.`],
    ['the algorithm None', `${encode({ ...es, alg: 'None' })}.${payload}.`],
    ['an empty algorithm', `${encode({ ...es, alg: '' })}.${payload}.`],
    ['a shared secret', hmacToken('secret', shared)],
    ['the public key as a shared secret', hmacToken(JSON.stringify(JWKS.keys[0]), shared)],
    ['an algorithm that the issuer does not use', await token({}, {}, issuerKey('es384'))],
    ['RS256 under the kid of an ES256 key', await token({}, { kid: 'es' }, issuerKey('rs'))],
    ['a JWE', 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAAA.AAAA.AAAA'],
    ['an API key as DPoP is no JWT', 'gatehouse.x.y'],
  ];
}

export async function jwtVectors(): Promise<Vector[]> {
  const all: Vector[] = [];
  for (const [name, claims, header, caller] of GOOD) {
    all.push(vector(name, `Bearer ${await token(claims, header)}`, { expected: accepted(caller) }));
  }
  for (const kid of ['rs', 'ps', 'ed']) {
    const signed = await token({}, {}, issuerKey(kid));
    all.push(vector(`signed with ${issuerKey(kid).alg}`, `Bearer ${signed}`, { expected: accepted() }));
  }
  for (const [name, claims, header, description] of BAD) {
    const signed = await token(claims, header);
    all.push(vector(name, `Bearer ${signed}`, { expected: invalidToken(description) }));
  }
  for (const [name, value] of await forged()) {
    all.push(vector(name, `Bearer ${value}`, { expected: invalidToken() }));
  }
  const root = { audience: 'https://api.example.com/' };
  const metadata = 'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource"';
  all.push(
    await tokenVector(
      'for an audience at the root',
      { aud: root.audience },
      { options: root, expected: accepted() },
    ),
    await tokenVector(
      'the metadata of an audience at the root',
      {},
      {
        options: root,
        expected: invalidToken(notAccepted('aud'), { metadata }),
      },
    ),
    await tokenVector(
      'the metadata of an audience with a port',
      {},
      {
        options: { audience: 'http://localhost:8080/a/b' },
        expected: invalidToken(notAccepted('aud'), {
          metadata: 'resource_metadata="http://localhost:8080/.well-known/oauth-protected-resource/a/b"',
        }),
      },
    ),
  );
  return all;
}

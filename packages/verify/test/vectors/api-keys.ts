import { accepted, INVALID, invalidToken, KEY_INVALID, refused, unavailable, vector } from './cases.ts';
import { AUDIENCE, apiKey, CLOCK, type Json, token, type Vector } from './signing.ts';

const AWAY = unavailable('The API key cannot be checked at the moment.');
const KEY = apiKey('aB3');
const RESPONSE: Json = {
  active: true,
  aud: AUDIENCE,
  client_id: 'cli_1',
  sub: 'cli_1',
  jti: 'key_1',
  owner: 'usr_9',
  scope: 'notes:read notes:write',
};
const caller = (change: Json = {}) => accepted({ subject: 'cli_1', kind: 'key', ...change });
const fresh = { state: 'fresh' as const, revocations: [] };

const GOOD: [name: string, change: Json, caller?: Json][] = [
  ['a key', {}],
  ['several audiences', { aud: ['https://other.example', AUDIENCE] }],
  ['with an end', { exp: CLOCK + 60 }],
  ['without a subject', { sub: undefined }],
  ['without a scope', { scope: undefined }, { scopes: [] }],
  ['a scope twice', { scope: 'a  b a' }, { scopes: ['a', 'b'] }],
  ['without an owner', { owner: undefined }],
  ['without an id', { jti: undefined }],
  ['with a sign-in, which is not its own', { acr: 'phr', auth_time: CLOCK }],
];

const BAD: [name: string, response: Json][] = [
  ['inactive', { active: false }],
  ['inactive with everything', { ...RESPONSE, active: false }],
  ['active as a text', { ...RESPONSE, active: 'true' }],
  ['active as a number', { ...RESPONSE, active: 1 }],
  ['nothing about active', { ...RESPONSE, active: undefined }],
  ['for another audience', { ...RESPONSE, aud: 'https://api.example.com/other' }],
  ['for the audience with a slash', { ...RESPONSE, aud: `${AUDIENCE}/` }],
  ['for no audience', { ...RESPONSE, aud: undefined }],
  ['for an empty list', { ...RESPONSE, aud: [] }],
  ['ended', { ...RESPONSE, exp: CLOCK - 60 }],
  ['ended now', { ...RESPONSE, exp: CLOCK }],
  ['without a client', { ...RESPONSE, client_id: undefined }],
  ['with a client that is a number', { ...RESPONSE, client_id: 7 }],
];

export async function apiKeyVectors(): Promise<Vector[]> {
  const all: Vector[] = [];
  const schemes = ['Bearer', 'ApiKey', 'bearer', 'APIKEY'];
  for (const scheme of schemes) {
    const introspection = { [KEY]: RESPONSE };
    all.push(vector(`as ${scheme}`, `${scheme} ${KEY}`, { feed: fresh, introspection, expected: caller() }));
  }
  for (const [name, change, expected] of GOOD) {
    const introspection = JSON.parse(JSON.stringify({ [KEY]: { ...RESPONSE, ...change } }));
    all.push(vector(name, `Bearer ${KEY}`, { feed: fresh, introspection, expected: caller(expected) }));
  }
  for (const [name, response] of BAD) {
    const introspection = JSON.parse(JSON.stringify({ [KEY]: response }));
    const expected = invalidToken(KEY_INVALID);
    all.push(vector(name, `Bearer ${KEY}`, { feed: fresh, introspection, expected }));
  }
  const malformed = {
    'too short': KEY.slice(0, -1),
    'too long': `${KEY}0`,
    'a wrong checksum': `${KEY.slice(0, -1)}${KEY.endsWith('0') ? '1' : '0'}`,
    'a mistyped character': KEY.replace('aB3a', 'aB4a'),
    'the prefix alone': 'gatehouse_',
    'a character that is none of its alphabet': KEY.replace('aB3a', 'aB-a'),
    'a padding': `${KEY}==`,
  };
  for (const [name, value] of Object.entries(malformed)) {
    for (const scheme of ['Bearer', 'ApiKey']) {
      const introspection = { [value]: RESPONSE };
      const expected = invalidToken(KEY_INVALID);
      all.push(
        vector(`${name}, as ${scheme}`, `${scheme} ${value}`, { feed: fresh, introspection, expected }),
      );
    }
  }
  const known = { [KEY]: RESPONSE };
  const jwt = await token();
  const notHere = invalidToken('API keys are not accepted here.');
  all.push(
    vector('the prefix in capitals is none', `Bearer ${KEY.replace('gatehouse', 'GATEHOUSE')}`, {
      feed: fresh,
      introspection: known,
      expected: invalidToken(INVALID),
    }),
    vector('an API key as DPoP', `DPoP ${KEY}`, {
      feed: fresh,
      introspection: known,
      expected: invalidToken(INVALID, { scheme: 'DPoP' }),
    }),
    vector('a JWT as ApiKey', `ApiKey ${jwt}`, { feed: fresh, expected: invalidToken(KEY_INVALID) }),
    vector('unknown', `Bearer ${apiKey('x')}`, {
      feed: fresh,
      introspection: known,
      expected: invalidToken(KEY_INVALID),
    }),
    vector('not reachable', `Bearer ${KEY}`, { feed: fresh, expected: AWAY }),
    vector('not reachable for this one', `ApiKey ${KEY}`, {
      feed: fresh,
      introspection: { [KEY]: null },
      expected: AWAY,
    }),
    vector('without credentials', `Bearer ${KEY}`, { introspection: known, expected: notHere }),
    vector('without credentials, as ApiKey', `ApiKey ${KEY}`, { introspection: known, expected: notHere }),
    vector('without credentials, malformed', 'ApiKey x', { expected: notHere }),
    vector('the scope', `Bearer ${KEY}`, {
      feed: fresh,
      introspection: known,
      needs: { scopes: ['notes:read'] },
      expected: caller(),
    }),
    vector('not the scope', `ApiKey ${KEY}`, {
      feed: fresh,
      introspection: known,
      needs: { scopes: ['notes:read', 'admin'] },
      expected: refused(403, 'insufficient_scope', 'This needs the scope notes:read admin.', {
        more: ['scope="notes:read admin"'],
      }),
    }),
    vector('a sign-in is needed', `Bearer ${KEY}`, {
      feed: fresh,
      introspection: { [KEY]: { ...RESPONSE, acr: 'phr', auth_time: CLOCK } },
      needs: { acr: 'phr', maxAge: 300 },
      expected: refused(401, 'insufficient_user_authentication', 'This needs a stronger sign-in.', {
        more: ['acr_values="phr"', 'max_age="300"'],
      }),
    }),
  );
  for (const then of ['introspect', 'refuse', 'accept'] as const) {
    const silent = { feed: { state: 'silent' as const, revocations: [] }, options: { stale: { then } } };
    all.push(
      vector(`silent, ${then}`, `Bearer ${KEY}`, { ...silent, introspection: known, expected: caller() }),
      vector(`silent, ${then}, not reachable`, `Bearer ${KEY}`, { ...silent, expected: AWAY }),
    );
  }
  return all;
}

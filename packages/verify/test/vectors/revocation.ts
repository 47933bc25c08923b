import { accepted, INVALID, invalidToken, REVOKED, unavailable, vector } from './cases.ts';
import { CLOCK, type Json, token, type Vector } from './signing.ts';

const NOT_KNOWN = unavailable('It is not known at the moment which tokens are revoked.');
const UNTIL = CLOCK + 3600;

const entry = (kind: string, id: string, epoch?: number): Json => ({
  kind,
  id,
  ...(epoch === undefined ? {} : { epoch }),
  until: UNTIL,
});
const MACHINE = { sub: 'cli_1' };
const OWNED = { sub: 'cli_1', owner: 'usr_9' };
const EPOCHS = { epoch: { client: 5, subject: 7 } };

const CASES: [name: string, claims: Json, revocations: Json[], isRevoked: boolean][] = [
  ['nothing is revoked', {}, [], false],
  ['the token', {}, [entry('token', 'jti_1')], true],
  ['another token', {}, [entry('token', 'jti_2')], false],
  ['a token whose id begins so', {}, [entry('token', 'jti_')], false],
  ['the token among many', {}, ['a', 'b', 'jti_1', 'c'].map((id) => entry('token', id)), true],
  ['the grant', { gid: 'gra_1' }, [entry('grant', 'gra_1')], true],
  ['another grant', { gid: 'gra_1' }, [entry('grant', 'gra_2')], false],
  ['a grant, of a token without one', {}, [entry('grant', 'undefined'), entry('grant', '')], false],
  ['a grant with the id of the token', {}, [entry('grant', 'jti_1')], false],
  ['a token with the id of the grant', { gid: 'gra_1' }, [entry('token', 'gra_1')], false],
  ['the client', EPOCHS, [entry('client', 'cli_1')], true],
  ['the client up to a higher epoch', EPOCHS, [entry('client', 'cli_1', 6)], true],
  ['the client up to this epoch', EPOCHS, [entry('client', 'cli_1', 5)], false],
  ['the client up to a lower epoch', EPOCHS, [entry('client', 'cli_1', 4)], false],
  ['the client, of a token without epoch', {}, [entry('client', 'cli_1', 1)], true],
  ['the client up to epoch 0, of a token without epoch', {}, [entry('client', 'cli_1', 0)], false],
  [
    'the client, of a token with the epoch of the person alone',
    { epoch: { subject: 9 } },
    [entry('client', 'cli_1', 1)],
    true,
  ],
  ['another client', EPOCHS, [entry('client', 'cli_2')], false],
  ['a client with the id of the person', EPOCHS, [entry('client', 'usr_1')], false],
  ['the client of a machine', { ...MACHINE, ...EPOCHS }, [entry('client', 'cli_1', 6)], true],
  ['the person', EPOCHS, [entry('subject', 'usr_1')], true],
  ['the person up to a higher epoch', EPOCHS, [entry('subject', 'usr_1', 8)], true],
  ['the person up to this epoch', EPOCHS, [entry('subject', 'usr_1', 7)], false],
  ['the person up to a lower epoch', EPOCHS, [entry('subject', 'usr_1', 6)], false],
  ['the person, of a token without epoch', {}, [entry('subject', 'usr_1', 1)], true],
  ['another person', EPOCHS, [entry('subject', 'usr_2')], false],
  ['a person with the id of the client', EPOCHS, [entry('subject', 'cli_1')], false],
  ['a person with the id of the machine', { ...MACHINE, ...EPOCHS }, [entry('subject', 'cli_1')], false],
  ['the owner of a machine', { ...OWNED, ...EPOCHS }, [entry('subject', 'usr_9', 8)], true],
  ['the owner of a machine up to this epoch', { ...OWNED, ...EPOCHS }, [entry('subject', 'usr_9', 7)], false],
  ['the owner of a machine, without epoch', { ...OWNED, ...EPOCHS }, [entry('subject', 'usr_9')], true],
  ['an owner of the token of a person', { owner: 'usr_9' }, [entry('subject', 'usr_9')], false],
  ['a person, of a machine without owner', MACHINE, [entry('subject', 'undefined')], false],
  [
    'two epochs, the higher first',
    EPOCHS,
    [entry('subject', 'usr_1', 8), entry('subject', 'usr_1', 7)],
    true,
  ],
  ['two epochs, the higher last', EPOCHS, [entry('subject', 'usr_1', 7), entry('subject', 'usr_1', 8)], true],
  ['all, then an epoch', EPOCHS, [entry('client', 'cli_1'), entry('client', 'cli_1', 1)], true],
  ['an epoch, then all', EPOCHS, [entry('client', 'cli_1', 1), entry('client', 'cli_1')], true],
  [
    'a later end, then an earlier',
    {},
    [entry('token', 'jti_1'), { ...entry('token', 'jti_1'), until: CLOCK + 1 }],
    true,
  ],
  ['an entry twice', {}, [entry('token', 'jti_1'), entry('token', 'jti_1')], true],
  ['the signing key', {}, [entry('key', 'es')], true],
  ['another signing key', {}, [entry('key', 'rs')], false],
  ['a token with the id of the signing key', {}, [entry('token', 'es')], false],
  ['an unknown kind', {}, [entry('tenant', 'jti_1'), entry('constructor', 'jti_1')], false],
  ['an id of every object', {}, [entry('token', '__proto__'), entry('client', 'constructor', 9)], false],
  ['the id of every object', { jti: '__proto__' }, [entry('token', '__proto__')], true],
  [
    'malformed entries among others',
    {},
    [{}, { kind: 'token' }, { kind: 'token', id: 7, until: UNTIL }, entry('token', 'jti_1')],
    true,
  ],
  ['an epoch that is a text', {}, [{ ...entry('client', 'cli_1'), epoch: '1' }], false],
];

export async function revocationVectors(): Promise<Vector[]> {
  const all: Vector[] = [];
  for (const [name, claims, revocations, isRevoked] of CASES) {
    const sub = claims.sub ?? 'usr_1';
    const caller = accepted({ subject: sub, kind: sub === 'cli_1' ? 'machine' : 'person' });
    const expected = isRevoked ? invalidToken(REVOKED) : caller;
    const signed = `Bearer ${await token(claims)}`;
    all.push(vector(name, signed, { feed: { state: 'fresh', revocations }, expected }));
  }
  const signed = await token();
  const bearer = `Bearer ${signed}`;
  const silent = (then?: 'introspect' | 'refuse' | 'accept', revocations: Json[] = []) => ({
    feed: { state: 'silent' as const, revocations },
    ...(then === undefined ? {} : { options: { stale: { then } } }),
  });
  const revoked = [entry('token', 'jti_1')];
  const active = { [signed]: { active: true } };
  all.push(
    vector('silent, by default: active', bearer, {
      ...silent(),
      introspection: active,
      expected: accepted(),
    }),
    vector('silent, by default: inactive', bearer, {
      ...silent(),
      introspection: {},
      expected: invalidToken(REVOKED),
    }),
    vector('silent, by default: not reachable', bearer, { ...silent(), expected: NOT_KNOWN }),
    vector('silent, introspected: active', bearer, {
      ...silent('introspect'),
      introspection: active,
      expected: accepted(),
    }),
    vector('silent, introspected: inactive', bearer, {
      ...silent('introspect'),
      introspection: { [signed]: { active: false } },
      expected: invalidToken(REVOKED),
    }),
    vector('silent, introspected: active as a text', bearer, {
      ...silent('introspect'),
      introspection: { [signed]: { active: 'true' } },
      expected: invalidToken(REVOKED),
    }),
    vector('silent, introspected: not reachable', bearer, {
      ...silent('introspect'),
      introspection: { [signed]: null },
      expected: NOT_KNOWN,
    }),
    vector('silent, introspected: revoked by what is known', bearer, {
      ...silent('introspect', revoked),
      introspection: active,
      expected: invalidToken(REVOKED),
    }),
    vector('silent, introspected: an invalid token', 'Bearer x.y.z', {
      ...silent('introspect'),
      introspection: { 'x.y.z': { active: true } },
      expected: invalidToken(INVALID),
    }),
    vector('silent, refused', bearer, { ...silent('refuse'), introspection: active, expected: NOT_KNOWN }),
    vector('silent, refused: revoked by what is known', bearer, {
      ...silent('refuse', revoked),
      expected: invalidToken(REVOKED),
    }),
    vector('silent, refused: an invalid token', 'Bearer x.y.z', {
      ...silent('refuse'),
      expected: invalidToken(INVALID),
    }),
    vector('silent, accepted', bearer, { ...silent('accept'), introspection: {}, expected: accepted() }),
    vector('silent, accepted: revoked by what is known', bearer, {
      ...silent('accept', revoked),
      expected: invalidToken(REVOKED),
    }),
    vector('fresh, where it would be refused', bearer, {
      feed: { state: 'fresh', revocations: [] },
      options: { stale: { then: 'refuse' } },
      expected: accepted(),
    }),
    vector('no feed, where it would be refused', bearer, {
      options: { stale: { then: 'refuse' } },
      expected: accepted(),
    }),
  );
  return all;
}

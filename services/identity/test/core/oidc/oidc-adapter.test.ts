import { createSweeper } from '@gatehouse/data/sweeper';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { errors } from 'oidc-provider';
import t from 'tap';
import { createOidcStore, type OidcStoreOptions } from '../../../src/core/oidc/adapter/oidc-adapter.ts';

const denied: string[] = [];
const options: OidcStoreOptions = {
  findClient: async (id) => (id === 'known' ? { client_id: 'known', redirect_uris: [] } : undefined),
  findAccessToken: (handle) => (handle === 'handle' ? { kind: 'AccessToken', jti: 'j1' } : undefined),
  denyToken: async (jti) => void denied.push(`token ${jti}`),
  denyGrant: async (id) => void denied.push(`grant ${id}`),
  reuseGrace: 10,
  onRepeatedRefresh: async () => {},
  keepExchangedCode: 600,
};
const database = await startTestDatabase(t, { define: (connection) => createOidcStore(connection, options) });
const { store } = database;
const collection = (name: string) => database.connection.collection<{ _id: string }>(name);
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

t.test('stored payloads come back, with keys that are URLs', async (t) => {
  const grants = store.adapterFor('Grant');
  const payload = { jti: 'g1', accountId: 'usr_1', resources: { 'http://a.example/$api': 'read' }, exp: 99 };
  await grants.upsert('g1', payload, 60);
  const exp = Math.floor(Date.now() / 1000) + 60;
  const { exp: found, ...rest } = (await grants.find('g1')) ?? {};
  t.same({ ...rest, exp: 99 }, payload);
  t.ok(Math.abs(Number(found) - exp) <= 1, 'the end is the one that it is kept for');
  await store.extend('Grant', 'g1', 600);
  t.ok(Math.abs(Number((await grants.find('g1'))?.exp) - exp - 540) <= 1, 'which can be moved');
  await grants.upsert('g1', { ...payload, accountId: 'usr_2' }, 60);
  t.match(await grants.find('g1'), { accountId: 'usr_2' }, 'a second time is an update');
  await grants.destroy('g1');
  t.equal(await grants.find('g1'), undefined);
  t.same(denied, ['grant g1'], 'what was issued under it is denied');
});

t.test('a name is used once, until its time is over', async (t) => {
  const use = (name: string, seconds: number) => store.useOnce(name, new Date(Date.now() + seconds * 1000));
  const names = Array.from({ length: 40 }, (_, i) => `name ${i % 4}`);
  const results = await Promise.all(names.map((name) => use(name, 60)));
  t.equal(results.filter(Boolean).length, 4, 'also at the same time');
  t.equal(await use('name 1', 60), false);
  t.equal(await use('short', -1), true);
  t.strictSame((await Promise.all([use('short', 60), use('short', 60)])).toSorted(), [false, true]);
});

t.test('one of 20 concurrent requests consumes a code', async (t) => {
  const codes = store.adapterFor('AuthorizationCode');
  await store.adapterFor('Grant').upsert('g', { jti: 'g' }, 60);
  await store.adapterFor('RefreshToken').upsert('r', { jti: 'r', grantId: 'g' }, 60);
  await codes.upsert('code', { jti: 'code', grantId: 'g' }, 60);
  denied.length = 0;
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => codes.consume('code')));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { error: 'invalid_grant' } },
  );
  t.ok(denied.includes('grant g'), 'a code that comes twice ends its grant');
  t.equal(await store.adapterFor('Grant').find('g'), undefined);
  t.equal(await store.adapterFor('RefreshToken').find('r'), undefined);
  await t.rejects(codes.consume('no such code'), errors.InvalidGrant);
});

t.test('the database holds no code or token that could be used', async (t) => {
  await store.adapterFor('RefreshToken').upsert('the-refresh-token', { jti: 'the-refresh-token' }, 60);
  const stored = JSON.stringify(await collection('oidc_refresh_tokens').find({}).toArray());
  t.notMatch(stored, /the-refresh-token/);
  t.match(await store.adapterFor('RefreshToken').find('the-refresh-token'), { jti: 'the-refresh-token' });
});

t.test('expiry is checked when reading, and swept', async (t) => {
  const codes = store.adapterFor('AuthorizationCode');
  await codes.upsert('old', { jti: 'old' }, -1);
  await codes.upsert('fresh', { jti: 'fresh' }, 600);
  t.equal(await codes.find('old'), undefined);
  t.match(await codes.find('fresh'), { jti: 'fresh' });

  const before = await collection('oidc_authorization_codes').countDocuments({
    expires_at: { $lte: new Date() },
  });
  t.equal(before, 1);
  const sweeper = createSweeper(database.connection, store.collections, { logger, everySeconds: 0.01 });
  sweeper.start();
  const deadline = Date.now() + 5000;
  const left = () =>
    collection('oidc_authorization_codes').countDocuments({ expires_at: { $lte: new Date() } });
  while ((await left()) > 0 && Date.now() < deadline);
  await sweeper.stop();
  t.equal(await left(), 0);
  t.match(await codes.find('fresh'), { jti: 'fresh' });
});

t.test('everything of a grant goes with it', async (t) => {
  const tokens = store.adapterFor('RefreshToken');
  for (const id of ['a', 'b']) await tokens.upsert(id, { jti: id, grantId: 'gone' }, 60);
  await tokens.upsert('c', { jti: 'c', grantId: 'stays' }, 60);
  await tokens.revokeByGrantId('gone');
  t.same([await tokens.find('a'), await tokens.find('b')], [undefined, undefined]);
  t.match(await tokens.find('c'), { jti: 'c' });
});

t.test('a rotated refresh token is found as consumed', async (t) => {
  const tokens = store.adapterFor('RefreshToken');
  await tokens.upsert('rotated', { jti: 'rotated', grantId: 'family' }, 60);
  await tokens.consume('rotated');
  denied.length = 0;
  await tokens.consume('rotated');
  t.same(denied, [], 'the family lives');
  const earlier = new Date(Date.now() - 11_000);
  await collection('oidc_refresh_tokens').updateOne(
    { grant_id: 'family' },
    { $set: { consumed_at: earlier } },
  );
  t.match(await tokens.find('rotated'), { consumed: Math.floor(earlier.getTime() / 1000) });
});

t.test('objects older than the epoch of their account end', async (t) => {
  const sessions = store.adapterFor('Session');
  const grants = store.adapterFor('Grant');
  for (const epoch of [1, 2]) {
    await sessions.upsert(`old${epoch}`, { jti: '', uid: `of-${epoch}`, accountId: 'usr_9', epoch }, 60);
    await grants.upsert(`grant-${epoch}`, { jti: `grant-${epoch}`, accountId: 'usr_9', epoch }, 60);
  }
  await sessions.upsert('other', { jti: '', uid: 'other', accountId: 'usr_8', epoch: 0 }, 60);
  denied.length = 0;
  t.same(
    (await all(store.sessionsOf('usr_9', 2))).map(({ id }) => id),
    ['of-1'],
  );
  await store.endGrantsBelow('usr_9', 2);
  t.same(
    (await all(store.grantsOf('usr_9'))).map(({ id }) => id),
    ['grant-2'],
  );
  t.same(denied, ['grant grant-1']);
  t.equal((await all(store.sessionsOf('usr_8'))).length, 1);
  t.equal(await store.endSession('other', 'usr_9'), undefined, 'nobody ends the session of somebody else');
  const ends = await Promise.all([1, 2].map(() => store.endSession('other', 'usr_8')));
  t.equal(ends.filter((ended) => ended?.accountId === 'usr_8').length, 1, 'one of several ends it');
});

t.test('ended objects are never stored again, under the same id or another', async (t) => {
  const sessions = store.adapterFor('Session');
  const grants = store.adapterFor('Grant');
  const session = (more: object = {}) => ({ jti: '', uid: 'u-end', accountId: 'usr_7', ...more });
  const grant = { jti: 'g-end', accountId: 'usr_7', clientId: 'known' };
  const ends: [string, () => Promise<unknown>][] = [
    ['by its account', () => store.endSession('u-end', 'usr_7')],
    ['by its id', () => sessions.destroy('first')],
  ];
  for (const [name, end] of ends) {
    await sessions.upsert('first', session({ epoch: 4 }), 60);
    await sessions.upsert('second', session({ epoch: 4 }), 60);
    t.equal(await sessions.find('first'), undefined, 'a session has one id');
    await sessions.upsert('first', session({ epoch: 4 }), 60);
    await end();
    for (const id of ['first', 'third']) {
      await t.rejects(sessions.upsert(id, session({ epoch: 9 }), 60), errors.SessionNotFound, name);
      t.equal(await sessions.find(id), undefined, name);
    }
    t.same(await all(store.sessionsOf('usr_7')), [], name);
    t.equal(await store.endSession('u-end', 'usr_7'), undefined, 'it ends once');
    await collection('oidc_sessions').deleteMany({});
  }
  for (const end of [store.endGrant, grants.destroy]) {
    await grants.upsert('g-end', grant, 60);
    await end('g-end');
    await store.extend('Grant', 'g-end', 600);
    await t.rejects(grants.upsert('g-end', grant, 60), errors.SessionNotFound);
    t.same([await grants.find('g-end'), await all(store.grantsOf('usr_7'))], [undefined, []]);
    await collection('oidc_grants').deleteMany({});
  }
  // Whatever the order, the end has the last word.
  for (let i = 0; i < 20; i += 1) {
    const saved = session({ uid: `race-${i}` });
    await sessions.upsert(`race-${i}`, saved, 60);
    const writes = [1, 2, 3].map((n) => sessions.upsert(`race-${i}-${n}`, saved, 60));
    await Promise.allSettled([...writes, store.endSession(`race-${i}`, 'usr_7'), ...writes]);
  }
  t.same(await all(store.sessionsOf('usr_7')), []);
});

t.test(
  'access tokens are not stored: handles stand for them, and to destroy one is to deny it',
  async (t) => {
    const tokens = store.adapterFor('AccessToken');
    t.match(await tokens.find('handle'), { jti: 'j1' });
    t.equal(await store.adapterFor('ClientCredentials').find('handle'), undefined);
    denied.length = 0;
    await tokens.destroy('j1');
    t.same(denied, ['token j1']);
    await t.rejects(tokens.upsert('j1', {}, 60));
  },
);

t.test('tokens of a grant are denied before the grant is removed', async (t) => {
  const grants = createOidcStore(database.connection.useDb('ending'), {
    findClient: async () => undefined,
    findAccessToken: () => undefined,
    denyToken: async () => {},
    async denyGrant() {
      throw new Error('the process died here');
    },
    reuseGrace: 10,
    onRepeatedRefresh: async () => {},
    keepExchangedCode: 600,
  });
  await grants.adapterFor('Grant').upsert('g9', { jti: 'g9' }, 60);
  await t.rejects(grants.endGrant('g9'), /died/);
  t.match(await grants.adapterFor('Grant').find('g9'), { jti: 'g9' }, 'it can be ended once more');
});

t.test('an interaction is kept without the id of the session', async (t) => {
  const payload = { jti: 'i1', session: { uid: 'u', cookie: 'the-session-id', accountId: 'usr_1' } };
  await store.adapterFor('Interaction').upsert('i1', payload as never, 60);
  const stored = JSON.stringify(await collection('oidc_interactions').find({}).toArray());
  t.notMatch(stored, /the-session-id/);
  t.match(await store.adapterFor('Interaction').find('i1'), { session: { uid: 'u', accountId: 'usr_1' } });
});

t.test('sessions are found by uid; look-ups use indexes', async (t) => {
  const sessions = store.adapterFor('Session');
  await sessions.upsert('s1', { jti: 's1', uid: 'u1' }, 60);
  t.match(await sessions.findByUid('u1'), { uid: 'u1' });
  t.match(await sessions.find('s1'), { jti: 's1', uid: 'u1' });
  for (const [name, filter] of [
    ['oidc_sessions', { id_hash: 'h' }],
    ['oidc_sessions', { account_id: 'a', epoch: { $lt: 2 } }],
    ['oidc_sessions', { account_id: 'a', _id: 'u1' }],
    ['oidc_grants', { account_id: 'a', epoch: { $lt: 2 } }],
    ['oidc_grants', { client_id: 'c' }],
    ['oidc_refresh_tokens', { grant_id: 'g' }],
    ['oidc_authorization_codes', { expires_at: { $lte: new Date() } }],
  ] as const) {
    const plan = JSON.stringify(await collection(name).find(filter).explain('queryPlanner'));
    t.match(plan, /IXSCAN/, name);
    t.notMatch(plan, /COLLSCAN/, name);
  }
});

t.test('sessions and grants of an account are all found, however many, and without sorting', async (t) => {
  const soon = (i: number) => new Date(Date.now() + 60_000 + i);
  const many = Array.from({ length: 450 }, (_, i) => ({
    ...{ account_id: 'usr_5', epoch: 0, payload: '{}', consumed_at: null, expires_at: soon(i) },
    _id: `many-${i % 2}-${i}`,
  }));
  for (const [name, find] of [
    ['oidc_sessions', store.sessionsOf],
    ['oidc_grants', store.grantsOf],
  ] as const) {
    await collection(name).insertMany(many);
    const found = await all(find('usr_5'));
    t.equal(found.length, 450, name);
    t.equal(found[0]?.id, 'many-1-449', 'the latest first');
    const query = collection(name).find({ account_id: 'usr_5' }).sort({ expires_at: -1 });
    const { queryPlanner } = (await query.explain('queryPlanner')) as {
      queryPlanner: { winningPlan: object };
    };
    t.notMatch(JSON.stringify(queryPlanner.winningPlan), /"stage":"SORT"/, name);
  }
});

t.test('clients are read from the applications and never written', async (t) => {
  const clients = store.adapterFor('Client');
  t.match(await clients.find('known'), { client_id: 'known' });
  t.equal(await clients.find('unknown'), undefined);
  await t.rejects(clients.upsert('x', {}, 1));
  t.throws(() => store.adapterFor('Invention'), /no collection/);
});

t.test(
  'what several requests authorize in a session at once is all in it, so that a sign-out ends it',
  async (t) => {
    const sessions = store.adapterFor('Session');
    const first = {
      jti: 'tabs',
      uid: 'u-tabs',
      accountId: 'usr_tabs',
      authorizations: { a: { sid: 'a1' }, old: {} },
    };
    await sessions.upsert('tabs', first, 60);
    const tabs = await Promise.all(
      ['a', 'app.b', 'c$'].map(async (id) => [id, await sessions.find('tabs')] as const),
    );
    for (const [id, tab] of tabs) {
      const { old: _, ...rest } = (tab?.authorizations ?? {}) as Record<string, object>;
      const authorizations = { ...rest, [id]: { sid: `${id} 2` } };
      await sessions.upsert('tabs', { ...tab, authorizations }, 60);
    }
    t.same((await store.endSession('u-tabs', 'usr_tabs'))?.authorizations, {
      a: { sid: 'a 2' },
      'app.b': { sid: 'app.b 2' },
      c$: { sid: 'c$ 2' },
    });
  },
);

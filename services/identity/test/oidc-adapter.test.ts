import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { errors } from 'oidc-provider';
import t from 'tap';
import { createOidcStore } from '../src/oidc-adapter.ts';

const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
const database = createDatabase({ uri: await testDatabase(t), name: 'identity', logger });
const store = createOidcStore(database.connection, async (id) =>
  id === 'known' ? { client_id: 'known', redirect_uris: [] } : undefined,
);
await database.start();
t.teardown(() => database.stop());
const collection = (name: string) => database.connection.collection(name);

t.test('what is stored comes back, with keys that are URLs', async (t) => {
  const grants = store.adapterFor('Grant');
  const payload = { jti: 'g1', accountId: 'usr_1', resources: { 'http://a.example/$api': 'read' }, exp: 99 };
  await grants.upsert('g1', payload, 60);
  t.same(await grants.find('g1'), payload);
  await grants.upsert('g1', { ...payload, accountId: 'usr_2' }, 60);
  t.match(await grants.find('g1'), { accountId: 'usr_2' }, 'a second time is an update');
  await grants.destroy('g1');
  t.equal(await grants.find('g1'), undefined);
});

t.test('of 20 that consume one code at once, one succeeds', async (t) => {
  const codes = store.adapterFor('AuthorizationCode');
  await codes.upsert('code', { jti: 'code', grantId: 'g' }, 60);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => codes.consume('code')));
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { error: 'invalid_grant' } },
  );
  t.match(await codes.find('code'), { jti: 'code', consumed: Number });
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

t.test('sessions are found by uid; look-ups use indexes', async (t) => {
  const sessions = store.adapterFor('Session');
  await sessions.upsert('s1', { jti: 's1', uid: 'u1' }, 60);
  t.match(await sessions.findByUid('u1'), { jti: 's1' });
  for (const [name, filter] of [
    ['oidc_sessions', { uid: 'u1' }],
    ['oidc_refresh_tokens', { grant_id: 'g' }],
    ['oidc_authorization_codes', { expires_at: { $lte: new Date() } }],
  ] as const) {
    const plan = JSON.stringify(await collection(name).find(filter).explain('queryPlanner'));
    t.match(plan, /IXSCAN/, name);
    t.notMatch(plan, /COLLSCAN/, name);
  }
});

t.test('clients are read from the applications and never written', async (t) => {
  const clients = store.adapterFor('Client');
  t.match(await clients.find('known'), { client_id: 'known' });
  t.equal(await clients.find('unknown'), undefined);
  await t.rejects(clients.upsert('x', {}, 1));
  t.throws(() => store.adapterFor('Invention'), /no collection/);
});

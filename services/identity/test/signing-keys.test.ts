import { randomBytes } from 'node:crypto';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createSealer } from '../src/sealing.ts';
import { createSigningKeyStore } from '../src/signing-key-store.ts';
import { loadSigningKeys } from '../src/signing-keys.ts';

const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
const database = createDatabase({ uri: await testDatabase(t), name: 'identity', logger });
const store = createSigningKeyStore(database.connection);
await database.start();
t.teardown(() => database.stop());
const sealer = createSealer(randomBytes(32), 'signing keys');

t.test('replicas that start at once end up with the same keys', async (t) => {
  const sets = await Promise.all(Array.from({ length: 4 }, () => loadSigningKeys(store, sealer)));
  const kids = sets.map(({ keys }) =>
    keys
      .map(({ kid }) => kid)
      .sort()
      .join(),
  );
  t.equal(new Set(kids).size, 1);
  t.same(sets[0]?.keys.map(({ alg }) => alg).sort(), ['ES256', 'RS256']);
  t.same(await loadSigningKeys(store, sealer), sets[0], 'and a later start loads them');
});

t.test('the database holds no private key in the clear', async (t) => {
  const { keys } = await loadSigningKeys(store, sealer);
  const stored = JSON.stringify(await database.connection.collection('signing_keys').find({}).toArray());
  for (const { d } of keys) t.notMatch(stored, new RegExp(String(d)));
});

t.test('another master key is refused with a sentence', async (t) => {
  const other = createSealer(randomBytes(32), 'signing keys');
  await t.rejects(loadSigningKeys(store, other), /sealed under another master key/);
});

t.test('sealing binds the purpose and the context, and notices a change', async (t) => {
  const key = randomBytes(32);
  const sealed = createSealer(key, 'a').seal('secret', 'context');
  t.equal(createSealer(key, 'a').open(sealed, 'context'), 'secret');
  t.throws(() => createSealer(key, 'b').open(sealed, 'context'));
  t.throws(() => createSealer(key, 'a').open(sealed, 'other'));
  const changed = Buffer.from(sealed, 'base64url');
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  t.throws(() => createSealer(key, 'a').open(changed.toString('base64url'), 'context'));
  t.not(createSealer(key, 'a').seal('secret', 'context'), sealed, 'a fresh nonce each time');
});

import { randomBytes } from 'node:crypto';
import { createSealer } from '@gatehouse/core/sealing';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { decodeProtectedHeader } from 'jose';
import Provider from 'oidc-provider';
import t from 'tap';
import { rotateSigningKeys } from '../../src/keys/key-rotation.ts';
import { createSigningKeyStore } from '../../src/keys/signing-key-store.ts';
import { loadSigningKeys } from '../../src/keys/signing-keys.ts';

const database = await startTestDatabase(t, { define: createSigningKeyStore });
const { store } = database;
const sealer = createSealer([randomBytes(32)]);

t.test('replicas that start at once end up with the same keys', async (t) => {
  const sets = await Promise.all(Array.from({ length: 4 }, () => loadSigningKeys(store, sealer)));
  const kids = sets.map(({ keys }) => keys.map(({ kid }) => kid).join());
  t.equal(new Set(kids).size, 1);
  const [first] = sets;
  t.same(
    first?.keys.map(({ alg }) => alg),
    ['ES256', 'ES256', 'RS256', 'RS256'],
    'a current and a next one',
  );
  t.same(first?.currentKid, { ES256: first?.keys[0]?.kid, RS256: first?.keys[2]?.kid });
  t.same(await loadSigningKeys(store, sealer), first, 'and a later start loads them');
});

t.test('the database holds no private key in the clear', async (t) => {
  const { keys } = await loadSigningKeys(store, sealer);
  const stored = JSON.stringify(await database.connection.collection('key_rings').find({}).toArray());
  t.match(stored, keys[0]?.kid);
  for (const { d } of keys) t.notOk(stored.includes(String(d)));
});

t.test('another master key is refused with a sentence', async (t) => {
  const other = createSealer([randomBytes(32)]);
  await t.rejects(loadSigningKeys(store, other), /sealed under another master key/);
  const before = await store.all();
  await t.rejects(rotateSigningKeys(store, other), /sealed under another master key/);
  t.same(await store.all(), before, 'and nothing is written over');
});

t.test('oidc-provider signs with the current key, of several that fit', async (t) => {
  for (let i = 0; i < 2; i += 1) await rotateSigningKeys(store, sealer);
  const set = await loadSigningKeys(store, sealer);
  const states = set.rings.map(({ keys }) => keys.map(({ state }) => state).sort());
  t.same(states, Array(2).fill(['current', 'next', 'previous', 'previous']));
  for (const algorithm of ['ES256', 'RS256'] as const) {
    const provider = new Provider('https://issuer.example', {
      jwks: { keys: set.keys },
      enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256'] },
      clients: [
        {
          client_id: 'app',
          client_secret: 's'.repeat(32),
          redirect_uris: ['https://app.example/back'],
          id_token_signed_response_alg: algorithm,
        },
      ],
    });
    const client = await provider.Client.find('app');
    if (client === undefined) throw new Error('no client');
    const idToken = new provider.IdToken({ sub: 'somebody' }, { client, ctx: undefined } as never);
    const header = decodeProtectedHeader(await idToken.issue({ use: 'idtoken' } as never));
    t.same(header, { alg: algorithm, kid: set.currentKid[algorithm] });
  }
});

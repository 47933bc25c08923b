import { createLocalJWKSet, importJWK, type JWK, jwtVerify, SignJWT } from 'jose';
import t from 'tap';
import { rotateSigningKeys } from '../../src/keys/key-rotation.ts';
import { loadSigningKeys, type SigningKeyStore } from '../../src/keys/signing-keys.ts';
import { setUpKeys } from './set-up.ts';

t.test('the next key becomes current, the current one previous, and a new next one is made', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  const { version } = await loadSigningKeys(store, sealer);
  const before = { ES256: await kids('ES256'), RS256: await kids('RS256') };
  const { rotated } = await rotateSigningKeys(store, sealer);
  t.match(rotated, [
    { algorithm: 'ES256', retired: before.ES256.current, current: before.ES256.next, dropped: [] },
    { algorithm: 'RS256', retired: before.RS256.current, current: before.RS256.next, dropped: [] },
  ]);
  for (const algorithm of ['ES256', 'RS256'] as const) {
    const after = await kids(algorithm);
    t.match(after, { current: before[algorithm].next, previous: [before[algorithm].current], next: /^key_/ });
    t.not(after.next, before[algorithm].next);
  }
  const set = await loadSigningKeys(store, sealer);
  t.equal(set.currentKid.ES256, before.ES256.next);
  t.not(set.version, version);
});

t.test('one algorithm alone', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const rs256 = await kids('RS256');
  const { rotated } = await rotateSigningKeys(store, sealer, { algorithm: 'ES256' });
  t.same(
    rotated.map(({ algorithm }) => algorithm),
    ['ES256'],
  );
  t.same(await kids('RS256'), rs256);
});

t.test('a rotation before the first start makes the keys first', async (t) => {
  const { store, sealer } = await setUpKeys(t);
  t.equal((await rotateSigningKeys(store, sealer)).rotated.length, 2);
});

t.test(
  'verifiers with the keys from before a rotation accept what is signed after it, and the reverse',
  async (t) => {
    const { store, sealer } = await setUpKeys(t);
    const sets = [await loadSigningKeys(store, sealer)];
    for (let i = 0; i < 2; i += 1) {
      await rotateSigningKeys(store, sealer);
      sets.push(await loadSigningKeys(store, sealer));
    }
    for (const [signer, verifier, accepted] of [
      [0, 0, true],
      [1, 0, true],
      [0, 1, true],
      [0, 2, true],
      [2, 1, true],
      [2, 0, false],
    ] as const) {
      const [key] = sets[signer]?.keys ?? [];
      if (key === undefined) throw new Error('no key');
      const token = await new SignJWT()
        .setProtectedHeader({ alg: 'ES256', kid: String(key.kid) })
        .sign(await importJWK(key));
      const verified = jwtVerify(
        token,
        createLocalJWKSet({ keys: (sets[verifier]?.keys ?? []).map(publicPart) }),
      );
      if (accepted) await t.resolves(verified, `signed after ${signer} rotations, keys after ${verifier}`);
      else await t.rejects(verified, 'two rotations in a row are too many for fetched keys');
    }
  },
);

t.test('one of several rotations of the same current key happens', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  for (const compromised of [false, true]) {
    const before = await kids();
    let looking = 5;
    const looked = Promise.withResolvers<void>();
    const together: SigningKeyStore = {
      ...store,
      replace: async (ring) => {
        looking -= 1;
        if (looking === 0) looked.resolve();
        await looked.promise;
        return store.replace(ring);
      },
    };
    const options = { algorithm: 'ES256', compromised } as const;
    const results = await Promise.all(
      Array.from({ length: 5 }, () => rotateSigningKeys(together, sealer, options)),
    );
    const rotated = results.flatMap(({ rotated }) => rotated);
    t.equal(rotated.length, 1);
    t.equal((await kids()).current, rotated[0]?.current);
    t.equal(rotated[0]?.current === before.next, !compromised, 'the next one, unless it may have leaked');
  }
});

t.test('twenty rotations at once are one', async (t) => {
  const { store, sealer, kids, passSeconds } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  for (const compromised of [false, true]) {
    const options = { minAgeSeconds: 60, compromised };
    await passSeconds(61);
    const before = await kids();
    const results = await Promise.all(
      Array.from({ length: 20 }, () =>
        rotateSigningKeys(store, sealer, { ...options, algorithm: 'ES256' as const }),
      ),
    );
    const rotated = results.flatMap(({ rotated }) => rotated);
    t.equal(rotated.length, 1);
    t.equal((await kids()).current, rotated[0]?.current);
    t.equal(rotated[0]?.current === before.next, !compromised, 'the next one, unless it may have leaked');
  }
});

t.test('one after the other, rotations with a least age are one', async (t) => {
  const { store, sealer, passSeconds } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const options = { algorithm: 'ES256', minAgeSeconds: 100, minPublishedSeconds: 50 } as const;
  t.same((await rotateSigningKeys(store, sealer, options)).rotated, [], 'too young');
  await passSeconds(101);
  t.equal((await rotateSigningKeys(store, sealer, options)).rotated.length, 1);
  t.same((await rotateSigningKeys(store, sealer, options)).rotated, []);
  t.match((await rotateSigningKeys(store, sealer, { algorithm: 'ES256' })).rotated, [{ published: 0 }]);
});

t.test('the next key has to be published for long enough, where that is asked', async (t) => {
  const { store, sealer, passSeconds } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const options = { algorithm: 'ES256', minPublishedSeconds: 900 } as const;
  await passSeconds(890);
  t.same((await rotateSigningKeys(store, sealer, options)).rotated, []);
  await passSeconds(11);
  const [{ published = 0 } = {}] = (await rotateSigningKeys(store, sealer, options)).rotated;
  t.ok(published >= 901 && published < 960, `${published} s`);
});

t.test('compromised: no key that was stored before signs or verifies', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  await rotateSigningKeys(store, sealer);
  const leaked = (await loadSigningKeys(store, sealer)).keys;
  t.equal(leaked.length, 6, 'a current, a next and a previous one of each algorithm');
  const { rotated } = await rotateSigningKeys(store, sealer, { compromised: true });
  t.same(
    rotated.map(({ algorithm, published }) => ({ algorithm, published })),
    [
      { algorithm: 'ES256', published: 0 },
      { algorithm: 'RS256', published: 0 },
    ],
  );
  const { keys, currentKid } = await loadSigningKeys(store, sealer);
  const published = createLocalJWKSet({ keys: keys.map(publicPart) });
  for (const key of leaked) {
    const { alg = '', kid = '' } = key;
    t.notOk(Object.values(currentKid).includes(kid), `${alg} does not sign`);
    const forged = await new SignJWT().setProtectedHeader({ alg, kid }).sign(await importJWK(key));
    await t.rejects(jwtVerify(forged, published), { code: 'ERR_JWKS_NO_MATCHING_KEY' });
  }
  const dropped = [...(await kids('ES256')).dropped, ...(await kids('RS256')).dropped];
  t.same(dropped.sort(), leaked.map(({ kid }) => kid).sort());
  t.same(rotated.flatMap((rotation) => rotation.dropped).sort(), dropped);
});

t.test('a compromised key is dropped also when others rotate at the same moment', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const before = await kids();
  let others: Awaited<ReturnType<typeof kids>> | undefined;
  // The plain rotation comes between the other's look and its write.
  const slow: SigningKeyStore = {
    ...store,
    replace: async (ring) => {
      if (others === undefined) {
        await rotateSigningKeys(store, sealer, { algorithm: 'ES256' });
        others = await kids();
      }
      return store.replace(ring);
    },
  };
  const { rotated } = await rotateSigningKeys(slow, sealer, { algorithm: 'ES256', compromised: true });
  t.equal(others?.current, before.next);
  const stored = [before.current, before.next, others?.next];
  t.same(rotated[0]?.dropped.sort(), stored.sort(), 'those of the other rotation are, too');
  const after = await kids();
  t.same(after.dropped.sort(), stored);
  t.match(after, { current: rotated[0]?.current, previous: [] });
  t.notOk(stored.includes(after.current) || stored.includes(after.next));
});

t.test('a crash at any moment of a rotation leaves a whole ring', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  for (const compromised of [false, true]) {
    for (const when of ['before', 'after']) {
      const before = await kids();
      const crashing: SigningKeyStore = {
        ...store,
        replace: async (ring) => {
          if (when === 'after') await store.replace(ring);
          throw new Error('crash');
        },
      };
      await t.rejects(rotateSigningKeys(crashing, sealer, { algorithm: 'ES256', compromised }), /crash/);
      const { keys, currentKid } = await loadSigningKeys(store, sealer);
      const expected = compromised ? (await kids()).current : before.next;
      t.equal(currentKid.ES256, when === 'after' ? expected : before.current);
      t.equal((await kids()).dropped.includes(before.next), when === 'after' && compromised);
      t.equal(keys[0]?.kid, currentKid.ES256);
      const after = await kids();
      t.match(after, { current: /^key_\w+$/, next: /^key_\w+$/ }, 'one of each');
    }
  }
});

t.test('a reader sees a current and a next key at every moment of many rotations', async (t) => {
  const { store, sealer, kids } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  let done = false;
  const rotating = (async () => {
    for (let i = 0; i < 30; i += 1) {
      await rotateSigningKeys(store, sealer, { algorithm: 'ES256', compromised: i % 3 === 0 });
    }
    done = true;
  })();
  let looks = 0;
  while (!done) {
    const { current, next } = await kids();
    if (!/^key_\w+$/.test(current) || !/^key_\w+$/.test(next)) t.fail(`${current} ${next}`);
    looks += 1;
  }
  await rotating;
  t.ok(looks > 20, `${looks} looks`);
});

t.test('every look goes by the primary key', async (t) => {
  const { database, store, sealer, ring } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  t.same(await store.versions(), [
    { algorithm: 'ES256', version: 1 },
    { algorithm: 'RS256', version: 1 },
  ]);
  const plan = await database.connection
    .collection('key_rings')
    .find({ _id: 'ES256' as never, version: 1 })
    .explain();
  t.match(JSON.stringify(plan), /IDHACK|"indexName":"_id_"|EXPRESS/);
  const stale = await ring();
  t.equal(await store.replace({ ...stale, version: 2 }), true);
  t.equal(await store.replace({ ...stale, version: 2 }), false, 'only over the version before');
});

function publicPart({ kty, kid, alg, use, crv, x, y, n, e }: JWK): JWK {
  return JSON.parse(JSON.stringify({ kty, kid, alg, use, crv, x, y, n, e }));
}

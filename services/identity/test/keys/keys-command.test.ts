import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { rotateSigningKeys } from '../../src/keys/key-rotation.ts';
import { type KeysTask, keysCommand, resealSigningKeys } from '../../src/keys/keys-command.ts';
import {
  createSigningKeySealer,
  loadSigningKeys,
  type SigningKeyStore,
} from '../../src/keys/signing-keys.ts';
import { setUpKeys } from './set-up.ts';

t.test('rotates, and says what happened to each key', async (t) => {
  const { uri, masterKey, store, sealer, kids, passSeconds } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  await passSeconds(3600);
  const run = async (task: KeysTask) => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const status = await keysCommand({ mongodbUri: uri, masterKeys: [masterKey], task, write });
    return { status, lines };
  };

  const before = { ES256: await kids('ES256'), RS256: await kids('RS256') };
  t.same(await run('rotate'), {
    status: 0,
    lines: (['ES256', 'RS256'] as const).map(
      (it) =>
        `${it}: ${before[it].next} signs from now on, at running services within seconds; ${before[it].current} stays published until the tokens ` +
        'that it signed have expired.',
    ),
  });
  t.equal((await kids()).current, before.ES256.next);

  const current = await kids();
  const { status, lines } = await run('rotate compromised');
  t.equal(status, 0);
  t.equal(lines.length, 4);
  t.match(
    lines[0],
    `ES256: ${(await kids()).current} signs from now on, at running services within seconds; dropped ${before.ES256.current}, ${current.current}, ${current.next}: `,
  );
  t.match(lines[1], /^ES256: warning: key_\w+ was first published \d+ seconds ago\./);
  t.match(await kids(), { previous: [], dropped: [before.ES256.current, current.current, current.next] });
});

t.test('reseals: the master key before is needed no longer, and the keys are the same', async (t) => {
  const { uri, masterKey: old, store, sealer } = await setUpKeys(t);
  await rotateSigningKeys(store, sealer);
  const before = await loadSigningKeys(store, sealer);
  const next = randomBytes(32);
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const reseal = () => keysCommand({ mongodbUri: uri, masterKeys: [next, old], task: 'reseal', write });
  const onlyNext = createSigningKeySealer([next]);
  await t.rejects(loadSigningKeys(store, onlyNext));
  t.equal(await reseal(), 0);
  t.match(lines, [/^All 6 signing keys are sealed under the first master key/]);
  t.same((await loadSigningKeys(store, onlyNext)).keys, before.keys);
  await t.rejects(loadSigningKeys(store, sealer), /sealed under another master key/);
  t.equal(await reseal(), 0, 'and again');
});

t.test('a rotation at the same moment as a resealing is lost as little as the resealing', async (t) => {
  const { masterKey: old, store, sealer, kids } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const next = randomBytes(32);
  // A process that is still to use the new one, and accepts it already.
  const accepting = createSigningKeySealer([old, next]);
  let rotations = 0;
  const slow: SigningKeyStore = {
    ...store,
    replace: async (ring) => {
      // The algorithms are resealed side by side: the rotation is of the ring that is about to be written.
      if (ring.algorithm === 'ES256') rotations += 1;
      if (ring.algorithm === 'ES256' && rotations === 1)
        await rotateSigningKeys(store, accepting, { algorithm: 'ES256' });
      return store.replace(ring);
    },
  };
  t.equal(await resealSigningKeys(slow, createSigningKeySealer([next, old])), 5);
  await t.resolves(loadSigningKeys(store, createSigningKeySealer([next])));
  t.equal((await kids()).previous.length, 1);
});

t.test('another master key, and a database that is away, are sentences and a status of 1', async (t) => {
  const { uri, store, sealer } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const before = await store.all();
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const other = randomBytes(32);
  for (const task of ['rotate', 'rotate compromised', 'reseal'] as const) {
    t.equal(await keysCommand({ mongodbUri: uri, masterKeys: [other], task, write }), 1);
    t.match(lines.shift(), /^The signing keys in the database were sealed under another master key/);
    t.same(await store.all(), before);
  }

  const socket = encodeURIComponent(join(tmpdir(), 'there-is-no-such.sock'));
  const nowhere = `mongodb://someone:hidden@${socket}/x`;
  const options = {
    mongodbUri: nowhere,
    masterKeys: [other] as const,
    task: 'rotate' as const,
    write,
    maxWaitSeconds: 0.3,
  };
  t.equal(await keysCommand(options), 1);
  t.same(lines, ['The database of the identity service cannot be reached.']);
});

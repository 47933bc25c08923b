import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { rotateKeysCommand } from '../../src/keys/rotate-command.ts';
import { loadSigningKeys } from '../../src/keys/signing-keys.ts';
import { setUpKeys } from './set-up.ts';

t.test('rotates, and says what happened to each key', async (t) => {
  const { uri, masterKey, store, sealer, kids, passSeconds } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  await passSeconds(3600);
  const run = async (compromised: boolean) => {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const status = await rotateKeysCommand({ mongodbUri: uri, masterKey, compromised, write });
    return { status, lines };
  };

  const before = { ES256: await kids('ES256'), RS256: await kids('RS256') };
  t.same(await run(false), {
    status: 0,
    lines: (['ES256', 'RS256'] as const).map(
      (it) =>
        `${it}: ${before[it].next} signs from now on, at running services within seconds; ${before[it].current} stays published until what it has signed ` +
        'has expired.',
    ),
  });
  t.equal((await kids()).current, before.ES256.next);

  const current = await kids();
  const { status, lines } = await run(true);
  t.equal(status, 0);
  t.equal(lines.length, 4);
  t.match(
    lines[0],
    `ES256: ${current.next} signs from now on, at running services within seconds; dropped ${before.ES256.current} and ${current.current}, and`,
  );
  t.match(lines[1], /^ES256: warning: key_\w+ was first published \d+ seconds ago\./);
  t.match(await kids(), { current: current.next, previous: [] });
});

t.test('another master key, and a database that is away, are sentences and a status of 1', async (t) => {
  const { uri, store, sealer } = await setUpKeys(t);
  await loadSigningKeys(store, sealer);
  const before = await store.all();
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const other = randomBytes(32);
  t.equal(await rotateKeysCommand({ mongodbUri: uri, masterKey: other, compromised: true, write }), 1);
  t.match(lines[0], /^The signing keys in the database were sealed under another master key/);
  t.same(await store.all(), before);

  const socket = encodeURIComponent(join(tmpdir(), 'there-is-no-such.sock'));
  const nowhere = `mongodb://someone:hidden@${socket}/x`;
  const options = { mongodbUri: nowhere, masterKey: other, compromised: false, write, maxWaitSeconds: 0.3 };
  t.equal(await rotateKeysCommand(options), 1);
  t.same(lines.slice(1), ['The database of the identity service cannot be reached.']);
});

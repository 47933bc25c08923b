// Runs alone, as it measures time.
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, MACHINE } from './build.ts';

t.setTimeout(150_000);

const EXPIRED = 20_000;

t.test('expired documents are removed within a minute, and nobody waits for that', async (t) => {
  const { database, json } = await build(t);
  const connection = await database();

  const indexed = await Promise.all(
    ((await connection.db?.listCollections().toArray()) ?? []).map(async ({ name }) => {
      const indexes = await connection.collection(name).indexes();
      return indexes.some(({ key }) => Object.keys(key)[0] === 'expires_at') ? [name] : [];
    }),
  );
  const collections = indexed.flat();
  t.ok(collections.length >= 11, collections.join(' '));

  const past = new Date(Date.now() - 1000);
  const future = new Date(Date.now() + 3_600_000);
  const fresh = { _id: 'fresh' as never, expires_at: future, client_id: 'fresh', hash: 'fresh', slot: 0 };
  for (const name of collections) await connection.collection(name).insertOne({ ...fresh });
  const old = Array.from({ length: EXPIRED }, (_, i) => ({
    _id: `old-${i}` as never,
    expires_at: past,
    // Unique in some of them.
    client_id: `old-${i}`,
    hash: `old-${i}`,
    token_hash: `old-${i}`,
    email_key: `old-${i}`,
    slot: i + 1,
  }));
  const [codes = '', ...others] = [
    'oidc_authorization_codes',
    ...collections.filter((name) => name !== 'oidc_authorization_codes'),
  ];
  await connection.collection(codes).insertMany(old.map((it) => ({ ...it })));
  for (const name of others)
    await connection.collection(name).insertMany(old.slice(0, 600).map((it) => ({ ...it })));
  const begin = performance.now();

  const slowest = { quiet: 0, sweeping: 0 };
  async function ask(key: keyof typeof slowest): Promise<void> {
    const asked = performance.now();
    const { status } = await json({ grant_type: 'client_credentials', ...MACHINE });
    if (status !== 200) throw new Error(`it answered ${status}`);
    slowest[key] = Math.max(slowest[key], performance.now() - asked);
  }
  for (let i = 0; i < 50; i += 1) await ask('quiet');

  for (const name of collections) {
    const due = { expires_at: { $lte: new Date() } };
    await until(async () => {
      await ask('sweeping');
      return (await connection.collection(name).countDocuments(due)) === 0;
    }, 60_000);
    t.equal(await connection.collection(name).countDocuments({ _id: 'fresh' as never }), 1, name);
  }
  const seconds = (performance.now() - begin) / 1000;
  t.comment(`${seconds.toFixed(1)} s; the slowest token took ${slowest.sweeping.toFixed(0)} ms`);
  t.ok(seconds < 60, `${seconds} s`);
  t.ok(slowest.sweeping < 1000, `${slowest.sweeping} ms`);
});

import { IDEMPOTENCY_KEYS } from '@gatehouse/data/idempotency-store';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { build } from './build.ts';

// It sweeps every twenty seconds.
t.setTimeout(90_000);

t.test('idempotency keys are removed once they expire, and not before', async (t) => {
  const { issuer, call, mongodbUri } = await build(t);
  const { connection } = await startTestDatabase(t, { uri: mongodbUri });
  const keys = connection.collection(IDEMPOTENCY_KEYS);
  const machine = await issuer.machine('write:users');
  for (const key of ['over', 'kept']) {
    await call('POST', '/users', machine, { name: 'Swept' }, { 'idempotency-key': key });
    if (key === 'over') await keys.updateMany({}, { $set: { expires_at: new Date(0) } });
  }
  t.equal(await keys.countDocuments(), 2);
  await until(async () => (await keys.countDocuments()) < 2, 60_000);
  t.equal(await keys.countDocuments({ expires_at: { $gt: new Date() } }), 1);
});

import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createVerifierStore } from '../../../src/features/resources/verifier-store.ts';
import { createVerifiers } from '../../../src/features/resources/verifiers.ts';
import { assertIndexed, withStores } from '../../store-set-up.ts';

const { store, connection, logger } = await withStores(t, (it) => ({ store: createVerifierStore(it) }));
const one = { id: 'aaaaaaaa', language: 'go', version: '0.1.0', stale: 'accept' };

t.test('a listener that does not read is behind, and one that reads is not', async (t) => {
  const verifiers = createVerifiers({ store, logger, recordMs: 50 });
  verifiers.start();
  t.teardown(verifiers.stop);
  const [slow, fast] = [
    verifiers.connect('rsr_1', one),
    verifiers.connect('rsr_1', { ...one, id: 'bbbbbbbb' }),
  ];
  const behind = async (id: string) => (await store.list('rsr_1')).find((it) => it.id === id)?.behindMs ?? -1;
  await until(async () => {
    fast.caughtUp(Date.now());
    return (await behind('aaaaaaaa')) > 500;
  }, 3000);
  t.ok((await behind('bbbbbbbb')) < 300);
  slow.close();
  await until(async () => (await store.list('rsr_1')).some((it) => !it.isConnected), 2000);
  t.equal((await store.list('rsr_1')).filter((it) => it.isConnected).length, 1, 'the other goes on');
});

t.test('the end of an earlier connection does not end a later one', async (t) => {
  await store.put('rsr_2', one, 'first');
  await store.put('rsr_2', one, 'second');
  await store.close('rsr_2', one.id, 'first');
  t.match(await store.list('rsr_2'), [{ isConnected: true }]);
});

t.test('one that was not seen for a while is not connected, and is forgotten later', async (t) => {
  await store.put('rsr_3', one, 'killed');
  const documents = connection.collection('verifiers');
  const seen_at = new Date(Date.now() - 100_000);
  await documents.updateOne({ resource: 'rsr_3' }, { $set: { seen_at, connected_at: seen_at } });
  const [silent] = await store.list('rsr_3');
  t.match(silent, { isConnected: false });
  t.ok(Number(silent?.behindMs) >= 100_000);
  await store.put('rsr_3', one, 'again');
  const [again] = await store.list('rsr_3');
  t.ok(Number(again?.connectedAt) > Number(seen_at), 'it has connected again');
  await documents.updateOne({ resource: 'rsr_3' }, { $set: { expires_at: new Date(Date.now() - 1) } });
  t.same(await store.list('rsr_3'), []);
  await store.touch([{ resource: 'rsr_4', id: 'forgotten', connection: 'x', behindMs: 0 }]);
  t.same(await store.list('rsr_4'), [], 'a record of one that is forgotten brings it not back');
});

t.test('its queries have indexes', async (t) => {
  await assertIndexed(t, connection, async () => {
    await store.put('rsr_5', one, 'x');
    await store.list('rsr_5');
    await store.beginTest('rsr_5', 'revocation-test-1');
    await store.noteTest('rsr_5', one.id, 'revocation-test-1', 'sent');
  });
});

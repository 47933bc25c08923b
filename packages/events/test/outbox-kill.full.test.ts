import { join } from 'node:path';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { spawnNode, until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createOutboxPublisher } from '../src/outbox-publisher.ts';

t.setTimeout(120_000);

t.test('kill -9 of writers and relays loses no event whose cause was acknowledged', async (t) => {
  const uri = await testDatabase(t);
  const { connection } = await startTestDatabase(t, { uri });
  const acknowledged = new Set<string>();
  for (let round = 0; round < 5; round += 1) {
    const writer = spawnNode([join(import.meta.dirname, 'outbox-writer.ts'), uri], {});
    t.teardown(() => writer.child.kill('SIGKILL'));
    const ids = () => writer.output().split('\n').slice(0, -1);
    await until(() => ids().length > 200 + round * 37, 20_000);
    writer.child.kill('SIGKILL');
    await writer.ended;
    for (const id of ids()) acknowledged.add(id);
  }

  const received = connection.collection<{ _id: string }>('received');
  const before = await received.countDocuments();
  t.ok(before > 0 && before < acknowledged.size, `${before} of ${acknowledged.size} were published before`);
  const receive = async ({ id }: OutboxEvent) => {
    await received.updateOne({ _id: id }, { $inc: { times: 1 } }, { upsert: true });
  };
  const relay = createOutboxPublisher({
    collection: connection.collection('things'),
    transport: { publish: receive },
    receivers: { 'things.other': receive },
    logger,
    sweepSeconds: 0.1,
  });
  relay.start();
  t.teardown(() => relay.stop());
  const things = connection.collection('things');
  await until(async () => (await things.countDocuments({ 'outbox.at': { $gt: new Date(0) } })) === 0, 60_000);
  const there = new Set((await received.find().toArray()).map(({ _id }) => _id));
  t.strictSame(
    [...acknowledged].filter((id) => !there.has(id)),
    [],
  );
  t.equal(await things.countDocuments({ deleted_at: { $exists: true } }), 0, 'no tombstone is left');
  t.ok((await things.countDocuments()) > 0, 'the others are');
});

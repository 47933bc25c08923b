import { continueTrace, during } from '@gatehouse/core/tracing';
import { recordTraces } from '@gatehouse/testing/otlp-receiver';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';

t.test('each operation is a span below the work that it is a part of, without its values', async (t) => {
  const traces = await recordTraces(t);
  const { connection } = await startTestDatabase(t);
  const things = connection.collection<{ _id: string }>('things');
  await things.insertMany(['a', 'b', 'c'].map((_id) => ({ _id })));

  const operations: Record<string, () => Promise<unknown>> = {
    insertOne: () => things.insertOne({ _id: 'secret' }),
    findOne: () => things.findOne({ _id: 'secret' }),
    find: () => things.find({ _id: 'secret' }).toArray(),
    aggregate: async () => {
      for await (const _ of things.aggregate([{ $match: {} }], { batchSize: 1 })) break;
    },
    updateOne: () => things.updateOne({ _id: 'a' }, { $set: { _id: 'secret' } }),
    bulkWrite: () => things.bulkWrite([{ deleteOne: { filter: { _id: 'secret' } } }]),
  };
  const failing = ['updateOne'];
  await Promise.all(
    Object.entries(operations).map(([name, operation]) =>
      during(continueTrace(undefined, name, { kind: 'server' }), operation).catch(() => {}),
    ),
  );
  await traces.send();
  const spans = traces.spans();
  for (const method of Object.keys(operations)) {
    const parent = spans.find(({ name }) => name === method);
    const below = spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId);
    t.match(below, [{ name: `${method} things`, failed: failing.includes(method) }]);
    t.match(below[0]?.attributes, {
      'db.system.name': 'mongodb',
      'db.collection.name': 'things',
      'db.operation.name': method,
    });
  }
  t.equal(spans.length, 2 * Object.keys(operations).length, 'and none of what belongs to no trace');
  t.notMatch(traces.received(), 'secret');
});

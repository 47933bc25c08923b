import { monitored } from '@gatehouse/testing/explain';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { defineCollection } from '../src/collection.ts';
import { createFindById } from '../src/find-by-id.ts';

type Thing = { _id: string; name: string };

const { store: collection, connection } = await startTestDatabase(t, {
  uri: monitored(await testDatabase(t)),
  define: (connection) => defineCollection(connection, 'things', []),
});
await collection.insertMany(Array.from({ length: 120 }, (_, i) => ({ _id: `${i}`, name: `n${i}`, size: i })));
const findById = createFindById<Thing>(collection, { name: 1 });
const expected = (id: string) => (Number(id) < 120 ? { _id: id, name: `n${Number(id)}` } : undefined);

/** The commands that an action sends to the database. */
async function commandsOf(action: () => Promise<unknown>): Promise<string[]> {
  const names: string[] = [];
  const client = connection.getClient();
  const onStarted = ({ commandName }: { commandName: string }) => void names.push(commandName);
  client.on('commandStarted', onStarted);
  await action();
  client.off('commandStarted', onStarted);
  return names;
}

const CALLS: [label: string, ids: string[], queries: number][] = [
  ['one', ['7'], 1],
  ['one that does not exist', ['500'], 1],
  ['several, in any order', ['9', '3', '7'], 1],
  ['some that do not exist', ['9', '500', '3', '501'], 1],
  ['the same one several times', ['3', '3', '7', '3'], 1],
  ['more than one query reads', Array.from({ length: 120 }, (_, i) => `${119 - i}`), 3],
];

t.test(
  'each call gets its document, and calls of one iteration of the event loop share a query',
  async (t) => {
    for (const [label, ids, queries] of CALLS) {
      let found: unknown;
      const commands = await commandsOf(async () => {
        found = await Promise.all(ids.map((id) => findById(id)));
      });
      t.strictSame(found, ids.map(expected), label);
      t.strictSame(commands, Array(queries).fill('find'), `${label}: queries`);
    }
  },
);

t.test('nothing is cached: each call sees what was written before it', async (t) => {
  for (const name of ['first', 'second']) {
    await collection.updateOne({ _id: '1' }, { $set: { name } });
    t.strictSame(await Promise.all([findById('1'), findById('2')]), [{ _id: '1', name }, expected('2')]);
  }
});

t.test('when the query fails, every call that shares it does', async (t) => {
  const failing = createFindById<Thing>(collection, { $bad: 1 });
  const results = await Promise.allSettled([failing('1'), failing('2')]);
  t.strictSame(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
});

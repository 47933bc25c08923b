import { untilFirstWrite } from '@gatehouse/core/dry-run';
import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import { monitored } from '@gatehouse/testing/explain';
import { logger } from '@gatehouse/testing/test-logger';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createDatabase, type Database } from '../src/database.ts';
import { createItemStore, type Item, type ItemDocument } from './item-store.ts';

const uri = monitored(await testDatabase(t));
const [database, another] = [1, 2].map(() => createDatabase({ uri, name: 'items', logger })) as [
  Database,
  Database,
];
const items = createItemStore(database.connection);
/** Like those of another process: only the database is shared. */
const otherItems = createItemStore(another.connection);
await Promise.all([database.start(), another.start()]);
t.teardown(() => Promise.all([database.stop(), another.stop()]));
const collection = database.connection.collection<ItemDocument>('items');

async function inserted(over: Partial<Item> = {}): Promise<Item> {
  const now = new Date();
  const id = newId('itm');
  const item = {
    id,
    name: id,
    value: '{}',
    ownerId: 'usr_ann',
    version: 1,
    createdAt: now,
    updatedAt: now,
    ...over,
  };
  await items.insert(item, [{ subject: 'items.item.created', data: { item_id: id } }]);
  return item;
}

/** A change that says in its event what it saw. */
const renamed = (name: string) => (current: Item, revision: { version: number; updatedAt: Date }) => ({
  next: { ...current, ...revision, name },
  events: [{ subject: 'items.item.changed', data: { before: current.name, version: revision.version } }],
});
const deleted = ({ id }: Item) => ({ events: [{ subject: 'items.item.deleted', data: { item_id: id } }] });
const subjectsOf = async (id: string) =>
  (await collection.findOne({ _id: id }))?.outbox?.map(({ subject }) => subject);

t.test('a change is written with its version, its time and its events', async (t) => {
  const { id } = await inserted();
  const change = await items.update(id, renamed('b'));
  t.match(change?.next, { id, name: 'b', version: 2, value: '{}' });
  t.strictSame(await items.findById(id), change?.next);
  t.match((await collection.findOne({ _id: id }))?.outbox, [
    { id: /^evt_/, subject: 'items.item.created', at: Date, data: { item_id: id } },
    { id: /^evt_/, subject: 'items.item.changed', at: Date, data: { before: id, version: 2 } },
  ]);
  t.match(await items.update(id, (current) => ({ next: { ...current, name: 'c' } })), {
    next: { name: 'c' },
  });
  t.match(await items.findById(id), { name: 'c', version: 3 }, 'whatever the change says');
});

t.test('documents of the same moment are inserted together, and fail alone', async (t) => {
  const { id } = await inserted();
  const commands: string[] = [];
  const client = database.connection.getClient();
  const record = ({ commandName }: { commandName: string }) => commands.push(commandName);
  client.on('commandStarted', record);
  const all = await Promise.allSettled([{}, { id }, {}].map(inserted));
  client.off('commandStarted', record);
  t.match(all, [{ status: 'fulfilled' }, { reason: { code: 11000 } }, { status: 'fulfilled' }]);
  t.same(commands, ['insert', 'insert'], 'the second one for the error');
});

t.test('without a change nothing is written', async (t) => {
  const item = await inserted();
  t.equal(await items.update(item.id, () => undefined), undefined);
  t.strictSame(await items.findById(item.id), item);
  const error = new ServiceError('conflict', 'no');
  const refuse = () => {
    throw error;
  };
  await t.rejects(items.update(item.id, refuse), error);
  await t.rejects(items.remove(item.id, refuse), error);
  t.strictSame(await items.findById(item.id), item);
});

t.test('the time of a change always increases', async (t) => {
  const ahead = new Date(Date.now() + 60_000);
  const { id } = await inserted({ updatedAt: ahead });
  for (let i = 1; i < 4; i += 1) {
    await items.update(id, renamed(`${i}`));
    t.equal((await items.findById(id))?.updatedAt.getTime(), ahead.getTime() + i);
  }
});

t.test('a conditional write is made only at the given versions', async (t) => {
  const { id } = await inserted();
  const meanwhile = { kind: 'precondition_failed', message: 'This item has been changed meanwhile.' };
  for (const versions of [[], [0], [2, 3]]) {
    await t.rejects(items.update(id, renamed('x'), versions), meanwhile);
    await t.rejects(items.remove(id, deleted, versions), meanwhile);
  }
  t.match(await items.update(id, renamed('x'), [1, 2]), { next: { version: 2 } });
  t.match(await items.update(id, renamed('y'), [1, 2]), { next: { version: 3 } });
  await collection.updateOne({ _id: id }, { $unset: { version: 1, outbox: 1 } });
  await t.rejects(items.update(id, renamed('z'), [1]), meanwhile);
  t.match(await items.update(id, renamed('z'), [0]), { next: { version: 1 } }, 'none is as good as 0');
  t.same(await subjectsOf(id), ['items.item.changed']);
});

t.test('missing documents', async (t) => {
  const none = { kind: 'not_found', message: 'There is no such item.' };
  await t.rejects(items.update('itm_none', renamed('x')), none);
  await t.rejects(items.remove('itm_none', deleted, [1]), none);
  const { id } = await inserted();
  await items.remove(id, deleted);
  await t.rejects(items.update(id, renamed('x')), none);
  await t.rejects(items.update(id, renamed('x'), [2]), none);
  await t.rejects(items.remove(id, deleted), none);
});

t.test('a deletion keeps its events and the given fields, or nothing', async (t) => {
  const { id, ...rest } = await inserted();
  const before = await items.count([]);
  t.match(await items.remove(id, (current) => ({ ...deleted(current), keep: { epoch: '$name' } })), {
    keep: { epoch: '$name' },
  });
  const left = await collection.findOne({ _id: id });
  t.same(Object.keys(left ?? {}).sort(), ['_id', 'deleted_at', 'epoch', 'outbox', 'version']);
  t.match(left, { epoch: '$name', version: 2, deleted_at: Date });
  t.same(await subjectsOf(id), ['items.item.created', 'items.item.deleted']);
  t.equal(await items.findById(id), undefined);
  t.equal(await items.count([]), before - 1);
  await t.rejects(items.insert({ id, ...rest }), { code: 11000 }, 'the id does not return');

  const silent = await inserted();
  await items.remove(silent.id, () => ({}));
  t.equal(await collection.findOne({ _id: silent.id }), null);
});

t.test('a hundred concurrent writers in two processes: no write is lost', async (t) => {
  const { id } = await inserted({ name: '0' });
  await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      (i % 2 === 0 ? items : otherItems).update(id, (current, revision) =>
        renamed(`${Number(current.name) + 1}`)(current, revision),
      ),
    ),
  );
  t.match(await items.findById(id), { name: '100', version: 101 });
  const outbox = (await collection.findOne({ _id: id }))?.outbox ?? [];
  t.same(
    outbox.slice(1).map(({ data }) => [data.before, data.version]),
    Array.from({ length: 100 }, (_, i) => [`${i}`, i + 2]),
  );
});

t.test('an event delivered between the read and the write is not restored', async (t) => {
  const { id } = await inserted();
  const { findOne } = Object.getPrototypeOf(collection);
  t.teardown(() => Reflect.deleteProperty(collection, 'findOne'));
  collection.findOne = async (...args: unknown[]) => {
    const found = await findOne.apply(collection, args);
    await collection.updateOne({ _id: id }, { $set: { outbox: [] } });
    return found;
  };
  await items.update(id, renamed('x'));
  t.same(await subjectsOf(id), ['items.item.changed']);
  await items.remove(id, deleted);
  t.same(await subjectsOf(id), ['items.item.deleted']);
});

t.test('a dry run inserts nothing, and lets others insert, while batches are under way', async (t) => {
  const dry = () => untilFirstWrite(() => inserted({ name: 'dry' }));
  const results = await Promise.all([dry(), inserted(), dry(), inserted().then(dry), dry(), inserted()]);
  t.equal(results.filter((it) => it !== undefined).length, 2);
  t.equal(await collection.countDocuments({ name: 'dry' }), 0);
});

t.test('a write with endless conflicts ends as unavailable', async (t) => {
  const { id } = await inserted();
  const { findOne } = Object.getPrototypeOf(collection);
  t.teardown(() => Reflect.deleteProperty(collection, 'findOne'));
  collection.findOne = async (...args: unknown[]) => {
    const found = await findOne.apply(collection, args);
    await collection.updateOne({ _id: id }, { $inc: { version: 1 } });
    return found;
  };
  const begin = performance.now();
  await t.rejects(items.update(id, renamed('x')), {
    kind: 'unavailable',
    message: 'Too many requests are changing this item.',
    headers: { 'retry-after': '1' },
  });
  t.ok(performance.now() - begin < 20_000);
  Reflect.deleteProperty(collection, 'findOne');
  t.match(await items.update(id, renamed('x')), { next: { name: 'x' } });
});

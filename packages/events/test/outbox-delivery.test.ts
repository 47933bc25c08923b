import { setTimeout as sleep } from 'node:timers/promises';
import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { type Options, setUp, type Thing } from './outbox-set-up.ts';

t.test('push publishes at once and takes the event out; a sweep finds nothing more', async (t) => {
  const { things, taken, relay, write, lines } = await setUp(t);
  const sender = relay();
  await write('a', 'a1', 'a2');
  t.equal(await sender.push('a'), true);
  t.same(taken, ['a1', 'a2']);
  t.same(await things.find().toArray(), [{ _id: 'a', outbox: [] }]);
  t.equal(await sender.push('a'), true, 'there is nothing left');
  t.equal(await sender.push('unknown'), true);
  sender.start();
  await write('b', 'b1');
  await until(() => taken.includes('b1'), 5000);
  t.same(taken, ['a1', 'a2', 'b1']);
  t.same(lines, []);
});

t.test('the event comes as it was written', async (t) => {
  const { things, relay } = await setUp(t);
  const event = outboxEvent('things.changed', { text: '$set', list: [1, { deep: null }] });
  t.match(event, { id: /^evt_/, at: Date });
  await things.insertOne({ _id: 'a', outbox: [event] });
  const got: OutboxEvent[] = [];
  await relay({ transport: { publish: async (event) => void got.push(event) } }).push('a', 1000, '.changed');
  t.strictSame(got, [event]);
});

t.test('a new relay publishes events that a crash left between the write and the publishing', async (t) => {
  const { taken, relay, write, waiting } = await setUp(t);
  for (let i = 0; i < 250; i += 1) await write(`doc${i}`, `event${i}`);
  relay().start();
  await until(async () => (await waiting()) === 0, 10_000);
  t.equal(taken.length, 250);
  t.equal(new Set(taken).size, 250);
});

t.test('a crash between the publishing and the mark publishes again', async (t) => {
  const { things, taken, relay, write } = await setUp(t);
  await write('a', 'a1', 'a2');
  const before = await things.findOne({ _id: 'a' });
  await relay().push('a');
  await things.updateOne({ _id: 'a' }, { $set: { outbox: before?.outbox ?? [] } });
  relay().start();
  await until(() => taken.length === 4, 5000);
  t.same(taken, ['a1', 'a2', 'a1', 'a2']);
});

t.test('a receiver that is away is asked less and less, and gets all when it is back', async (t) => {
  const { taken, receiver, relay, write, waiting, lines } = await setUp(t);
  let asked = 0;
  receiver.refuses = () => {
    asked += 1;
    return true;
  };
  for (let i = 0; i < 40; i += 1) await write(`doc${i}`, `event${i}`);
  const sender = relay();
  sender.start();
  t.equal(await sender.push('doc3'), false);
  await sleep(700);
  // Rounds of eight, with 100, 200, 400 ms or a little less between them.
  t.ok(asked >= 16 && asked <= 42, `asked ${asked} times`);
  t.equal(lines.length, 1, 'one line about it');
  t.match(lines[0], { level: 'warn', subject: 'things', err: { message: 'not now' } });
  receiver.refuses = () => false;
  await until(async () => (await waiting()) === 0, 5000);
  t.equal(new Set(taken).size, 40);
});

t.test('a search that an outage of the database has held up is repeated soon', async (t) => {
  const { things, taken, relay, write } = await setUp(t);
  await write('a', 'a1');
  let isAway = true;
  const collection = new Proxy(things, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'find' && isAway) {
        isAway = false;
        return () => ({
          [Symbol.asyncIterator]: () => ({
            async next() {
              await sleep(500);
              throw new Error('the database is away');
            },
          }),
          async close() {},
        });
      }
      return typeof value === 'function' ? value.bind(target) : value;
    },
  }) as unknown as Options['collection'];
  relay({ collection }).start();
  await until(() => taken.includes('a1'), 2500);
});

t.test('push waits no longer than waitMs; the publishing goes on', async (t) => {
  const { taken, receiver, relay, write, waiting } = await setUp(t);
  const gate = Promise.withResolvers<void>();
  receiver.before = () => gate.promise;
  await write('a', 'a1');
  const sender = relay();
  const begin = performance.now();
  t.equal(await sender.push('a', 50), false);
  t.ok(performance.now() - begin < 1000);
  const second = sender.push('a', 5000);
  gate.resolve();
  t.equal(await second, true);
  t.same(taken, ['a1'], 'published once');
  t.equal(await waiting(), 0);
});

t.test('stop lets the publishing under way end, and begins no other', async (t) => {
  const { things, taken, receiver, relay, write } = await setUp(t);
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  receiver.before = () => {
    begun.resolve();
    return gate.promise;
  };
  await write('a', 'a1', 'a2');
  const sender = relay();
  sender.start();
  await begun.promise;
  const pushed = sender.push('a', 5000);
  const stopping = sender.stop();
  t.equal(await Promise.race([stopping, sleep(50, 'waits')]), 'waits');
  gate.resolve();
  await stopping;
  t.same(taken, ['a1']);
  t.equal(await pushed, false);
  t.equal(await sender.push('a'), false);
  t.same(
    (await things.findOne({ _id: 'a' }))?.outbox.map(({ data }) => data.name),
    ['a2'],
    'and it is marked',
  );
});

t.test('stop waits for what is pushed, too', async (t) => {
  const { taken, receiver, relay, write, waiting } = await setUp(t);
  const begun = Promise.withResolvers<void>();
  receiver.before = () => {
    begun.resolve();
    return sleep(100);
  };
  await write('a', 'a1');
  const sender = relay();
  void sender.push('a');
  await begun.promise;
  await sender.stop();
  t.same(taken, ['a1']);
  t.equal(await waiting(), 0, 'and it is marked');
});

t.test('stop ends the wait for a receiver that is away, and a relay that was never started', async (t) => {
  const { receiver, relay, write } = await setUp(t);
  receiver.refuses = () => true;
  await write('a', 'a1');
  const sender = relay({ sweepSeconds: 60 });
  sender.start();
  await until(async () => !(await sender.push('a')), 1000);
  const begin = performance.now();
  await sender.stop();
  await relay().stop();
  t.ok(performance.now() - begin < 1000);
});

t.test('events that this process knows of are published long before the next sweep', async (t) => {
  const { taken, receiver, relay, write } = await setUp(t);
  const sender = relay({ sweepSeconds: 60 });
  sender.start();
  await write('sent', 'sent');
  t.equal(await sender.push('sent'), true);
  await write('refused', 'refused');
  receiver.refuses = () => true;
  t.equal(await sender.push('refused'), false);
  receiver.refuses = () => false;
  await until(() => taken.includes('refused'), 6000);
  // It looks once more, and then not for a minute.
  await sleep(4500);
  await write('unknown', 'unknown');
  await sleep(2500);
  t.notOk(taken.includes('unknown'), 'nobody has said that it is there');
  const fail = { change: (_id: string) => Promise.reject(new Error('no response')) };
  await t.rejects(sender.publishing(fail, ['change']).change('unknown'));
  await until(() => taken.includes('unknown'), 6000);
});

t.test('the sweep reads the index, and in it are documents with unpublished events only', async (t) => {
  const { things, write } = await setUp(t);
  await things.insertMany(Array.from({ length: 500 }, (_, i) => ({ _id: `done${i}`, outbox: [] })));
  await things.insertMany(Array.from({ length: 50 }, (_, i) => ({ _id: `old${i}` }) as unknown as Thing));
  await write('a', 'a1', 'a2');
  await write('b', 'b1');
  const query = things.find(OUTBOX_INDEX.options.partialFilterExpression);
  for (const plan of [
    await query.explain('executionStats'),
    await query.hint('outbox').explain('executionStats'),
  ]) {
    const text = JSON.stringify(plan);
    t.match(text, /"stage":"IXSCAN"[^}]*.*"indexName":"outbox"/);
    t.notMatch(text, /COLLSCAN/);
    const { totalKeysExamined, totalDocsExamined, nReturned } = plan.executionStats;
    // One entry for each unpublished event, and one to find the end.
    t.ok(totalKeysExamined <= 4, `${totalKeysExamined} keys examined`);
    t.strictSame([totalDocsExamined, nReturned], [2, 2]);
  }
});

t.test('without its index it says so, and goes on when it is there', async (t) => {
  const { things, taken, relay, write, lines } = await setUp(t);
  await things.dropIndex('outbox');
  await write('a', 'a1');
  relay().start();
  await until(() => lines.length > 0, 5000);
  t.match(lines[0], { level: 'warn', err: { message: /hint/ } });
  await things.createIndex({ ...OUTBOX_INDEX.fields }, { ...OUTBOX_INDEX.options });
  await until(() => taken.length === 1, 5000);
});

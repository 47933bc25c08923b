import { setTimeout as sleep } from 'node:timers/promises';
import { OUTBOX_INDEX, type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t, { type Test } from 'tap';
import { createOutboxRelay, type OutboxRelayOptions } from '../src/outbox-relay.ts';

type Thing = { _id: string; outbox: OutboxEvent[]; deleted_at?: Date };

async function setUp(t: Test) {
  const { logger, lines } = recordingLogger();
  const { connection } = await startTestDatabase(t);
  const collection = connection.collection('things');
  const things = connection.collection<Thing>('things');
  await things.createIndex({ ...OUTBOX_INDEX.fields }, { ...OUTBOX_INDEX.options });

  const taken: string[] = [];
  const receiver = {
    /** What it refuses to take. */
    refuses: (_event: OutboxEvent): boolean => false,
    deliver: async (event: OutboxEvent) => {
      if (receiver.refuses(event)) throw new Error('not now');
      taken.push(String(event.data.name));
    },
  };
  const relay = (more: Partial<OutboxRelayOptions> = {}) => {
    const relay = createOutboxRelay({
      collection,
      deliver: (event) => receiver.deliver(event),
      logger,
      sweepSeconds: 0.02,
      ...more,
    });
    t.teardown(() => relay.stop());
    return relay;
  };
  /** Writes a document that has caused events of these names. */
  const write = (_id: string, ...names: string[]) =>
    things.insertOne({ _id, outbox: names.map((name) => outboxEvent('things', { name })) });
  const waiting = () => things.countDocuments({ 'outbox.at': { $gt: new Date(0) } });
  return { things, lines, taken, receiver, relay, write, waiting };
}

t.test('push delivers at once and takes the event out; a sweep finds nothing more', async (t) => {
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
  await relay({ deliver: async (event) => void got.push(event) }).push('a');
  t.strictSame(got, [event]);
});

t.test('what a crash left between the write and the delivery, a new relay delivers', async (t) => {
  const { taken, relay, write, waiting } = await setUp(t);
  for (let i = 0; i < 250; i += 1) await write(`doc${i}`, `event${i}`);
  relay().start();
  await until(async () => (await waiting()) === 0, 10_000);
  t.equal(taken.length, 250);
  t.equal(new Set(taken).size, 250);
});

t.test('a crash between the delivery and the mark delivers again', async (t) => {
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
  await new Promise((resolve) => setTimeout(resolve, 700));
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
  }) as unknown as OutboxRelayOptions['collection'];
  relay({ collection }).start();
  await until(() => taken.includes('a1'), 2500);
});

t.test('a poisoned event holds up its own document only', async (t) => {
  const { things, taken, receiver, relay, write } = await setUp(t);
  receiver.refuses = ({ data }) => String(data.name).startsWith('bad');
  for (let i = 0; i < 20; i += 1) await write(`bad${i}`, `bad${i}`, `behind${i}`);
  const sender = relay();
  sender.start();
  await write('good', 'good1');
  t.equal(await sender.push('good'), true, 'by push');
  for (let i = 0; i < 5; i += 1) await write(`late${i}`, `late${i}`);
  await until(() => taken.length === 6, 10_000);
  t.same(taken.sort(), ['good1', 'late0', 'late1', 'late2', 'late3', 'late4'], 'and by sweep');
  t.same(
    (await things.findOne({ _id: 'bad7' }))?.outbox.map(({ data }) => data.name),
    ['bad7', 'behind7'],
  );
  receiver.refuses = () => false;
  await until(() => taken.length === 46, 15_000);
});

t.test('the events of a document come in order, also those written while it is at work', async (t) => {
  const { things, taken, receiver, relay } = await setUp(t);
  const sender = relay();
  sender.start();
  const { deliver } = receiver;
  receiver.deliver = async (event) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    if (Math.random() < 0.2) throw new Error('not now');
    await deliver(event);
  };
  await things.insertOne({ _id: 'a', outbox: [] });
  for (let i = 0; i < 50; i += 1) {
    await things.updateOne({ _id: 'a' }, { $push: { outbox: outboxEvent('things', { name: `${i}` }) } });
    void sender.push('a');
    if (i % 10 === 0) await sender.push('a');
  }
  await until(() => taken.length >= 50, 10_000);
  t.same(
    taken,
    Array.from({ length: 50 }, (_, i) => `${i}`),
  );
});

t.test('two relays at once: each event at least once, and first in order', async (t) => {
  const { taken, receiver, relay, write, waiting } = await setUp(t);
  const { deliver } = receiver;
  receiver.deliver = async (event) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    await deliver(event);
  };
  for (let i = 0; i < 60; i += 1) await write(`doc${i}`, `${i}.0`, `${i}.1`, `${i}.2`);
  const relays = [relay(), relay()];
  for (const one of relays) one.start();
  for (let i = 0; i < 20; i += 1) void relays[i % 2]?.push(`doc${i}`);
  await until(async () => (await waiting()) === 0, 10_000);
  await Promise.all(relays.map((one) => one.stop()));
  const first = [...new Set(taken)];
  t.equal(first.length, 180);
  for (let i = 0; i < 60; i += 1) {
    const own = first.filter((name) => name.startsWith(`${i}.`));
    t.same(own, [`${i}.0`, `${i}.1`, `${i}.2`]);
  }
});

t.test('push waits no longer than it is told; the delivery goes on', async (t) => {
  const { taken, receiver, relay, write, waiting } = await setUp(t);
  const { deliver } = receiver;
  const gate = Promise.withResolvers<void>();
  receiver.deliver = (event) => gate.promise.then(() => deliver(event));
  await write('a', 'a1');
  const sender = relay();
  const begin = performance.now();
  t.equal(await sender.push('a', 50), false);
  t.ok(performance.now() - begin < 1000);
  const second = sender.push('a', 5000);
  gate.resolve();
  t.equal(await second, true);
  t.same(taken, ['a1'], 'delivered once');
  t.equal(await waiting(), 0);
});

t.test('a delivery that hangs counts as failed', async (t) => {
  const { taken, receiver, relay, write, lines } = await setUp(t);
  const { deliver } = receiver;
  let calls = 0;
  receiver.deliver = (event) => {
    calls += 1;
    return calls === 1 ? new Promise(() => {}) : deliver(event);
  };
  await write('a', 'a1');
  relay({ deliverSeconds: 0.1 }).start();
  await until(() => taken.length === 1, 5000);
  t.match(lines[0], { err: { message: 'The delivery took longer than 0.1 s.' } });
});

t.test('while very many deliveries hang, push leaves the rest to a sweep', async (t) => {
  const { things, receiver, relay } = await setUp(t);
  const documents = Array.from({ length: 300 }, (_, i) => `doc${i}`);
  await things.insertMany(documents.map((_id) => ({ _id, outbox: [outboxEvent('things', { name: _id })] })));
  let asked = 0;
  receiver.deliver = () => {
    asked += 1;
    return new Promise(() => {});
  };
  const sender = relay({ deliverSeconds: 1 });
  const pushed = await Promise.all(documents.map((id) => sender.push(id, 500)));
  t.notOk(pushed.includes(true));
  await until(() => asked >= 256, 10_000);
  t.equal(asked, 256);
});

t.test('stop lets the delivery under way end, and begins no other', async (t) => {
  const { things, taken, receiver, relay, write } = await setUp(t);
  const { deliver } = receiver;
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  receiver.deliver = async (event) => {
    begun.resolve();
    await gate.promise;
    await deliver(event);
  };
  await write('a', 'a1', 'a2');
  const sender = relay();
  sender.start();
  await begun.promise;
  const pushed = sender.push('a', 5000);
  let stopped = false;
  const stopping = sender.stop().then(() => {
    stopped = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(stopped, false);
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
  const { deliver } = receiver;
  const begun = Promise.withResolvers<void>();
  receiver.deliver = async (event) => {
    begun.resolve();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await deliver(event);
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

t.test('what this process knows of is delivered long before the next sweep', async (t) => {
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
  sender.suspect();
  await until(() => taken.includes('unknown'), 6000);
});

t.test('a tombstone goes with its last event, and never before', async (t) => {
  const { things, taken, receiver, relay, waiting } = await setUp(t);
  const tombstone = { deleted_at: { $gt: new Date(0) } };
  const events = (...names: string[]) => names.map((name) => outboxEvent('things', { name }));
  await things.insertMany([
    { _id: 'deleted', deleted_at: new Date(), outbox: events('changed', 'deleted') },
    { _id: 'alive', outbox: events('alive') },
    { _id: 'refused', deleted_at: new Date(), outbox: events('refused') },
  ]);
  receiver.refuses = ({ data }) => data.name === 'refused';
  const { deliver } = receiver;
  receiver.deliver = async (event) => {
    // One more, written while what was the last one is on its way.
    if (event.data.name === 'deleted') {
      await things.updateOne(
        { _id: 'deleted' },
        { $push: { outbox: outboxEvent('things', { name: 'late' }) } },
      );
    }
    await deliver(event);
  };
  relay({ tombstone }).start();
  await until(async () => (await waiting()) === 1, 5000);
  t.same(
    taken.filter((name) => name !== 'alive'),
    ['changed', 'deleted', 'late'],
  );
  t.same((await things.find().toArray()).map(({ _id }) => _id).sort(), ['alive', 'refused']);
  receiver.refuses = () => false;
  await until(async () => (await things.countDocuments()) === 1, 10_000);
});

/** Names say the lane: 'x1' goes by x. */
const lane = ({ data }: OutboxEvent) => String(data.name).charAt(0);

t.test('lanes hold up neither each other nor a push', async (t) => {
  const { things, taken, receiver, relay, write } = await setUp(t);
  receiver.refuses = (event) => lane(event) === 'x';
  const sender = relay({ lane });
  await write('a', 'x1', 'y1', 'x2', 'y2');
  t.equal(await sender.push('a', 1000, 'y'), true);
  t.same(taken, ['y1', 'y2']);
  t.equal(await sender.push('a', 1000, 'x'), false);
  t.equal(await sender.push('a'), false, 'not all lanes are done');
  t.equal(await sender.push('a', 1000, 'z'), true, 'nothing goes by it');
  await write('b', 'y3');
  t.equal(await sender.push('b'), true);
  t.same(
    (await things.findOne({ _id: 'a' }))?.outbox.map(({ data }) => data.name),
    ['x1', 'x2'],
  );
  receiver.refuses = () => false;
  t.equal(await sender.push('a'), true);
  t.same(taken, ['y1', 'y2', 'y3', 'x1', 'x2']);
});

t.test('a lane whose receiver hangs delays no other, neither by sweep nor by push', async (t) => {
  const { things, taken, receiver, relay } = await setUp(t);
  const { deliver } = receiver;
  const gate = Promise.withResolvers<void>();
  receiver.deliver = async (event) => {
    if (lane(event) === 'x') await gate.promise;
    await deliver(event);
  };
  const documents = Array.from({ length: 300 }, (_, i) => `doc${i}`);
  await things.insertMany(
    documents.map((_id, i) => ({
      _id,
      outbox: [outboxEvent('things', { name: `x${i}` }), outboxEvent('things', { name: `y${i}` })],
    })),
  );
  const sender = relay({ lane, deliverSeconds: 60 });
  for (const id of documents) void sender.push(id, 1, 'x');
  t.equal(await sender.push('doc17', 5000, 'y'), true, 'also while very many of the other lane hang');
  sender.start();
  await until(() => taken.length === 300, 15_000);
  t.ok(taken.every((name) => name.startsWith('y')));
  gate.resolve();
  await until(() => taken.length === 600, 15_000);
  t.equal(new Set(taken).size, 600);
});

t.test('in each lane the events of a document come in their order', async (t) => {
  const { taken, receiver, relay, write, waiting } = await setUp(t);
  const { deliver } = receiver;
  receiver.deliver = async (event) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    if (Math.random() < 0.2) throw new Error('not now');
    await deliver(event);
  };
  const numbers = Array.from({ length: 20 }, (_, i) => i);
  await write('a', ...numbers.flatMap((i) => [`x${i}`, `y${i}`, `z${i}`]));
  const sender = relay({ lane });
  sender.start();
  for (const name of ['x', 'y', 'z']) void sender.push('a', 1000, name);
  await until(async () => (await waiting()) === 0, 10_000);
  for (const name of ['x', 'y', 'z']) {
    t.same(
      [...new Set(taken)].filter((it) => it.startsWith(name)),
      numbers.map((i) => `${name}${i}`),
    );
  }
});

t.test('lanes that end at the same moment leave no tombstone', async (t) => {
  const { things, taken, receiver, relay } = await setUp(t);
  const tombstone = { deleted_at: { $gt: new Date(0) } };
  const { deliver } = receiver;
  let arrived = 0;
  let both = Promise.withResolvers<void>();
  receiver.deliver = async (event) => {
    arrived += 1;
    if (arrived === 2) both.resolve();
    await both.promise;
    await deliver(event);
  };
  const senders = [relay({ tombstone, lane }), relay({ tombstone, lane })];
  for (let i = 0; i < 100; i += 1) {
    arrived = 0;
    both = Promise.withResolvers<void>();
    const outbox = [outboxEvent('things', { name: `x${i}` }), outboxEvent('things', { name: `y${i}` })];
    await things.insertOne({ _id: `doc${i}`, deleted_at: new Date(), outbox });
    await Promise.all([senders[0]?.push(`doc${i}`, 5000, 'x'), senders[i % 2]?.push(`doc${i}`, 5000, 'y')]);
  }
  t.equal(taken.length, 200);
  t.same(await things.find().toArray(), []);
});

t.test('the sweep reads the index, and in it are documents with undelivered events only', async (t) => {
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
    // One entry for each undelivered event, and one to find the end.
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

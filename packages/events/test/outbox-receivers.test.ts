import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { event, setUp } from './outbox-set-up.ts';

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

t.test('each receiver gets the events of a document in order, also those written meanwhile', async (t) => {
  const { things, taken, receiver, relay, waiting, two } = await setUp(t);
  const sender = relay(two);
  sender.start();
  receiver.before = () => sleep(Math.random() * 4);
  receiver.refuses = () => Math.random() < 0.2;
  await things.insertOne({ _id: 'a', outbox: [] });
  const numbers = Array.from({ length: 30 }, (_, i) => i);
  for (const i of numbers) {
    const events = ['x', 'y'].map((name) => event(`${name}${i}`));
    await things.updateOne({ _id: 'a' }, { $push: { outbox: { $each: events } } });
    void sender.push('a', 1000, i % 2 === 0 ? 'x' : 'y');
    if (i % 10 === 0) await sender.push('a', 1000, 'y');
  }
  await until(async () => (await waiting()) === 0, 10_000);
  for (const name of ['x', 'y']) {
    const own = [...new Set(taken)].filter((it) => it.startsWith(name));
    t.same(
      own,
      numbers.map((i) => `${name}${i}`),
    );
  }
});

t.test('two relays at once: each event at least once, and first in order', async (t) => {
  const { taken, receiver, relay, write, waiting } = await setUp(t);
  receiver.before = () => sleep(Math.random() * 3);
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

t.test('the publishing of an event that hangs counts as failed', async (t) => {
  const { taken, receiver, relay, write, lines } = await setUp(t);
  let calls = 0;
  receiver.before = async () => {
    calls += 1;
    if (calls === 1) await new Promise(() => {});
  };
  await write('a', 'a1');
  relay({ publishSeconds: 0.1 }).start();
  await until(() => taken.length === 1, 5000);
  t.match(lines[0], { err: { message: 'The publishing of the event took longer than 100 ms.' } });
});

t.test('while very many events hang, push leaves the rest to a sweep', async (t) => {
  const { things, receiver, relay } = await setUp(t);
  const documents = Array.from({ length: 300 }, (_, i) => `doc${i}`);
  await things.insertMany(documents.map((_id) => ({ _id, outbox: [event(_id)] })));
  let asked = 0;
  receiver.before = () => {
    asked += 1;
    return new Promise(() => {});
  };
  const sender = relay({ publishSeconds: 1 });
  const pushed = await Promise.all(documents.map((id) => sender.push(id, 500)));
  t.notOk(pushed.includes(true));
  await until(() => asked >= 256, 10_000);
  t.equal(asked, 256);
});

t.test('a tombstone goes with its last event, and never before', async (t) => {
  const { things, taken, receiver, relay, waiting } = await setUp(t);
  const events = (...names: string[]) => names.map((name) => event(name));
  await things.insertMany([
    { _id: 'deleted', deleted_at: new Date(), outbox: events('changed', 'deleted') },
    { _id: 'alive', outbox: events('alive') },
    { _id: 'refused', deleted_at: new Date(), outbox: events('refused') },
  ]);
  receiver.refuses = ({ data }) => data.name === 'refused';
  receiver.before = async ({ data }) => {
    // One more, written while what was the last one is on its way.
    const late = { $push: { outbox: event('late') } };
    if (data.name === 'deleted') await things.updateOne({ _id: 'deleted' }, late);
  };
  relay().start();
  await until(async () => (await waiting()) === 1, 5000);
  t.same(
    taken.filter((name) => name !== 'alive'),
    ['changed', 'deleted', 'late'],
  );
  t.same((await things.find().toArray()).map(({ _id }) => _id).sort(), ['alive', 'refused']);
  receiver.refuses = () => false;
  await until(async () => (await things.countDocuments()) === 1, 10_000);
});

t.test('receivers hold up neither each other nor a push', async (t) => {
  const { things, taken, receiver, relay, write, two } = await setUp(t);
  receiver.refuses = (event) => event.subject === 'thingsx';
  const sender = relay(two);
  await write('a', 'x1', 'y1', 'x2', 'y2');
  t.equal(await sender.push('a', 1000, 'y'), true);
  t.same(taken, ['y1', 'y2']);
  t.equal(await sender.push('a', 1000, 'x'), false);
  t.equal(await sender.push('a'), true, 'nothing goes to the transport');
  await write('b', 'y3');
  t.equal(await sender.push('b', 1000, 'y'), true);
  t.same(
    (await things.findOne({ _id: 'a' }))?.outbox.map(({ data }) => data.name),
    ['x1', 'x2'],
  );
  receiver.refuses = () => false;
  t.equal(await sender.push('a', 1000, 'x'), true);
  t.same(taken, ['y1', 'y2', 'y3', 'x1', 'x2']);
});

t.test('a receiver that hangs delays no other, neither by sweep nor by push', async (t) => {
  const { things, taken, receiver, relay, two } = await setUp(t);
  const gate = Promise.withResolvers<void>();
  receiver.before = async (event) => event.subject === 'thingsx' && gate.promise;
  const documents = Array.from({ length: 300 }, (_, i) => `doc${i}`);
  await things.insertMany(
    documents.map((_id, i) => ({
      _id,
      outbox: [event(`x${i}`), event(`y${i}`)],
    })),
  );
  const sender = relay({ ...two, publishSeconds: 60 });
  for (const id of documents) void sender.push(id, 1, 'x');
  t.equal(await sender.push('doc17', 5000, 'y'), true, 'also while very many of the other receiver hang');
  sender.start();
  await until(() => taken.length === 300, 15_000);
  t.ok(taken.every((name) => name.startsWith('y')));
  gate.resolve();
  await until(() => taken.length === 600, 15_000);
  t.equal(new Set(taken).size, 600);
});

t.test('receivers that end at the same moment leave no tombstone', async (t) => {
  const { things, taken, receiver, relay, two } = await setUp(t);
  let arrived = 0;
  let both = Promise.withResolvers<void>();
  receiver.before = () => {
    arrived += 1;
    if (arrived === 2) both.resolve();
    return both.promise;
  };
  const senders = [relay(two), relay(two)];
  for (let i = 0; i < 100; i += 1) {
    arrived = 0;
    both = Promise.withResolvers<void>();
    const outbox = [event(`x${i}`), event(`y${i}`)];
    await things.insertOne({ _id: `doc${i}`, deleted_at: new Date(), outbox });
    await Promise.all([senders[0]?.push(`doc${i}`, 5000, 'x'), senders[i % 2]?.push(`doc${i}`, 5000, 'y')]);
  }
  t.equal(taken.length, 200);
  t.same(await things.find().toArray(), []);
});

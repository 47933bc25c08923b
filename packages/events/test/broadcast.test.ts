// What every broadcast promises, asked of each that there is.
import type { Logger } from '@gatehouse/core/logger';
import { skip, startNats } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t, { type Test } from 'tap';
import type { Broadcast } from '../src/broadcast.ts';
import { createLocalBroadcast } from '../src/local-broadcast.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

t.test('local', (t) => contract(t, async () => (logger) => createLocalBroadcast({ logger })));
t.test('NATS', { skip }, (t) =>
  contract(t, async (t) => {
    const { url } = await startNats(t);
    return (logger) => createNatsBroadcast({ url, name: 'test', logger });
  }),
);

const SUBJECT = 'gatehouse.test';
const failure = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function contract(t: Test, prepare: (t: Test) => Promise<(logger: Logger) => Broadcast>) {
  const make = await prepare(t);

  function setUp(t: Test) {
    const { logger, lines } = recordingLogger('warn');
    const broadcast = make(logger);
    t.teardown(() => broadcast.stop());
    let connections = 0;
    broadcast.onReconnect(() => {
      connections += 1;
    });
    const start = async () => {
      await broadcast.start();
      await until(() => connections === 1, 5000);
    };
    return { broadcast, lines, start, connections: () => connections };
  }

  t.test('each listener of the subject gets each message, in order, and nobody else any', async (t) => {
    const { broadcast, start, lines } = setUp(t);
    const got: unknown[][] = [[], [], []];
    broadcast.subscribe(SUBJECT, (message) => got[0]?.push(message));
    broadcast.subscribe(SUBJECT, (message) => got[1]?.push(message));
    broadcast.subscribe(`${SUBJECT}.other`, (message) => got[2]?.push(message));
    await start();
    const messages = [{ n: 1, list: ['a', null, { deep: true }] }, 'text', 0, null, [], 'äß€😀'];
    for (const message of messages) await broadcast.publish(SUBJECT, message);
    await until(() => got[0]?.length === messages.length && got[1]?.length === messages.length, 5000);
    t.strictSame(got, [messages, messages, []]);
    t.strictSame(lines, []);
  });

  t.test('a hundred messages at once keep their order', async (t) => {
    const { broadcast, start } = setUp(t);
    const got: unknown[] = [];
    broadcast.subscribe(SUBJECT, (message) => got.push(message));
    await start();
    const numbers = Array.from({ length: 100 }, (_, i) => i);
    await Promise.all(numbers.map((n) => broadcast.publish(SUBJECT, n)));
    await until(() => got.length === 100, 5000);
    t.strictSame(got, numbers);
  });

  t.test(
    "a listener is called after the publisher's call has returned, with a copy of its own",
    async (t) => {
      const { broadcast, start } = setUp(t);
      const events: string[] = [];
      const got: { list: number[] }[] = [];
      for (let i = 0; i < 2; i += 1) {
        broadcast.subscribe(SUBJECT, (message) => {
          events.push('listener');
          const copy = message as { list: number[] };
          copy.list.push(i);
          got.push(copy);
        });
      }
      await start();
      const message = { list: [9] };
      const published = broadcast.publish(SUBJECT, message);
      message.list.push(8);
      events.push('returned');
      await published;
      await until(() => got.length === 2, 5000);
      t.strictSame(events, ['returned', 'listener', 'listener']);
      t.strictSame(got, [{ list: [9, 0] }, { list: [9, 1] }]);
    },
  );

  t.test('a listener that throws or rejects is logged, and hurts no other', async (t) => {
    const { broadcast, start, lines } = setUp(t);
    const got: unknown[] = [];
    broadcast.subscribe(SUBJECT, () => {
      throw new Error('thrown');
    });
    broadcast.subscribe(SUBJECT, (async () => {
      throw new Error('rejected');
    }) as () => void);
    broadcast.subscribe(SUBJECT, (message) => got.push(message));
    broadcast.onReconnect(() => {
      throw new Error('on reconnect');
    });
    await start();
    await broadcast.publish(SUBJECT, 1);
    await broadcast.publish(SUBJECT, 2);
    await until(() => got.length === 2 && lines.length === 5, 5000);
    t.strictSame(got, [1, 2]);
    const messages = lines.map(({ err }) => (err as Error).message);
    t.strictSame(messages.sort(), ['on reconnect', 'rejected', 'rejected', 'thrown', 'thrown']);
  });

  t.test('who has stopped listening hears nothing more, and the others go on', async (t) => {
    const { broadcast, start } = setUp(t);
    const got: string[] = [];
    const first = broadcast.subscribe(SUBJECT, (message) => got.push(`first ${message}`));
    const second = broadcast.subscribe(SUBJECT, (message) => got.push(`second ${message}`));
    await start();
    await broadcast.publish(SUBJECT, 1);
    await until(() => got.length === 2, 5000);
    first();
    first();
    await broadcast.publish(SUBJECT, 2);
    await until(() => got.length === 3, 5000);
    second();
    await broadcast.publish(SUBJECT, 3);
    await pause(20);
    broadcast.subscribe(SUBJECT, (message) => got.push(`third ${message}`));
    // Behind the subscription, on the same connection.
    await broadcast.publish(SUBJECT, 4);
    await until(() => got.includes('third 4'), 5000);
    t.strictSame(got, ['first 1', 'second 1', 'second 2', 'third 4']);
  });

  t.test('publish rejects before the start and after the stop', async (t) => {
    const { broadcast, start } = setUp(t);
    t.match(await failure(broadcast.publish(SUBJECT, 1)), { kind: 'unavailable' });
    await start();
    await broadcast.publish(SUBJECT, 2);
    await broadcast.stop();
    t.match(await failure(broadcast.publish(SUBJECT, 3)), { kind: 'unavailable' });
    await broadcast.stop();
  });

  t.test('stop delivers what has been published, then nothing', async (t) => {
    const { broadcast, start } = setUp(t);
    const got: unknown[] = [];
    broadcast.subscribe(SUBJECT, (message) => got.push(message));
    await start();
    const published = [0, 1, 2, 3, 4].map((n) => broadcast.publish(SUBJECT, n));
    await broadcast.stop();
    t.strictSame(got, [0, 1, 2, 3, 4]);
    await Promise.all(published);
    await pause(30);
    t.equal(got.length, 5);
  });

  t.test('a broadcast that was never started can be stopped; starting twice connects once', async (t) => {
    await setUp(t).broadcast.stop();
    const { broadcast, start, connections } = setUp(t);
    await start();
    await broadcast.start();
    await pause(50);
    t.equal(connections(), 1);
  });

  t.test('invalid subjects and values are refused', async (t) => {
    const { broadcast, start } = setUp(t);
    await start();
    for (const subject of ['', 'a b', 'a.*', '>', 'a..b', '.a', 'a\r\nPUB b 0']) {
      t.throws(() => broadcast.subscribe(subject, () => {}), TypeError);
      await t.rejects(broadcast.publish(subject, 1), TypeError);
    }
    await t.rejects(broadcast.publish(SUBJECT, undefined), TypeError);
    await t.rejects(broadcast.publish(SUBJECT, 1n), TypeError);
  });
}

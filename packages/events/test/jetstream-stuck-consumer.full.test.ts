import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { outboxEvent } from '@gatehouse/data/outbox';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { logger } from '@gatehouse/testing/test-logger';
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connect, nanos } from '@nats-io/transport-node';
import t from 'tap';
import { createStreamConsumer } from '../src/jetstream-consumer.ts';
import { createJetStreamJobQueues } from '../src/jetstream-job-queue.ts';
import { pullMessages } from '../src/jetstream-pull.ts';
import { createJobStateStore } from '../src/job-state-store.ts';

/** What a server may come back with after it was killed, and consumers that give out nothing any more because of it. */

const GONE = 20;
const ACK_WAIT_MS = 500;

t.test('a consumer that gives out nothing any more', { skip }, async (t) => {
  const server = await startJetStream(t);
  const { folder } = server;
  const reconnecting = { reconnectTimeWait: 50, maxReconnectAttempts: -1, ignoreAuthErrorAbort: true };
  const nats = await connect({ servers: `127.0.0.1:${server.port}`, ...reconnecting });
  t.teardown(() => nats.close());
  const connection = () => nats;

  const storeOf = (stream: string) => join(folder, 'jetstream/$G/streams', stream);
  async function restart(meanwhile: () => Promise<unknown>): Promise<void> {
    await server.kill();
    await meanwhile();
    await server.start();
    await until(
      () =>
        nats.flush().then(
          () => true,
          () => false,
        ),
      5000,
    );
  }

  /**
   * Takes messages of a consumer, and deletes them. Then the server forgets what became of those that were taken, as if it
   * had been killed before it wrote that down. One before 2.10.25 tries to deliver them for ever, and nothing else.
   */
  async function takeAndDelete(stream: string, consumer: string): Promise<void> {
    const { signal } = new AbortController();
    const taken = await pullMessages(nats, stream, consumer, { max: GONE, waitMs: 0, signal });
    const path = join(storeOf(stream), 'obs', consumer, 'o.dat');
    let state: Buffer | undefined;
    await until(async () => {
      const before = state;
      state = await readFile(path).catch(() => undefined);
      await sleep(300);
      return state !== undefined && before?.equals(state) === true;
    }, 5000);
    const { streams } = await jetstreamManager(nats);
    for (const { reply = '' } of taken) await streams.deleteMessage(stream, Number(reply.split('.')[5]));
    await restart(() => writeFile(path, state ?? ''));
    // Until the server thinks that they must be delivered again.
    await sleep(2 * ACK_WAIT_MS);
  }

  const { store: jobStates } = await startTestDatabase(t, { define: createJobStateStore });

  /** A queue with a worker for one of its lanes. */
  function setUp(name: string) {
    const queues = createJetStreamJobQueues({ connection, name: 'test', logger });
    const queue = queues({ name, lanes: ['email', 'sms'], jobStates, leaseMs: ACK_WAIT_MS });
    const done = new Set<unknown>();
    const worker = queue.work({
      ...{ lane: 'email', slots: 4, timeoutMs: 1000 },
      handler: ({ data }) => done.add(data.n),
    });
    t.teardown(() => worker.stop());
    return {
      ...{ queue, worker, done },
      publish: (lane: string, n: number) => queue.publish(outboxEvent(queue.subject('normal', lane), { n })),
    };
  }

  t.test('a consumer of a queue: removed messages are not delivered', async (t) => {
    const { queue, worker, done, publish } = setUp('messages');
    await publish('sms', 0);
    for (let n = 0; n < GONE; n += 1) await publish('email', n);
    await takeAndDelete('TEST_MESSAGES_NORMAL', 'email');
    for (let n = GONE; n < 2 * GONE; n += 1) await publish('email', n);
    worker.start();
    await until(() => done.size === GONE, 30_000);
    t.match(await queue.depth(), [{}, { lane: 'email', priority: 'normal', waiting: 0 }]);
  });

  t.test('a consumer of a queue: the stream has lost delivered messages', async (t) => {
    const { worker, done, publish } = setUp('losses');
    for (let n = 0; n < 5; n += 1) await publish('email', n);
    const [path, copy] = [join(storeOf('TEST_LOSSES_NORMAL'), 'msgs'), join(folder, 'copy')];
    await cp(path, copy, { recursive: true });
    for (let n = 5; n < 25; n += 1) await publish('email', n);
    worker.start();
    await until(() => done.size === 25, 5000);
    await sleep(2 * ACK_WAIT_MS);
    await restart(async () => {
      await rm(path, { recursive: true });
      await cp(copy, path, { recursive: true });
    });
    const after = setUp('losses');
    after.worker.start();
    for (let n = 25; n < 30; n += 1) await after.publish('email', n);
    await until(() => done.size + after.done.size === 30, 10_000);
    t.equal(done.size + after.done.size, 30);
  });

  t.test('a consumer of events', async (t) => {
    const [name, durable, subject] = ['THINGS', 'reader', 'things.*'];
    const { streams, consumers } = await jetstreamManager(nats);
    const publish = async (n: number, subject = 'things.changed') => {
      const { id, at } = outboxEvent(subject, {});
      await jetstream(nats).publish(subject, JSON.stringify({ id, at, data: { n } }));
    };
    await streams.add({ name, subjects: [subject, 'others'], retention: RetentionPolicy.Workqueue });
    await consumers.add(name, {
      ...{ durable_name: durable, filter_subject: subject },
      ...{ ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS) },
    });
    await publish(0, 'others');
    for (let n = 0; n < GONE; n += 1) await publish(n);
    await takeAndDelete(name, durable);
    for (let n = GONE; n < 2 * GONE; n += 1) await publish(n);
    const handled = new Set<unknown>();
    const consumer = createStreamConsumer({
      ...{ connection, logger, durable, stream: { name, subject, maxAgeMs: 3_600_000 } },
      handle: async ({ data }) => void handled.add(data.n),
    });
    t.teardown(() => consumer.stop());
    consumer.start();
    await until(() => handled.size === GONE, 30_000);
    t.equal(handled.size, GONE);
  });
});

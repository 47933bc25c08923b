import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { outboxEvent } from '@gatehouse/data/outbox';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connect, nanos } from '@nats-io/transport-node';
import t from 'tap';
import { createStreamConsumer } from '../src/jetstream-consumer.ts';

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
    const reader = await jetstream(nats).consumers.get(stream, consumer);
    const taken: number[] = [];
    for await (const { seq } of await reader.fetch({ max_messages: GONE, expires: 2000 })) taken.push(seq);
    const path = join(storeOf(stream), 'obs', consumer, 'o.dat');
    let state: Buffer | undefined;
    await until(async () => {
      const before = state;
      state = await readFile(path).catch(() => undefined);
      await sleep(300);
      return state !== undefined && before?.equals(state) === true;
    }, 5000);
    for (const seq of taken) await streams.deleteMessage(stream, seq);
    await restart(() => writeFile(path, state ?? ''));
    // Until the server thinks that they must be delivered again.
    await sleep(2 * ACK_WAIT_MS);
  }

  const { streams, consumers } = await jetstreamManager(nats);
  const handled = new Set<unknown>();

  /** A stream that this connection makes, with a consumer; and how it is published to and read. */
  async function setUp(name: string) {
    const [durable, subject] = ['reader', `${name.toLowerCase()}.*`];
    await streams.add({ name, subjects: [subject, `others.${name}`], retention: RetentionPolicy.Workqueue });
    await consumers.add(name, {
      ...{ durable_name: durable, filter_subject: subject },
      ...{ ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACK_WAIT_MS) },
    });
    return {
      async publish(n: number, to = subject.replace('*', 'changed')) {
        const { id, at } = outboxEvent(to, {});
        await jetstream(nats).publish(to, JSON.stringify({ id, at, data: { n } }));
      },
      read() {
        const consumer = createStreamConsumer({
          ...{ connection, logger, durable, stream: { name, subject, maxAgeMs: 3_600_000 } },
          handle: async ({ data }) => void handled.add(`${name} ${data.n}`),
        });
        t.teardown(() => consumer.stop());
        consumer.start();
      },
    };
  }
  const countOf = (name: string) => [...handled].filter((it) => String(it).startsWith(`${name} `)).length;

  t.test('removed messages are not delivered', async (t) => {
    const { publish, read } = await setUp('THINGS');
    await publish(0, 'others.THINGS');
    for (let n = 0; n < GONE; n += 1) await publish(n);
    await takeAndDelete('THINGS', 'reader');
    for (let n = GONE; n < 2 * GONE; n += 1) await publish(n);
    read();
    await until(() => countOf('THINGS') === GONE, 30_000);
    t.equal(countOf('THINGS'), GONE);
  });

  t.test('the stream has lost delivered messages', async (t) => {
    const { publish, read } = await setUp('LOSSES');
    for (let n = 0; n < 5; n += 1) await publish(n);
    const [path, copy] = [join(storeOf('LOSSES'), 'msgs'), join(folder, 'copy')];
    await cp(path, copy, { recursive: true });
    for (let n = 5; n < 25; n += 1) await publish(n);
    read();
    await until(() => countOf('LOSSES') === 25, 10_000);
    await sleep(2 * ACK_WAIT_MS);
    await restart(async () => {
      await rm(path, { recursive: true });
      await cp(copy, path, { recursive: true });
    });
    read();
    for (let n = 25; n < 30; n += 1) await publish(n);
    await until(() => countOf('LOSSES') === 30, 20_000);
    t.equal(countOf('LOSSES'), 30);
  });
});

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import { skip, startNatsCluster } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import { jetstreamManager } from '@nats-io/jetstream';
import t from 'tap';
import { createStreamConsumer } from '../src/jetstream-consumer.ts';
import { createJetStreamEvents } from '../src/jetstream-events.ts';
import { createNatsBroadcast } from '../src/nats-broadcast.ts';

t.setTimeout(300_000);
const EVENTS = 3000;

/** Passes connections on to the first port that accepts one, as a host name with several addresses does. */
async function startRelay(t: { teardown(action: () => unknown): void }, ports: readonly number[]) {
  const sockets = new Set<Socket>();
  const server = createServer(async (client) => {
    for (const port of ports) {
      const upstream = connect(port, '127.0.0.1');
      const connected = await once(upstream, 'connect').catch(() => undefined);
      if (connected === undefined) continue;
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => [client, upstream].map((end) => end.destroy()));
      }
      client.pipe(upstream).pipe(client);
      return;
    }
    client.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

t.test('a cluster goes on, and loses no event, when each server in turn is killed', { skip }, async (t) => {
  const servers = await startNatsCluster(t);
  const url = new URL(servers[0]?.urlOf('notifications') ?? '');
  url.port = `${await startRelay(
    t,
    servers.map(({ port }) => port),
  )}`;
  const broadcast = createNatsBroadcast({ name: 'notifications', url: url.href, logger });
  const { connection } = broadcast;
  const stream = { name: 'ORDERED', subject: 'notifications.ordered.*', maxAgeMs: 3_600_000 };
  const done = new Set<number>();
  const consumer = createStreamConsumer({
    ...{ connection, logger, stream, durable: 'reader' },
    handle: async ({ data }) => void done.add(Number(data.n)),
  });
  const events = createJetStreamEvents({ connection });
  await broadcast.start();
  consumer.start();
  t.teardown(async () => {
    await consumer.stop();
    await broadcast.stop();
  });

  let stored = 0;
  async function publishUntilStored(event: OutboxEvent): Promise<void> {
    for (;;) {
      const error = await events.publish(event).catch((reason: unknown) => reason);
      if (error === undefined) break;
      await sleep(50);
    }
    stored += 1;
  }
  /** Whether every server has all that is stored. */
  async function isReplicated(): Promise<boolean> {
    const nats = connection();
    if (nats === undefined) return false;
    const manager = await jetstreamManager(nats, { checkAPI: false, timeout: 1000 });
    const { cluster, config } = await manager.streams.info(stream.name);
    return config.num_replicas === 3 && cluster?.replicas?.every(({ current }) => current) === true;
  }
  const untilReplicated = () => until(() => isReplicated().catch(() => false), 60_000);

  const all = Array.from({ length: EVENTS }, (_, n) => outboxEvent('notifications.ordered.event', { n }));
  const publishing = (async () => {
    for (let i = 0; i < EVENTS; i += 20) await Promise.all(all.slice(i, i + 20).map(publishUntilStored));
  })();
  await until(() => stored > 0, 30_000);
  for (const [i, server] of servers.entries()) {
    await until(() => stored >= (EVENTS * (i + 1)) / 4, 60_000);
    await untilReplicated();
    await server.kill();
    const before = stored;
    // Of the two that are left, one leads: events are accepted all the same.
    await until(() => stored > before || stored === EVENTS, 30_000);
    await server.start();
    await untilReplicated();
  }
  await publishing;
  await until(() => done.size === EVENTS, 60_000);
  t.equal(done.size, EVENTS, 'every event that was accepted is handled');
});

import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { skip, startJetStream } from '@gatehouse/testing/nats-server';
import { AckPolicy, jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, connect } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { pullMessages } from '../src/jetstream-pull.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

async function setUp(t: Test, options: ConnectionOptions = {}) {
  const server = await startJetStream(t);
  const nats = await connect({ servers: server.url, reconnect: false, ...options });
  t.teardown(() => nats.close());
  const manager = await jetstreamManager(nats);
  await manager.streams.add({ name: 'JOBS', subjects: ['jobs'] });
  await manager.consumers.add('JOBS', { durable_name: 'lane', ack_policy: AckPolicy.Explicit });
  const { signal } = new AbortController();
  return { server, nats, pull: () => pullMessages(nats, 'JOBS', 'lane', { max: 1, waitMs: 0, signal }) };
}

t.test('a pull ends when the server hangs until the connection is given up', { skip }, async (t) => {
  // Later than the pull is given up: then it waits for the server to say that nothing else comes.
  const { server, nats, pull } = await setUp(t, { pingInterval: 1500, maxPingOut: 2 });
  t.same(await pull(), []);
  await server.hang();
  const ended = pull().then(
    () => 'answered',
    (error: Error) => error.message,
  );
  await nats.closed();
  t.equal(await Promise.race([ended, sleep(1000, 'not ended')]), 'NATS does not answer.');
  server.goOn();
});

t.test('nothing of a pull is kept', { skip }, async (t) => {
  const { pull } = await setUp(t);
  const heapAfter = async (pulls: number) => {
    for (let i = 0; i < pulls; i += 1) await pull();
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = await heapAfter(1000);
  const kept = ((await heapAfter(5000)) - before) / 5000;
  t.ok(kept < 200, `${Math.round(kept)} bytes of each`);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const { services } = parse(readFileSync(resolve(root, 'docker-compose.yml'), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
});
const { users, mongo } = services;
// Found by their paths as they are, since this folder is no package that could depend on others.
const { run } = await import(resolve(root, 'packages/server/src/run.ts'));
const { createLogger } = await import(resolve(root, 'packages/core/src/logger.ts'));
const { testDatabase } = await import(resolve(root, 'packages/testing/src/test-mongo.ts'));

/** The exit status of the health check of a container, at another port than that in the container. */
async function statusOf(test: string[], inContainer: string, port: number): Promise<unknown> {
  const [kind, program = '', ...args] = test.map((part) => part.replaceAll('$$', '$'));
  t.equal(kind, 'CMD');
  const script = String(args.pop());
  t.ok(script.includes(inContainer), inContainer);
  const child = spawn(program, [...args, script.replace(inContainer, `/127.0.0.1/${port}`)]);
  const [status] = await once(child, 'close');
  return status;
}

const check = (port: number) =>
  statusOf(users.healthcheck.test, `/127.0.0.1/${users.environment.MANAGEMENT_PORT}`, port);

t.test('a container is healthy when it is ready', async (t) => {
  let reason: string | undefined = 'its database cannot be reached';
  const service = {
    name: 'users',
    prefixes: ['/users'],
    handle: () => {},
    start: async () => {},
    stop: async () => {},
    unready: async () => reason,
  };
  const running = await run([service], {
    ...{
      port: 0,
      managementPort: 0,
      host: '127.0.0.1',
      trustedProxies: [],
      requireHttps: true,
      drainSeconds: 0,
    },
    logger: createLogger({ name: 'test', level: 'fatal', readable: false }),
  });
  t.teardown(() => running.stop());
  const port = running.managementPort;
  t.not(await check(port), 0, 'while it starts');
  reason = undefined;
  await running.started;
  t.equal(await check(port), 0);
  reason = 'its database cannot be reached';
  t.not(await check(port), 0, 'while its database is away');
  await running.stop();
  t.not(await check(port), 0, 'when it has ended');
});

t.test('the container of MongoDB is healthy when it responds', async (t) => {
  const [, host = ''] = /^mongodb:\/\/(?:.*@)?([^/]+)/.exec(await testDatabase(t)) ?? [];
  const address = decodeURIComponent(host);
  let isSilent = false;
  const relay = createServer((client) => {
    client.on('error', () => {});
    if (isSilent) return client.resume();
    const [name, port] = address.split(':');
    const server = address.startsWith('/') ? connect(address) : connect(Number(port), name);
    server.on('error', () => {});
    client.on('close', () => server.destroy());
    client.pipe(server).pipe(client);
  });
  await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done));
  t.teardown(() => relay.close());
  const { port } = relay.address() as AddressInfo;
  const atMongo = () => statusOf(mongo.healthcheck.test, '/$HOSTNAME/27017', port);
  t.equal(await atMongo(), 0);
  isSilent = true;
  t.not(await atMongo(), 0, 'while it accepts connections and does not respond');
});

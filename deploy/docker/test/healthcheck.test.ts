import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const { services } = parse(readFileSync(resolve(root, 'docker-compose.yml'), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
});
const { healthcheck, environment } = services.users;
// Found by their paths as they are, since this folder is no package that could depend on others.
const { run } = await import(resolve(root, 'packages/server/src/run.ts'));
const { createLogger } = await import(resolve(root, 'packages/core/src/logger.ts'));

/** The exit status of the health check of a container, at another port than that in the container. */
async function check(port: number): Promise<unknown> {
  const inContainer = `/127.0.0.1/${environment.MANAGEMENT_PORT} `;
  const [kind, program, ...args] = healthcheck.test.map((part: string) => part.replaceAll('$$', '$'));
  t.equal(kind, 'CMD');
  t.ok(args.at(-1).includes(inContainer), 'it asks the management port');
  const child = spawn(program, [
    ...args.slice(0, -1),
    args.at(-1).replace(inContainer, `/127.0.0.1/${port} `),
  ]);
  const [status] = await once(child, 'close');
  return status;
}

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

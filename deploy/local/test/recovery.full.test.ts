import { existsSync } from 'node:fs';
import { freePort, spawnNode, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createUser, startGatehouse, statusOf, temporaryDir, tokenOf } from './gatehouse.ts';

t.test('kill -9 right after a 201 loses nothing and leaves no process behind', async (t) => {
  const dataDir = temporaryDir(t);
  const first = await startGatehouse(t, dataDir);
  const made = await createUser(first.base, await tokenOf(first), 'ann');
  t.equal(made.status, 201);
  const enginePid = Number(/"databasePid":(\d+)/.exec(first.output())?.[1]);
  t.ok(enginePid > 0);
  await first.end('SIGKILL');
  await until(() => !existsSync(`/proc/${enginePid}`), 5000);

  const second = await startGatehouse(t, dataDir);
  t.equal(await statusOf(`${second.base}/v1/users/${made.id}`, await tokenOf(second)), 200);
});

t.test('when the engine dies: 503 in shape, then recovery by itself', async (t) => {
  const gatehouse = await startGatehouse(t, temporaryDir(t));
  const { base } = gatehouse;
  const token = await tokenOf(gatehouse);
  const pids = () => [...gatehouse.output().matchAll(/"databasePid":(\d+)/g)].map(([, pid]) => Number(pid));
  process.kill(pids()[0] ?? 0, 'SIGKILL');

  const seen: { status: number; body: unknown }[] = [];
  await until(async () => {
    const response = await fetch(`${base}/v1/users`, { headers: { authorization: `Bearer ${token}` } });
    seen.push({ status: response.status, body: await response.json() });
    return response.status === 200 && seen.length > 1;
  }, 15_000);
  for (const { status, body } of seen.filter(({ status }) => status !== 200)) {
    t.equal(status, 503);
    t.match(body, { error: { code: 'UNAVAILABLE', message: /database/ } });
  }
  await until(async () => (await statusOf(`${base}/health/ready`)) === 200, 10_000);
  t.equal((await createUser(base, await tokenOf(gatehouse), 'later')).status, 201);
});

t.test('when the process that started it is killed, it stops', async (t) => {
  const bootstrap = new URL('../bootstrap.mjs', import.meta.url).pathname;
  const main = new URL('../src/main.ts', import.meta.url).pathname;
  const port = await freePort();
  const { child, output } = spawnNode([bootstrap, main], { PORT: String(port), DATA_DIR: temporaryDir(t) });
  await until(() => output().includes('is ready at'), 30_000);
  child.kill('SIGKILL');
  await until(
    () =>
      fetch(`http://127.0.0.1:${port}/health/live`).then(
        () => false,
        () => true,
      ),
    15_000,
  );
  const engine = Number(/"databasePid":(\d+)/.exec(output())?.[1]);
  await until(() => !existsSync(`/proc/${engine}`), 10_000);
  t.pass('the services and the database are gone');
});

import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { spawnMain, statusOf, temporaryDir } from './gatehouse.ts';

t.test('a start that is stopped half way ends, with what it has begun', async (t) => {
  const port = await freePort();
  const { child, ended } = spawnMain({ PORT: String(port), DATA_DIR: temporaryDir(t) });
  t.teardown(() => child.kill('SIGKILL'));
  // Identity answers, the services after it do not yet.
  const answers = () => statusOf(`http://127.0.0.1:${port}/.well-known/jwks.json`).catch(() => 0);
  await until(async () => (await answers()) === 200, 60_000);
  child.kill('SIGTERM');
  const stopped = performance.now();
  const hung = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await ended;
  clearTimeout(hung);
  t.equal(child.signalCode, null);
  t.comment(`ended after ${Math.round(performance.now() - stopped)} ms`);
});

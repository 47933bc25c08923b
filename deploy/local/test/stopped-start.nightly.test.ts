import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, until } from '@gatehouse/testing/processes';
import t from 'tap';
import { spawnMain, startGatehouse, statusOf, temporaryDir } from './gatehouse.ts';

t.test(
  'a start that is stopped half way ends, with what it has begun, and the next one goes on',
  async (t) => {
    const port = await freePort();
    const dataDir = temporaryDir(t);
    const { child, ended } = spawnMain({ PORT: String(port), DATA_DIR: dataDir });
    t.teardown(() => child.kill('SIGKILL'));
    // Identity answers, the services after it do not yet.
    const responses = () => statusOf(`http://127.0.0.1:${port}/.well-known/jwks.json`).catch(() => 0);
    await until(async () => (await responses()) === 200, 60_000);
    child.kill('SIGTERM');
    const stopped = performance.now();
    const hung = setTimeout(() => child.kill('SIGKILL'), 30_000);
    await ended;
    clearTimeout(hung);
    t.equal(child.signalCode, null);
    t.comment(`ended after ${Math.round(performance.now() - stopped)} ms`);

    const file = join(dataDir, 'demo.json');
    t.notOk(existsSync(file), 'there are no credentials before they work');
    const pending = JSON.parse(readFileSync(`${file}.pending`, 'utf8'));
    const next = await startGatehouse(t, dataDir);
    t.same(next.demo, { ...pending, base_url: `http://localhost:${next.port}` }, 'but the same after it');
    t.notOk(existsSync(`${file}.pending`));
  },
);

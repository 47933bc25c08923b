import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@gatehouse/testing/processes';
import t from 'tap';
import { spawnMain, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

t.test('demo.json, master.key and the database belong together', async (t) => {
  const dataDir = temporaryDir(t);
  const first = await startGatehouse(t, dataDir);
  await first.end();
  for (const file of ['demo.json', 'master.key']) {
    const kept = readFileSync(join(dataDir, file));
    rmSync(join(dataDir, file));
    const { child, ended, output } = spawnMain({ PORT: String(await freePort()), DATA_DIR: dataDir });
    await ended;
    t.equal(child.exitCode, 1);
    t.match(output(), new RegExp(`^.*/${file} is gone, and the database was made with it: put it back`, 'm'));
    t.notOk(existsSync(join(dataDir, file)), 'no new one is made');
    t.notMatch(output(), /"level":"(error|fatal)"/);
    writeFileSync(join(dataDir, file), kept);
  }
  await startGatehouse(t, dataDir);
});

t.test(
  'an admin who was renamed or deleted does not come back, and keeps nothing from starting',
  async (t) => {
    const dataDir = temporaryDir(t);
    const first = await startGatehouse(t, dataDir);
    const users = `${first.base}/v1/users`;
    const headers = { authorization: `Bearer ${await tokenOf(first)}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ username: 'root', email: 'root@example.org' });
    t.equal(
      (await fetch(`${users}/${first.demo.admin.user_id}`, { method: 'PUT', headers, body })).status,
      200,
    );
    t.equal((await fetch(`${users}/${first.demo.user.user_id}`, { method: 'DELETE', headers })).status, 204);
    await first.end();
    const second = await startGatehouse(t, dataDir);
    const list = await fetch(`${second.base}/v1/users`, {
      headers: { authorization: `Bearer ${await tokenOf(second)}` },
    });
    t.match(await list.json(), { data: [{ username: 'root' }], pagination: { total: 1 } });
  },
);

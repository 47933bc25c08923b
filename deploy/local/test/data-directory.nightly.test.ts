import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonRequest } from '@gatehouse/testing/json-request';
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
    const token = await tokenOf(first);
    const body = { username: 'root', email: 'root@example.org' };
    const renamed = await jsonRequest('PUT', `${users}/${first.demo.admin.user_id}`, { token, body });
    t.equal(renamed.status, 200);
    const deleted = await jsonRequest('DELETE', `${users}/${first.demo.user.user_id}`, { token });
    t.equal(deleted.status, 204);
    await first.end();
    const second = await startGatehouse(t, dataDir);
    const list = await jsonRequest('GET', `${second.base}/v1/users`, { token: await tokenOf(second) });
    t.match(list.body, { data: [{ username: 'root' }], pagination: { total: 1 } });
  },
);

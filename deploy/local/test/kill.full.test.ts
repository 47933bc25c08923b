import { existsSync } from 'node:fs';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { createUser, startGatehouse, statusOf, temporaryDir, tokenOf } from './gatehouse.ts';

t.test('kill -9 of everything directly after a 201, again and again', async (t) => {
  const dataDir = temporaryDir(t);
  const made: string[] = [];
  for (let round = 0; round < repetitions(10); round += 1) {
    const gatehouse = await startGatehouse(t, dataDir);
    const token = await tokenOf(gatehouse);
    for (const id of made) {
      t.equal(await statusOf(`${gatehouse.base}/v1/users/${id}`, token), 200, `round ${round}: ${id}`);
    }
    const { status, id } = await createUser(gatehouse.base, token, `survivor${round}`);
    const engine = Number(/"databasePid":(\d+)/.exec(gatehouse.output())?.[1]);
    process.kill(engine, 'SIGKILL');
    gatehouse.child.kill('SIGKILL');
    t.equal(status, 201);
    made.push(id);
    await gatehouse.end('SIGKILL');
    await until(() => !existsSync(`/proc/${engine}`), 5000);
  }
  const last = await startGatehouse(t, dataDir);
  const token = await tokenOf(last);
  for (const id of made) t.equal(await statusOf(`${last.base}/v1/users/${id}`, token), 200, id);
});

import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnNode } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

const RESET = new URL('../src/reset.ts', import.meta.url).pathname;

async function reset(dataDir: string) {
  const { child, ended, output } = spawnNode(RESET, { DATA_DIR: dataDir, MONGODB_URI: undefined });
  await ended;
  return { status: child.exitCode, said: output() };
}

t.test('reset deletes what npm start has created, and nothing else', async (t) => {
  const dataDir = temporaryDir(t);
  mkdirSync(join(dataDir, 'Documents'));
  writeFileSync(join(dataDir, 'Documents/thesis'), 'years of work');
  const gatehouse = await startGatehouse(t, dataDir, { PUBLIC_URL: 'http://127.0.0.1:9' });
  t.match(await reset(dataDir), { status: 1, said: /^npm start is running on .*Nothing was removed/ });
  await gatehouse.end();

  // Damaged, as the message of npm start recommends a reset for.
  writeFileSync(join(dataDir, 'demo.json'), '{');
  const link = join(temporaryDir(t), 'link');
  symlinkSync(dataDir, link);
  t.match(await reset(link), {
    status: 0,
    said: /^Removed demo\.json, master\.key, mongodb\.uri, mongodb of /,
  });
  t.same(readdirSync(dataDir), ['Documents']);
  t.match(await reset(dataDir), { status: 0, said: /^There is nothing to forget/ });
  t.ok(existsSync(join(dataDir, 'Documents/thesis')));
  t.match(await reset(join(dataDir, 'nowhere')), { status: 0, said: /does not exist/ });
});

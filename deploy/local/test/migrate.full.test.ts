import { freePort, spawnNode } from '@gatehouse/testing/processes';
import t from 'tap';
import { temporaryDir } from './gatehouse.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

t.test('npm run migrate brings every database up to date', async (t) => {
  const { child, ended, output } = spawnNode([MAIN, 'migrate'], {
    ...{ MONGODB_URI: undefined, PUBLIC_URL: undefined },
    ...{ DATA_DIR: temporaryDir(t), PORT: String(await freePort()) },
  });
  await ended;
  t.equal(child.exitCode, 0, output());
  t.match(output(), /The databases are up to date\.\n/);
});

import { freePort, spawnNode } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

t.test('npm run migrate migrates every database, after which npm start has nothing to migrate', async (t) => {
  const dataDir = temporaryDir(t);
  const { child, ended, output } = spawnNode([MAIN, 'migrate'], {
    ...{ MONGODB_URI: undefined, PUBLIC_URL: undefined },
    ...{ DATA_DIR: dataDir, PORT: String(await freePort()) },
  });
  await ended;
  t.equal(child.exitCode, 0, output());
  t.match(output(), /a migration was applied(?:.*\n)+The databases are up to date\.\n/);
  const gatehouse = await startGatehouse(t, dataDir);
  t.notMatch(gatehouse.output(), 'a migration was applied');
  t.equal(await gatehouse.end(), 0);
});

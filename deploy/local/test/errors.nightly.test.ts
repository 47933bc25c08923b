import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@gatehouse/testing/processes';
import t from 'tap';
import { spawnMain, startGatehouse, temporaryDir } from './gatehouse.ts';

t.test('a failed start prints one clear sentence and exits with status 1', async (t) => {
  const used = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => used.once('listening', resolve));
  t.teardown(() => used.close());
  const usedPort = String((used.address() as { port: number }).port);

  const file = join(temporaryDir(t), 'file');
  writeFileSync(file, '');
  const damaged = temporaryDir(t);
  writeFileSync(join(damaged, 'demo.json'), '{');

  const cases: [string, Record<string, string>, RegExp][] = [
    ['port in use', { PORT: usedPort }, /^Port \d+ is in use: stop what uses it, or set PORT to another\.$/],
    [
      'DATA_DIR in /proc',
      { DATA_DIR: '/proc/gatehouse' },
      /^The data directory \/proc\/gatehouse cannot be written to/,
    ],
    [
      'DATA_DIR below a file',
      { DATA_DIR: join(file, 'data') },
      /^The data directory .* cannot be written to \(ENOTDIR\): set DATA_DIR/,
    ],
    [
      'no MongoDB is available',
      { GATEHOUSE_MONGO: 'mongod', PATH: '/nonexistent' },
      /^Preparing the database…\nNo MongoDB could be started:\n- .*\n.*Set MONGODB_URI/s,
    ],
    ['MONGODB_URI unreachable', { MONGODB_URI: 'mongodb://user:sesame@127.0.0.1:1/' }, /127\.0\.0\.1:1/],
    ['damaged demo.json', { DATA_DIR: damaged }, /demo\.json is damaged/],
    [
      'two wrong settings',
      { PORT: '0', LOG_LEVEL: 'maybe' },
      /^The setting PORT .*\nThe setting LOG_LEVEL .*\.$/,
    ],
    ['a wrong setting of the services', { RATE_LIMIT: 'maybe' }, /^The setting RATE_LIMIT .*\.$/],
  ];
  const outcomes = cases.map(async ([name, env, expected]) => {
    const { child, ended, output } = spawnMain({
      PORT: String(await freePort()),
      DATA_DIR: temporaryDir(t),
      ...env,
    });
    await ended;
    return { name, expected, status: child.exitCode, output: output() };
  });
  for (const { name, expected, status, output } of await Promise.all(outcomes)) {
    t.equal(status, 1, name);
    const said = output.split('\n').filter((line) => line !== '' && !line.startsWith('{"level":"info"'));
    t.match(said.join('\n'), expected, name);
    t.notMatch(output, /sesame| at .*\.ts:\d/, 'no secret, no stack');
  }
});

t.test('a start that fails because the data is in use does not change files', async (t) => {
  const dataDir = temporaryDir(t);
  const running = await startGatehouse(t, dataDir);
  const before = readFileSync(join(dataDir, 'demo.json'), 'utf8');
  const { ended, output, child } = spawnMain({ PORT: String(await freePort()), DATA_DIR: dataDir });
  await ended;
  t.equal(child.exitCode, 1, output());
  t.equal(readFileSync(join(dataDir, 'demo.json'), 'utf8'), before);
  t.equal(await running.end(), 0);
  const port = String(await freePort());
  const again = await startGatehouse(t, dataDir, { PORT: port });
  t.match(again.demo.base_url, new RegExp(`:${port}$`), 'whoever holds it writes where it is now');
});

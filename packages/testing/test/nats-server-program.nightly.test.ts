import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createLogger } from '@gatehouse/core/logger';
import { DEBIAN_KEYRING } from '@gatehouse/local-mongo/apt-packages';
import t from 'tap';
import { debianNatsServer } from '../src/nats-server-program.ts';

const isDebian = await stat(DEBIAN_KEYRING).then(
  () => true,
  () => false,
);

t.test("Debian's nats-server is fetched, and runs here", { skip: !isDebian && 'needs Debian' }, async (t) => {
  const cache = await mkdtemp(join(tmpdir(), 'gatehouse-cache-'));
  t.teardown(() => rm(cache, { recursive: true, force: true }));
  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  const env = { ...process.env, XDG_CACHE_HOME: cache };
  const path = await debianNatsServer(env, logger);
  const { stdout } = await promisify(execFile)(path, ['--version']);
  t.match(stdout, /^nats-server: v2\.10/);
  t.equal(await debianNatsServer({ ...env, PATH: '' }, logger), path, 'from the cache, without apt');
});

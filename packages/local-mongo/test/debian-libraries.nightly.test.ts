// Fetches from a Debian archive, 14 MB each time.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { DEBIAN_KEYRING } from '../src/apt-packages.ts';
import { findExecutable, isExecutable } from '../src/executable.ts';
import { debian13Libraries } from '../src/providers/embedded.ts';
import { recordingLogger, temporaryDirectory } from './fixture.ts';

const isDebian = findExecutable('apt-get', process.env) && (await readFile(DEBIAN_KEYRING).catch(() => 0));

t.test('two starts at once fetch into one cache', { skip: !isDebian && 'needs Debian' }, async (t) => {
  const base = await temporaryDirectory(t);
  const hookRan = join(base, 'hook-ran');
  const hooks = join(base, 'apt.conf');
  await writeFile(hooks, `APT::Update::Post-Invoke { "touch ${hookRan}"; };`);
  const { logger } = recordingLogger();
  // Settings as a system may have them.
  const env = { ...process.env, XDG_CACHE_HOME: base, APT_CONFIG: hooks };
  const [one, other] = await Promise.all([debian13Libraries(env, logger), debian13Libraries(env, logger)]);
  t.same(one, other);
  t.ok(isExecutable(one.loader));
  t.same(await readdir(join(base, 'gatehouse')), [one.directory.slice(join(base, 'gatehouse/').length)]);
  t.notOk((await readdir(base)).includes('hook-ran'), "the system's hooks are not run");
});

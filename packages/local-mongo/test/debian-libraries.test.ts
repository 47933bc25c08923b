import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { findExecutable } from '../src/executable.ts';
import { ProviderError } from '../src/provider.ts';
import { debian13Libraries } from '../src/providers/embedded.ts';
import { recordingLogger, temporaryDirectory } from './fixture.ts';

const { logger } = recordingLogger();
const hasApt = findExecutable('apt-get', process.env) !== undefined;

t.test('cached libraries are used without apt', async (t) => {
  const cache = await temporaryDirectory(t);
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const loader = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2';
  const directory = join(cache, 'gatehouse', `debian-13-libraries-${architecture}`);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, loader), '');
  t.same(await debian13Libraries({ XDG_CACHE_HOME: cache, PATH: '' }, logger), {
    directory,
    loader: join(directory, loader),
  });
});

t.test('a system without apt', async (t) => {
  const env = { XDG_CACHE_HOME: await temporaryDirectory(t), PATH: '' };
  await t.rejects(debian13Libraries(env, logger), {
    constructor: ProviderError,
    message: "Debian 13's libraries are fetched with apt-get, which is not on the PATH.",
  });
});

t.test('without a network', { skip: !hasApt && 'needs apt' }, async (t) => {
  const base = await temporaryDirectory(t);
  const cache = join(base, 'gatehouse');
  await mkdir(join(cache, 'fetch-of-another'), { recursive: true });
  await mkdir(join(cache, 'fetch-abandoned'));
  await utimes(join(cache, 'fetch-abandoned'), 0, 0);

  const env = { ...process.env, XDG_CACHE_HOME: base, http_proxy: 'http://127.0.0.1:1' };
  await t.rejects(debian13Libraries(env, logger), {
    constructor: ProviderError,
    message: /^Debian 13's libraries could not be fetched through apt: .*127\.0\.0\.1:1/,
  });
  t.same(await readdir(cache), ['fetch-of-another'], 'nothing is left behind, abandoned fetches included');
});

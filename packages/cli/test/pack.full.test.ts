import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import manifest from '../package.json' with { type: 'json' };

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

// npm fetches the packages that it depends on.
t.setTimeout(120_000);

t.test('the packed package works in an empty folder', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-cli-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  await writeFile(join(folder, 'package.json'), '{"private":true}');
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', join(folder, stdout.trim())];
  await run('npm', install, { cwd: folder });
  const installed = join(folder, 'node_modules/@gatehouse/cli');
  t.strictSame((await readdir(installed)).sort(), ['LICENSE', 'README.md', 'dist', 'package.json']);
  t.strictSame(await readdir(join(installed, 'dist')), ['gatehouse.js']);
  const printed = await run('npx', ['gatehouse', '--version'], { cwd: folder });
  t.equal(printed.stdout.trim(), manifest.version);
  // The oldest Node that the package names.
  const old = [
    '-y',
    '--prefer-offline',
    '-p',
    'node@18',
    'node',
    'node_modules/@gatehouse/cli/dist/gatehouse.js',
  ];
  const env = { ...process.env, XDG_CONFIG_HOME: folder };
  const refused = await run('npx', [...old, 'login', '--url', 'http://127.0.0.1:1'], {
    cwd: folder,
    env,
  }).catch((it) => it);
  t.match(refused, { code: 1, stdout: '', stderr: /^http:\/\/127\.0\.0\.1:1 cannot be reached/ });
});

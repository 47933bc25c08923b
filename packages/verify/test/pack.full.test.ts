import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(root, '../../node_modules/typescript/bin/tsc');

const CONSUMER = `
import { createVerifier, VerifyError, type Caller } from '@gatehouse/verify';
import { metadata, protect } from '@gatehouse/verify/express';
import { protect as protectRoute } from '@gatehouse/verify/next';
const base = { issuer: 'https://id.example.com', audience: 'https://api.example.com/notes' };
const verifier = createVerifier({ ...base, log: () => {}, stale: { then: 'refuse' } });
const caller: Promise<Caller> = verifier.verify(new Request('https://api.example.com/notes'), { scopes: ['a'] });
caller.catch((error: unknown) => {
  if (!(error instanceof VerifyError)) throw error;
  const status: 401 | 403 | 503 = error.status;
  console.log(status, error.headers['www-authenticate'], JSON.stringify(error.body));
  return verifier.close();
});
protect(verifier, { acr: 'phr' });
metadata(verifier, { name: 'Notes' });
protectRoute(verifier)(async (_request, { caller }) => Response.json(caller.subject));
// @ts-expect-error the audience is required
createVerifier.bind(undefined, { issuer: base.issuer });
// @ts-expect-error an ID without a secret
createVerifier.bind(undefined, { ...base, clientId: 'a' });
// @ts-expect-error an unknown policy
createVerifier.bind(undefined, { ...base, stale: { then: 'ignore' } });
`;

t.test('the packed package, in an empty folder', async (t) => {
  const before = await readFile(join(root, 'package.json'), 'utf8');
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-verify-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root });
  t.equal(await readFile(join(root, 'package.json'), 'utf8'), before, 'package.json is restored');
  t.notOk(existsSync(join(root, 'dist')));

  const tarball = join(folder, stdout.trim());
  await writeFile(join(folder, 'package.json'), '{"type":"module","private":true}');
  const install = [
    'install',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    tarball,
    '@types/node@24.19.2',
    'express@5.3.0',
  ];
  await run('npm', install, { cwd: folder });
  const installed = join(folder, 'node_modules/@gatehouse/verify');
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  t.match(manifest, { name: '@gatehouse/verify', type: 'module', license: 'Apache-2.0', private: undefined });
  t.strictSame(Object.keys(manifest.dependencies), ['jose']);
  for (const file of ['README.md', 'LICENSE']) t.ok(existsSync(join(installed, file)), file);

  const entries = ['', '/express', '/fastify', '/hono', '/koa', '/mcp', '/next'];
  const imports = entries.map((entry) => `await import('@gatehouse/verify${entry}');`).join('\n');
  await writeFile(join(folder, 'imports.mjs'), imports);
  await run('node', ['imports.mjs'], { cwd: folder });

  await writeFile(join(folder, 'consumer.mts'), CONSUMER);
  const strict = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
  await run(process.execPath, [tsc, ...strict, 'consumer.mts'], { cwd: folder }).catch((error) => {
    t.fail(error.stdout);
  });
  const { stdout: printed } = await run('node', ['consumer.mjs'], { cwd: folder });
  t.match(
    printed,
    /^401 Bearer resource_metadata="https:\/\/api\.example\.com\/\.well-known\/.*unauthorized/,
  );

  const readme = await readFile(join(installed, 'README.md'), 'utf8');
  const server = /```js\n(.+?)```/s
    .exec(readme)?.[1]
    ?.replace('listen(4000)', "listen(0, '127.0.0.1', check)");
  const check = `async function check() {
    const get = async (path) => {
      const response = await fetch('http://127.0.0.1:' + this.address().port + path);
      console.log(path, response.status, response.headers.get('www-authenticate'), await response.text());
    };
    await get('/notes');
    await get('/.well-known/oauth-protected-resource/notes');
    process.exit();
  }`;
  await writeFile(join(folder, 'server.mjs'), `${server}\n${check}`);
  const { stdout: served } = await run('node', ['server.mjs'], { cwd: folder });
  t.match(served, '/notes 401 Bearer resource_metadata="http://localhost:4000/.well-known');
  t.match(served, '"resource":"http://localhost:4000/notes"');
});

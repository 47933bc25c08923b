// `node scripts/pack.mjs prepack` builds ./dist, and lets package.json lead there; `postpack` takes both back. In the repository, Node 24 runs
// ./src as it is, but strips no types below node_modules.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = `${root}package.json`;
const original = `${root}package.json.orig`;
const ENTRIES = ['express', 'fastify', 'hono', 'koa', 'mcp', 'next'];

function restore() {
  if (existsSync(original)) renameSync(original, manifest);
  rmSync(`${root}dist`, { recursive: true, force: true });
}

function prepare() {
  restore();
  const text = readFileSync(manifest, 'utf8');
  const bootstrap = `${root}../../deploy/local/bootstrap.mjs`;
  const tsc = `${root}../../node_modules/typescript/bin/tsc`;
  // npm writes the name of the tarball to stdout, and nothing else may.
  const stdio = ['ignore', 2, 2];
  execFileSync(process.execPath, [bootstrap, tsc, '-p', `${root}tsconfig.build.json`], { stdio, cwd: root });
  const entry = (name) => ({ types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` });
  const { exports: sources, ...published } = JSON.parse(text);
  const exports = Object.fromEntries([
    ['.', entry('verifier')],
    ...ENTRIES.map((name) => [`./${name}`, entry(name)]),
    // Services of the repository that start meanwhile find what they import; the tarball has no src.
    ['./*', sources['./*']],
  ]);
  for (const name of ['devDependencies', 'scripts']) delete published[name];
  writeFileSync(original, text);
  writeFileSync(manifest, `${JSON.stringify({ ...published, exports }, undefined, 2)}\n`);
}

if (process.argv[2] === 'prepack') prepare();
else restore();

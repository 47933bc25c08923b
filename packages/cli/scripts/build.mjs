// `npm run build` makes dist/gatehouse.js, one file that Node runs from version 18 on.
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
// Node 18 has no global crypto, and the CommonJS modules among the libraries call require.
const banner = [
  "import { createRequire as _createRequire } from 'node:module';",
  "import { webcrypto as _webcrypto } from 'node:crypto';",
  'const require = _createRequire(import.meta.url);',
  'globalThis.crypto ??= _webcrypto;',
].join('\n');
const options = [
  ...['src/main.ts', '--outfile=dist/gatehouse.js', '--bundle', '--platform=node', '--format=esm'],
  // It has a native part, and the command works without it.
  ...['--target=node18', '--external:@napi-rs/keyring', `--banner:js=${banner}`, '--log-level=warning'],
];
execFileSync(process.execPath, [`${root}node_modules/esbuild/bin/esbuild`, ...options], {
  cwd: root,
  // npm writes the name of the tarball to stdout, and nothing else may.
  stdio: ['ignore', 2, 2],
});
chmodSync(`${root}dist/gatehouse.js`, 0o755);

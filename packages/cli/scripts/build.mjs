// `npm run build` makes dist/gatehouse.js, one file that any Node runs from version 18 on.
import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = `${root}dist/gatehouse.js`;
await build({
  entryPoints: [`${root}src/main.ts`],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node18',
  // It has a native part, and the command works without it.
  external: ['@napi-rs/keyring'],
  // Node 18 has no global crypto, and CommonJS modules among the libraries call require.
  banner: {
    js: [
      "import { createRequire as _createRequire } from 'node:module';",
      "import { webcrypto as _webcrypto } from 'node:crypto';",
      'const require = _createRequire(import.meta.url);',
      'globalThis.crypto ??= _webcrypto;',
    ].join('\n'),
  },
  logLevel: 'warning',
});
await chmod(outfile, 0o755);

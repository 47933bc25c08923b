import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import { findViolations, readSources } from '../src/import-rules.ts';

const ROOT = join(import.meta.dirname, '../../..');

const manifest = (name: string, fields: object) => JSON.stringify({ name: `@gatehouse/${name}`, ...fields });
const all = (...names: string[]) => Object.fromEntries(names.map((name) => [name, '1.0.0']));
const FILES = { './*': './src/*.ts' };
const SERVICE = { '.': './src/service.ts' };

/** A small tree in which no rule is broken. */
const SOUND: Record<string, string> = {
  'package.json': JSON.stringify({ devDependencies: all('tap') }),
  'packages/core/package.json': manifest('core', { exports: FILES, dependencies: all('pino', 'jose') }),
  'packages/core/src/logger.ts': `import { pino } from 'pino';\nimport 'node:fs';`,
  'packages/core/src/process.ts': `export const env = process.env;`,
  'packages/tokens/package.json': manifest('tokens', {
    exports: FILES,
    dependencies: all('@gatehouse/core', '@gatehouse/users', 'jose', 'mongoose'),
  }),
  'packages/tokens/src/verifier.ts': `import { jwtVerify } from "jose";\nimport '@gatehouse/core/logger';`,
  'packages/tokens/test/verifier.test.ts': `import '@gatehouse/tokens/verifier';`,
  'packages/data/package.json': manifest('data', { exports: FILES }),
  'packages/api/package.json': manifest('api', { exports: FILES }),
  'packages/server/package.json': manifest('server', { exports: FILES }),
  'packages/local-mongo/package.json': manifest('local-mongo', { exports: FILES }),
  'packages/testing/package.json': manifest('testing', {
    exports: FILES,
    dependencies: all('@gatehouse/core', '@gatehouse/tokens', '@gatehouse/users'),
  }),
  'packages/testing/src/tokens.ts': `import type { A } from '@gatehouse/tokens/verifier';`,
  'services/users/package.json': manifest('users', {
    exports: SERVICE,
    dependencies: all(
      ...['@gatehouse/core', '@gatehouse/tokens', '@gatehouse/local-mongo', '@gatehouse/identity'],
      ...['@gatehouse/data', '@gatehouse/api', '@gatehouse/server', '@koa/router', 'fastify', 'mongoose'],
    ),
    devDependencies: all('@gatehouse/testing', 'openid-client'),
  }),
  'services/users/src/service.ts': [
    `import './config.ts';`,
    `import './user-store.ts';`,
    `import './profiles/a.ts';`,
    `import './pages/module.ts';`,
    `import 'fastify';`,
  ].join('\n'),
  'services/users/src/config.ts': `export const read = () => process.env.USERS_PORT;`,
  'services/users/src/user.ts': `import { hash } from 'node:crypto';\nimport '@gatehouse/core/logger';`,
  'services/users/src/user-access.ts': `import type { User } from './user.ts';`,
  'services/users/src/user-store.ts': `import 'mongoose'; import '@gatehouse/data/id'; import './user.ts';`,
  'services/users/src/item-store.ts': `import './item-store-lists.ts';`,
  'services/users/src/item-store-lists.ts': `import 'mongoose'; import './item-store-plan.ts';`,
  'services/users/src/signing-keys.ts': `import '@gatehouse/tokens/verifier';`,
  'services/users/src/signing-key-store.ts': `import './signing-keys.ts'; import 'mongoose';`,
  'services/users/src/order.ts': `import '@gatehouse/core/logger';`,
  'services/users/src/store/order-store.ts': `import 'mongoose'; import './order-plan.ts'; import '../order.ts';`,
  'services/users/src/store/order-plan.ts': `import type { Order } from '../order.ts';`,
  'services/users/src/users.ts': `import type { UserStore } from './user-store.ts';`,
  'services/users/src/profile.ts': `import type { Users } from './users.ts';`,
  'services/users/src/profiles/a.ts': `import '../user.ts'; import '../profile.ts'; import 'fastify';`,
  'services/users/src/oidc/adapter.ts': `import type { Connection } from 'mongoose';`,
  'services/users/src/oidc/claims.ts': `import '../user-events.ts';`,
  'services/users/src/user-events.ts': `import type { Database } from '@gatehouse/data/database';`,
  'services/users/src/pages/account.ts': `import Router from '@koa/router'; import '../oidc/claims.ts';`,
  'services/users/src/pages/html.ts': `import '../user.ts';`,
  'services/users/src/pages/module.ts': `import './account.ts'; import 'mongoose'; import '../user-store.ts';`,
  'services/users/test/user.test.ts': [
    `import t from 'tap';`,
    `import '@gatehouse/testing/tokens';`,
    `import 'openid-client';`,
    `import './build.ts';`,
    `import '../src/user-store.ts';`,
    `spawn(process.env.SHELL);`,
  ].join('\n'),
  'services/users/test/build.ts': `export {};`,
  'services/users/src/pages/mails/b.ts': `import '../forms/b.ts';`,
  'services/users/test/pages/a.ts': `import '../oidc/b.ts';`,
  'services/identity/package.json': manifest('identity', { exports: SERVICE }),
  'services/identity/src/service.ts': `export {};`,
  'deploy/local/package.json': manifest('local', {
    dependencies: all('@gatehouse/users', '@gatehouse/core'),
  }),
  'deploy/local/src/main.ts': `import '@gatehouse/users'; import '@gatehouse/core/logger'; process.env.PORT;`,
};

function check(changes: Record<string, string> = {}): string[] {
  return findViolations(Object.entries({ ...SOUND, ...changes }).map(([path, text]) => ({ path, text })));
}

t.test('a sound tree', async (t) => {
  t.same(check(), []);
});

type Broken = [path: string, text: string, says: RegExp];
const ROUTES = /^routes reach a store: /;
const BROKEN: Broken[] = [
  // Every form of import is seen.
  [
    'packages/core/src/a.ts',
    `import jose from 'jose';`,
    /^packages\/core\/src\/a\.ts:1 imports 'jose': it is not/,
  ],
  ['packages/core/src/a.ts', `\nimport {\n  a,\n} from "jose";`, /core\/src\/a\.ts:4 imports 'jose'/],
  ['packages/core/src/a.ts', `import 'jose';`, /imports 'jose'/],
  ['packages/core/src/a.ts', `import type { A } from 'jose';`, /imports 'jose'/],
  ['packages/core/src/a.ts', `type A = import('jose').A;`, /imports 'jose'/],
  ['packages/core/src/a.ts', `const a = await import( 'jose' );`, /imports 'jose'/],
  ['packages/core/src/a.ts', `export * from 'jose';`, /imports 'jose'/],
  ['packages/core/src/a.ts', `export type { A } from 'jose/jwt';`, /imports 'jose\/jwt'/],
  ['packages/core/src/a.mjs', `const { a } = require('jose');`, /imports 'jose'/],
  ['packages/core/src/a.ts', `const q = /['"]/; // it's\nimport 'jose';`, /:2 imports 'jose'/],
  ['packages/core/src/a.ts', `const q = \`it's \${1}\`;\nimport 'jose';`, /:2 imports 'jose'/],
  ['packages/core/src/a.ts', `const q = \`\${await import('jose')}\`;`, /imports 'jose'/],
  ['packages/core/src/a.ts', `const f = <T>(a: import('jose').A<T>) => /'/.test(a) / 2;`, /imports 'jose'/],
  // Requests to other servers.
  [
    'packages/core/src/a.ts',
    `import { request } from 'node:http';`,
    /only packages\/outbound makes requests/,
  ],
  ['services/users/src/a.ts', `import https from 'node:https';`, /only packages\/outbound makes requests/],
  ['services/users/src/a.ts', `const { Agent } = await import('undici');`, /only packages\/outbound makes/],
  // Between packages.
  [
    'packages/core/src/a.ts',
    `import '@gatehouse/tokens/verifier';`,
    /not on the list of what packages\/core/,
  ],
  ['packages/tokens/src/a.ts', `import 'mongoose';`, /not on the list of what packages\/tokens/],
  ['packages/tokens/src/a.ts', `import '@gatehouse/users';`, /a package imports no service/],
  ['packages/testing/src/a.ts', `import '@gatehouse/users';`, /a package imports no service/],
  ['packages/fresh/src/a.ts', `import '@gatehouse/core/logger';`, /not on the list of what packages\/fresh/],
  ['packages/core/src/a.ts', `import '../../tokens/src/verifier.ts';`, /stays in its own package/],
  ['services/users/test/a.test.ts', `import '../../identity/src/service.ts';`, /stays in its own package/],
  // Services and deployments.
  ['services/users/src/a.ts', `import '@gatehouse/identity';`, /a service imports no other service/],
  ['services/users/src/a.ts', `import '@gatehouse/local-mongo/start';`, /where its MongoDB comes from/],
  ['services/users/src/a.ts', `import '@gatehouse/testing/tokens';`, /only tests import testing/],
  ['services/users/src/a.ts', `import '../test/build.ts';`, /only tests import tests/],
  ['deploy/local/src/a.ts', `import '@gatehouse/users/user';`, /a service has one export/],
  // Within a service.
  ['services/users/src/user.ts', `import 'mongoose';`, /an aggregate imports only core and/],
  ['services/users/src/user.ts', `import './signing-keys.ts';`, /an aggregate imports only core and/],
  ['services/users/src/user-access.ts', `import 'node:fs';`, /an aggregate imports only core and/],
  ['services/users/src/user-store.ts', `import 'fastify';`, /a store imports only/],
  ['services/users/src/user-store.ts', `import './signing-keys.ts';`, /a store imports only/],
  ['services/users/src/item-store-lists.ts', `import 'fastify';`, /a store imports only/],
  ['services/users/src/store/item-document.ts', `import 'fastify';`, /a store imports only/],
  ['services/users/src/order.ts', `import './user-events.ts';`, /an aggregate imports only core and/],
  ['services/users/src/user-changes.ts', `import './user-events.ts';`, /an aggregate imports only core and/],
  ['services/users/src/store/order-store.ts', `import 'fastify';`, /a store imports only/],
  ['services/users/src/store/order-plan.ts', `import '../signing-keys.ts';`, /a store imports only/],
  ['services/users/src/a.ts', `import './pages/module.ts';`, /only \.\/service\.ts may import it/],
  // Routes and stores: routes are what mounts routes, a store is what speaks to the database.
  ...[`import 'fastify';`, `import type { FastifyInstance } from 'fastify';`, `import '@koa/router';`].map(
    (framework): Broken => [
      'services/users/src/a.ts',
      `${framework}\nimport type { S } from './user-store.ts';`,
      /^routes reach a store: services\/users\/src\/a\.ts → services\/users\/src\/user-store\.ts/,
    ],
  ),
  [
    'services/users/src/a.ts',
    `import '@gatehouse/api/resource/route'; import './item-store-lists.ts';`,
    ROUTES,
  ],
  ['services/users/src/a.ts', `import 'fastify'; import type { O } from './store/order-plan.ts';`, ROUTES],
  ['services/users/src/a.ts', `import 'fastify'; import type { O } from './oidc/adapter.ts';`, ROUTES],
  ['services/users/src/a.ts', `import 'fastify'; import 'mongoose';`, ROUTES],
  ['services/users/src/a.ts', `import 'fastify'; import type { Id } from '@gatehouse/data/id';`, ROUTES],
  ['services/users/src/profiles/b.ts', `import '../user-store.ts';`, ROUTES],
  ['services/users/src/profiles/b.ts', `import '../item-store-lists.ts';`, ROUTES],
  ['services/users/src/profiles/b.ts', `import type { Model } from 'mongoose';`, ROUTES],
  ['services/users/src/profile.ts', `import './user-store.ts';`, ROUTES],
  [
    'services/users/src/users.ts',
    `import { createUserStore, type UserStore } from './user-store.ts';`,
    /^routes reach a store: \S+profiles\/a\.ts → \S+\/profile\.ts → \S+\/users\.ts → \S+\/user-store\.ts \(/,
  ],
  ['services/users/src/oidc/claims.ts', `import '@gatehouse/data/database';`, ROUTES],
  ['services/users/src/user-events.ts', `import { Types } from 'mongoose';`, ROUTES],
  ['services/users/src/profiles/b.ts', `import '../config.ts';`, /only \.\/service\.ts may/],
  ['services/users/src/a.ts', `import './service.ts';`, /only Node may import it/],
  // Declarations.
  ['services/users/src/a.ts', `import 'p-limit';`, /services\/users\/package\.json does not declare it/],
  ['services/users/src/a.ts', `import '@scope/name/sub';`, /does not declare it/],
  ['services/users/src/a.ts', `import 'openid-client';`, /does not declare it/],
  ['services/users/src/a.ts', `import 'tap';`, /does not declare it/],
  ['services/users/src/a.ts', `import '@gatehouse/users';`, /a service imports no other service/],
  ['packages/testing/src/a.ts', `import '@gatehouse/testing/tokens';`, /does not declare it/],
  ['services/users/src/a.ts', `import 'fs';`, /does not declare it/],
  ['services/users/test/a.test.ts', `import 'playwright-core';`, /does not declare it/],
  [
    'deploy/docker/healthcheck.mjs',
    `import 'mongoose';`,
    /deploy\/docker\/package\.json does not declare it/,
  ],
  // Cycles, of files and of folders.
  [
    'packages/core/src/a.ts',
    `import './a.ts';`,
    /^import cycle: packages\/core\/src\/a\.ts → packages\/core\/src\/a\.ts \(/,
  ],
  [
    'packages/core/src/logger.ts',
    `import type { A } from '@gatehouse/tokens/verifier';`,
    /^import cycle: packages\/core → packages\/tokens → packages\/core \(packages\/core\/src\/logger\.ts imports packages\/tokens\/src\/verifier\.ts, packages\/tokens\/src\/verifier\.ts imports packages\/core\/src\/logger\.ts\)$/,
  ],
  [
    'packages/core/src/ids.ts',
    `type A = import('@gatehouse/tokens/scopes').A;`,
    /cycle: packages\/\w+ → packages\/\w+ → packages\/\w+ \(/,
  ],
  [
    'services/users/src/user.ts',
    `import type { A } from './user-access.ts';`,
    /cycle: services\/users\/src\/user\.ts → services\/users\/src\/user-access\.ts → services\/users\/src\/user\.ts \(/,
  ],
  [
    'services/identity/src/service.ts',
    `import type { A } from '@gatehouse/identity';`,
    /cycle: services\/identity\/src\/service\.ts → services\/identity\/src\/service\.ts \(/,
  ],
  [
    'services/users/src/oidc/logout.ts',
    `import type { Html } from '../pages/html.ts';`,
    /cycle: services\/users\/src\/(?:oidc|pages) → services\/users\/src\/(?:oidc|pages) → /,
  ],
  [
    'services/users/src/user-events.ts',
    `import './oidc/logout.ts';`,
    /cycle: services\/users\/src\/(?:oidc → \S+user-events\.ts|user-events\.ts → \S+oidc) → /,
  ],
  [
    'services/users/src/pages/forms/a.ts',
    `import '../mails/a.ts';`,
    /cycle: services\/users\/src\/pages\/\w+ → services\/users\/src\/pages\/\w+ → /,
  ],
  [
    'services/users/test/oidc/a.ts',
    `import '../pages/b.ts';`,
    /cycle: services\/users\/test\/\w+ → services\/users\/test\/\w+ → /,
  ],
];

for (const [path, text, says] of BROKEN) {
  t.test(`${path}: ${text.trim()}`, async (t) => {
    const violations = check({ [path]: text });
    t.ok(
      violations.some((violation) => says.test(violation)),
      says.source,
      { violations },
    );
  });
}

t.test('a rule that is broken once is reported once', async (t) => {
  t.same(check({ 'services/users/src/user.ts': `import '@gatehouse/identity';` }), [
    `services/users/src/user.ts:1 imports '@gatehouse/identity': a service imports no other service`,
  ]);
});

t.test('text that only looks like an import', async (t) => {
  const texts = [
    `// import 'jose';`,
    `/* import a from 'jose';\n export * from 'jose' */`,
    `const text = "import 'jose'";`,
    `const text = 'import "jose"';`,
    'const text = `import "jose" from \'jose\'`;',
    `const pattern = /from 'jose'/;`,
    `const bytes = Buffer.from('jose');`,
    `t.mockImport('jose'); loader.import('jose');`,
  ];
  t.same(check({ 'packages/core/src/a.ts': texts.join('\n') }), []);
});

/** Who may use these globals is held by rules of Biome, which biome.json turns off for some files. */
const USERS: [path: string, text: string, may: boolean][] = [
  ['services/users/src/plain.ts', 'export const port = process.env.PORT;', false],
  ['services/users/src/optional.ts', 'export const port = process?.env?.PORT;', false],
  [
    'services/users/src/imported.ts',
    `import { env } from 'node:process';\nexport const port = env.PORT;`,
    false,
  ],
  ['services/users/src/test/a.ts', 'export const port = process.env.PORT;', false],
  ['packages/tokens/src/a.ts', `export const text = \`\${process.env.PORT}\`;`, false],
  ['deploy/docker/a.mjs', 'export const port = process.env.PORT;', false],
  ['services/users/src/text.ts', `// Not process.env.\nexport const text = 'process.env';`, true],
  ['services/users/src/config.ts', 'export const port = process.env.PORT;', true],
  ['services/users/test/a.test.ts', 'export const port = process.env.PORT;', true],
  ['services/users/bench/a.ts', 'export const port = process.env.PORT;', true],
  ['services/users/src/client.ts', 'export const ask = () => fetch("http://a.example");', false],
  ['deploy/local/src/client.ts', 'export const ask = fetch;', false],
  ['packages/core/src/socket.ts', 'export const socket = new WebSocket("ws://a.example");', false],
  ['services/users/src/example.ts', `export const text = \`await fetch('/')\`;`, true],
  ['services/users/src/other.ts', 'export const ask = (it: { fetch(): void }) => it.fetch();', true],
  ['services/users/test/b.test.ts', 'export const ask = () => fetch("http://a.example");', true],
  ['packages/testing/src/ask.ts', 'export const ask = () => fetch("http://a.example");', true],
];

t.test('who reads process.env, and who makes requests', async (t) => {
  const root = t.testdir();
  copyFileSync(join(ROOT, 'biome.json'), join(root, 'biome.json'));
  for (const [path, text] of USERS) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const options = ['lint', '--vcs-enabled=false', '--colors=off', '--reporter=github', '.'];
  const biome = spawnSync(join(ROOT, 'node_modules/.bin/biome'), options, { cwd: root, encoding: 'utf8' });
  const found = [...biome.stdout.matchAll(/(?:noProcessEnv|noRestrictedGlobals),file=([^,]+)/g)].map(
    ([, path = '']) => relative(root, path),
  );
  for (const [path, text, may] of USERS) t.equal(!found.includes(path), may, `${path}: ${text}`);
  t.equal(biome.status, 1);
});

t.test('this repository', async (t) => {
  const sources = readSources(ROOT);
  t.ok(sources.length > 50, 'the files were found');
  t.same(findViolations(sources), []);
});

import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  CLIENT_SERVICES,
  clientSecretSetting,
  ERASING_SERVICES,
  internalPrefix,
  internalRoutesOf,
  isUnder,
  mayCall,
  prefixesOf,
  SERVICE_NAMES,
  SERVICES,
  servicesCallableBy,
} from '@gatehouse/core/services';
import t from 'tap';

const root = resolve(import.meta.dirname, '../../..');

const CASES: [path: string, prefix: string, expected: boolean][] = [
  ['/v1/users', '/v1/users', true],
  ['/v1/users/', '/v1/users', true],
  ['/v1/users/usr_1/password', '/v1/users', true],
  ['/v1/usersearch', '/v1/users', false],
  ['/v1/users.json', '/v1/users', false],
  ['/v1/users%2Fx', '/v1/users', false],
  ['/v1/user', '/v1/users', false],
  ['/v1', '/v1/users', false],
  ['/V1/users', '/v1/users', false],
  ['/x/v1/users', '/v1/users', false],
  ['//v1/users', '/v1/users', false],
  ['/', '/v1/users', false],
  ['', '/v1/users', false],
  ['/', '/', true],
  ['/v1', '/', false],
  ['//v1/users', '/', false],
];

t.test('a prefix covers itself and what is below, by whole segments', async (t) => {
  for (const [path, prefix, expected] of CASES) t.equal(isUnder(path, prefix), expected, `"${path}"`);
});

t.test('no two services claim the same paths', async (t) => {
  const prefixes = SERVICE_NAMES.flatMap(prefixesOf);
  t.equal(new Set(prefixes).size, prefixes.length);
  for (const prefix of prefixes)
    t.match(prefix, /^(?:\/|(?:\/[^/]+)+)$/, `${prefix} has no slash at its end`);
});

t.test('each path has one service at most, also where one prefix begins like another', async (t) => {
  const served: Record<string, string[]> = {
    '/v1/users': ['users'],
    '/v2/users/usr_1': ['users'],
    '/api/v1/users': ['users'],
    '/users/usr_1': ['users'],
    '/kb/api/v1/users': ['users'],
    '/openapi/users.json': ['users'],
    '/guides/filters': ['users'],
    '/api/v1/items': ['items'],
    '/api/v1/items/itm_1': ['items'],
    '/openapi/items.json': ['items'],
    '/userinfo': ['identity'],
    '/api/v1/auth/login': ['identity'],
    '/': ['dashboard'],
    '/dashboard/users': ['dashboard'],
    '/docs/guides/users-api': ['dashboard'],
    '/openapi.json': ['dashboard'],
    '/llms.txt': ['dashboard'],
    '/mcp': ['dashboard'],
    '/api/v1': [],
    '/kb': [],
    '/openapi': [],
    '/guides/other': [],
  };
  for (const [path, expected] of Object.entries(served)) {
    const services = SERVICE_NAMES.filter((name) =>
      SERVICES[name].prefixes.some((prefix) => isUnder(path, prefix)),
    );
    t.same(services, expected, path);
  }
});

t.test('the services of the table are those that can be run', async (t) => {
  const runnable = globSync('services/*/src/service.ts', { cwd: root }).map(
    (file) => file.split('/')[1] ?? '',
  );
  t.same(runnable.sort(), [...SERVICE_NAMES].sort());
});

t.test('a service’s internal routes are below its own prefix, and no public path is', async (t) => {
  for (const name of SERVICE_NAMES) {
    for (const prefix of SERVICES[name].prefixes) t.notOk(isUnder(prefix, '/internal'), prefix);
    const routes = internalRoutesOf(name).map(({ prefix }) => prefix);
    for (const route of routes) {
      t.ok(isUnder(route, internalPrefix(name)), route);
      const others = routes.filter((other) => other !== route);
      t.notOk(
        others.some((other) => isUnder(route, other)),
        `${route} has one entry`,
      );
    }
  }
  t.same(prefixesOf('users'), [...SERVICES.users.prefixes, '/internal/users']);
});

t.test('every caller is a service, and another one', async (t) => {
  for (const name of SERVICE_NAMES) {
    for (const { prefix, callers } of internalRoutesOf(name)) {
      const others: readonly string[] = SERVICE_NAMES.filter((other) => other !== name);
      t.ok(callers.length > 0 && callers.every((caller) => others.includes(caller)), prefix);
    }
  }
});

const CALLS: [client: string, route: string, expected: boolean][] = [
  ['users', '/internal/identity/account-changes', true],
  ['items', '/internal/identity/account-changes', false],
  ['notifications', '/internal/identity/queue-actions', true],
  ['users', '/internal/identity/queue-actions', false],
  ['users', '/internal/identity/revocations', true],
  ['items', '/internal/identity/revocations', true],
  ['items', '/internal/identity/api-keys/resolve', true],
  ['identity', '/internal/identity/revocations', false],
  ['identity', '/internal/users/accounts/:id', true],
  ['items', '/internal/users/accounts/:id', false],
  ['users', '/internal/users/accounts', false],
  ['identity', '/internal/items', false],
  ['users', '/internal/identity', false],
  ['users', '/internal/identity/revocations-of-others', false],
  ['users', '/internal/identity/nothing', false],
  ['users', '/v1/users', false],
  ['users', '', false],
  ['app_1', '/internal/identity/revocations', false],
  ['dashboard', '/internal/identity/revocations', false],
  ['toString', '/internal/identity/revocations', false],
  ['every other service', '/internal/identity/revocations', false],
];

t.test('who may call what', async (t) => {
  for (const [client, route, expected] of CALLS)
    t.equal(mayCall(client, route), expected, `${client} ${route}`);
  t.same(servicesCallableBy('identity'), ['users']);
  t.same(servicesCallableBy('users'), ['identity', ...ERASING_SERVICES.slice(1)]);
  t.same(ERASING_SERVICES, ['identity', 'items', 'commerce', 'notifications']);
  t.same(servicesCallableBy('items'), ['identity']);
  t.same(servicesCallableBy('app_1'), []);
});

t.test('the clients of identity and where their secrets are', async (t) => {
  t.same(
    CLIENT_SERVICES.map(clientSecretSetting),
    SERVICE_NAMES.filter((name) => name !== 'identity').map((name) => `${name.toUpperCase()}_CLIENT_SECRET`),
  );
  t.equal(clientSecretSetting('users'), 'USERS_CLIENT_SECRET');
});

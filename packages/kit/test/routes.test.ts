import { INTERNAL_PREFIXES, isUnder, PUBLIC_PREFIXES, prefixesOf } from '@gatehouse/kit/routes';
import t from 'tap';

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
];

t.test('a prefix covers itself and what is below, by whole segments', async (t) => {
  for (const [path, prefix, expected] of CASES) t.equal(isUnder(path, prefix), expected, `"${path}"`);
});

t.test('no two services claim the same paths', async (t) => {
  const prefixes = [...Object.values(PUBLIC_PREFIXES), ...Object.values(INTERNAL_PREFIXES)].flat();
  t.equal(new Set(prefixes).size, prefixes.length);
  for (const prefix of prefixes) t.match(prefix, /^(?:\/[^/]+)+$/, `${prefix} has no slash at its end`);
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
    '/userinfo': ['identity'],
    '/api/v1/auth/login': ['identity'],
    '/api/v1': [],
    '/kb': [],
    '/openapi': [],
    '/guides/other': [],
  };
  for (const [path, expected] of Object.entries(served)) {
    const services = Object.entries(PUBLIC_PREFIXES).filter(([, prefixes]) =>
      prefixes.some((prefix) => isUnder(path, prefix)),
    );
    t.same(
      services.map(([name]) => name),
      expected,
      path,
    );
  }
});

t.test('what is internal is below /internal, and nothing else is', async (t) => {
  for (const prefix of Object.values(INTERNAL_PREFIXES).flat()) t.ok(isUnder(prefix, '/internal'), prefix);
  for (const prefix of Object.values(PUBLIC_PREFIXES).flat()) t.notOk(isUnder(prefix, '/internal'), prefix);
  t.same(prefixesOf('users'), [...PUBLIC_PREFIXES.users, '/internal/users']);
});

import {
  apiAudience,
  ceilingOf,
  internalAudience,
  isRole,
  MANAGE_APPS,
  parseScope,
  ROLES,
} from '@gatehouse/tokens/scopes';
import t from 'tap';

const SCOPES: [scope: string, expected: string[]][] = [
  ['', []],
  [' ', []],
  ['openid', ['openid']],
  ['read:users write:users', ['read:users', 'write:users']],
  ['  b   a ', ['b', 'a']],
  ['a b a', ['a', 'b']],
  ['A a', ['A', 'a']],
  // RFC 6749 §3.3 knows the space only.
  ['a\tb,c', ['a\tb,c']],
];

t.test('a scope is a list of names', async (t) => {
  for (const [scope, expected] of SCOPES) t.strictSame(parseScope(scope), expected, `"${scope}"`);
});

t.test('roles', async (t) => {
  for (const role of ROLES) t.ok(isRole(role), role);
  for (const other of ['', 'Admin', 'root', 'toString', undefined, null, 1, ['admin']]) {
    t.notOk(isRole(other), String(other));
  }
});

t.test('the maximum scopes of a role', async (t) => {
  const user = 'openid profile email roles read:profile read:users write:users read:data write:data';
  t.equal(ceilingOf('user').join(' '), user);
  t.equal(ceilingOf('editor').join(' '), `${user} read:all`);
  t.equal(ceilingOf('admin').join(' '), `${user} read:all`);
  for (const role of ROLES) t.notOk((ceilingOf(role) as readonly string[]).includes(MANAGE_APPS), role);
});

t.test('the audiences are below the issuer', async (t) => {
  for (const service of ['identity', 'users'] as const) {
    const expected = `https://id.example.com/internal/${service}`;
    t.equal(internalAudience('https://id.example.com', service), expected, 'one for each service');
  }
  t.equal(apiAudience('https://id.example.com'), 'https://id.example.com/api');
});

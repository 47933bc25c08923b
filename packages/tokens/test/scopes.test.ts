import { apiAudience, isRole, parseScope, ROLES } from '@gatehouse/tokens/scopes';
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

t.test('the audience of the API is below the issuer', async (t) => {
  t.equal(apiAudience('https://id.example.com'), 'https://id.example.com/api');
});

import t from 'tap';
import { returnPath } from '../../src/http/return-to.ts';

const CASES: [given: unknown, expected: string][] = [
  ['/dashboard', '/dashboard'],
  ['/dashboard/users?q=ann&kind=admin', '/dashboard/users?q=ann&kind=admin'],
  ['/dashboard?range=7d', '/dashboard?range=7d'],
  [undefined, '/dashboard'],
  [['/dashboard/users', '/dashboard/items'], '/dashboard'],
  ['', '/dashboard'],
  ['https://elsewhere.example/dashboard', '/dashboard'],
  ['//elsewhere.example/dashboard', '/dashboard'],
  ['/\\elsewhere.example', '/dashboard'],
  ['/dashboard/..//elsewhere.example', '/dashboard'],
  ['/dashboard/../account', '/dashboard'],
  ['/dashboard/%2e%2e/account', '/dashboard'],
  ['/dashboard\\..\\..\\account', '/dashboard'],
  ['/dashboard/\t../../account', '/dashboard'],
  ['/dashboards', '/dashboard'],
  ['/dashboard@elsewhere.example', '/dashboard'],
  ['/account', '/dashboard'],
  ['javascript:alert(1)', '/dashboard'],
  ['/dashboard/sign-in?to=/dashboard', '/dashboard'],
  ['/dashboard/sign-out', '/dashboard'],
  ['/dashboard/signed-in?code=x', '/dashboard'],
  ['/dashboard/signed-out', '/dashboard'],
  ['/dashboard/signing-keys?done=rotated', '/dashboard/signing-keys?done=rotated'],
  [`/dashboard/${'x'.repeat(2000)}`, '/dashboard'],
  ['/dashboard/users\r\nset-cookie: a=b', '/dashboard/usersset-cookie:%20a=b'],
];

t.test('after a sign-in only pages of the dashboard are gone on to', async (t) => {
  for (const [given, expected] of CASES) t.equal(returnPath(given), expected, JSON.stringify(given));
});

import t from 'tap';
import { authorizeUrl, build, PASSWORD } from '../../build.ts';
import { codeOf, enterCode, enterPassword, withApp } from '../../features/authenticator-app/app.ts';

const built = await build(t);

/** Whether somebody with these cookies, and no others, is signed in. */
async function isSignedIn(cookies: ReadonlyMap<string, string>): Promise<boolean> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { status } = await fetch(`${built.base}/account`, { headers: { cookie }, redirect: 'manual' });
  return status === 200;
}

t.test('a session that is known before a step of a sign-in is worth nothing after it', async (t) => {
  const { username, secret } = await withApp(built, 'fixed');
  const visitor = built.browser();
  const known: ReadonlyMap<string, string>[] = [];
  const session = () => visitor.cookies('/account').get('gatehouse_session');
  const note = () => known.push(visitor.cookies('/account'));
  // A sign-out that has begun makes a session before anybody has signed in, which an attacker could plant.
  await visitor.get('/oauth2/logout');
  note();
  const planted = session();
  t.ok(planted, 'there is one');
  const page = await enterPassword(visitor, username);
  note();
  await enterCode(visitor, page, codeOf(secret));
  t.not(session(), planted);
  t.ok(await isSignedIn(visitor.cookies('/account')));
  for (const [i, cookies] of known.entries()) t.notOk(await isSignedIn(cookies), `step ${i}`);

  const before = visitor.cookies('/account');
  const again = await visitor.get(authorizeUrl({ prompt: 'login' }));
  await visitor.submit(again, { username: 'ann', password: PASSWORD });
  t.notOk(await isSignedIn(before), 'nor is that of another account');
});

import type { Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { authorizeUrl, build, signInAndAllow } from '../build.ts';
import { usersSwitch } from './pages.ts';

const between = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: between.url } });
between.state.target = built.base;

async function signedIn() {
  const browser = built.browser();
  await signInAndAllow(browser, '/account');
  return browser;
}
const isSignIn = ({ url }: Page) => url.pathname.startsWith('/sign-in/');

/** What became of a request that was on its way, with the session already read, while `end` ran. */
async function whileInFlight(request: () => Promise<Page>, end: () => Promise<unknown>): Promise<Page> {
  const held = between.holdNext();
  const answer = request();
  const goOn = await held;
  await end();
  goOn();
  return answer;
}

t.test('a session that is ended does not come back through a request in flight', async (t) => {
  const here = await signedIn();
  for (const [name, end] of [
    ['by another device', (page: Page) => here.submit(page, {}, 'end-others')],
    ['by one of its other tabs', undefined],
  ] as const) {
    await t.test(name, async (t) => {
      const there = await signedIn();
      await signInAndAllow(there, authorizeUrl());
      const by = end === undefined ? there : here;
      const page = await by.get('/account/sessions');
      const before = new Map(there.cookies('/'));
      const answer = await whileInFlight(
        () => there.get(authorizeUrl()),
        () => (end === undefined ? by.submit(page, {}, '/account/sign-out') : end(page)),
      );
      t.equal(answer.url.searchParams.get('code'), null, 'no code');
      t.ok(before.get('gatehouse_session'));
      t.ok(isSignIn(await there.get('/account')), 'it is signed out');
      const listed = await here.get('/account/sessions');
      t.equal(listed.html.split('<li class="card">').length - 1, 1, 'and not listed');
    });
  }
});

import { formsOf } from '@gatehouse/testing/form-browser';
import * as client from 'openid-client';
import t from 'tap';
import { build, PASSWORD, signInAndAllow } from '../../build.ts';
import { commandLine, enterUserCode } from '../../command-line.ts';
import { heading, send, usersSwitch } from '../../pages.ts';

const users = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: users.url } });
users.state.target = built.base;
const credentials = { username: 'ann', password: PASSWORD };

async function endAll(): Promise<void> {
  t.equal((await built.call('DELETE', '/api/v1/sessions', await built.login())).status, 204);
}
async function listed(): Promise<string[]> {
  const { data } = (await built.call('GET', '/api/v1/sessions', await built.login())).body;
  return (data as { type: string; current: boolean }[])
    .filter(({ current }) => !current)
    .map(({ type }) => type);
}

t.test('a password that is entered before all sessions end makes no session after', async (t) => {
  const browser = built.browser();
  const page = await browser.get('/account');
  const fields = formsOf(page.html).find(({ html }) => html.includes('password'))?.fields;
  const posted = await send(built, 'POST', page.url.pathname, {
    browser,
    fields: { ...fields, ...credentials },
  });
  t.equal(posted.status, 303);
  await endAll();
  const resumed = await browser.get(String(posted.headers.get('location')));
  t.equal(resumed.url.pathname, '/account/signed-out');
  t.match((await browser.get('/account')).url.pathname, /^\/sign-in\//);
  t.same(await listed(), []);

  const slow = await browser.get('/account');
  const signedIn = await users.whileHeld('/password-checks', () => browser.submit(slow, credentials), endAll);
  t.equal(signedIn.url.pathname, '/account/signed-out', 'while it is being checked');
  t.same(await listed(), []);
  await endAll();
  t.equal((await signInAndAllow(browser, '/account')).url.pathname, '/account', 'from now on it does');
});

t.test('nor does one that is entered before all access is revoked', async (t) => {
  const browser = built.browser();
  const page = await browser.get('/account');
  const root = await built.login('admin');
  const revoke = async () => {
    const path = `/api/v1/users/${built.people.ann.id}/revocations`;
    t.equal((await built.call('POST', path, root, {})).status, 204);
  };
  const signedIn = await users.whileHeld('/password-checks', () => browser.submit(page, credentials), revoke);
  t.equal(signedIn.url.pathname, '/account/signed-out');
});

t.test('nor does it make a login at the API', async (t) => {
  const response = await users.whileHeld('/password-checks', () => built.logIn(), endAll);
  t.equal(response.status, 401);
});

t.test('a password signs in the browser in which it is entered, and no other', async (t) => {
  const attacker = built.browser();
  const begun = (await attacker.get('/account')).url.pathname;
  const theirs = attacker.cookies(begun);
  const victim = built.browser();
  await victim.get('/account');
  // A page of a sibling domain has planted the cookies of the attacker's sign-in, without that of its end.
  const planted = new Map([...theirs, ...victim.cookies('/')]);
  const cookie = [...planted].map(([name, value]) => `${name}=${value}`).join('; ');
  const page = await send(built, 'GET', begun, { headers: { cookie } });
  const fields = formsOf(page.html).find(({ html }) => html.includes('password'))?.fields;
  const posted = await send(built, 'POST', begun, {
    headers: { cookie },
    fields: { ...fields, ...credentials },
  });
  t.equal(posted.status, 303);
  const resumed = await attacker.get(String(posted.headers.get('location')));
  t.equal(resumed.url.pathname, '/account/signed-out');
  t.match((await attacker.get('/account')).url.pathname, /^\/sign-in\//);
  t.same(await listed(), []);
});

t.test('nor does it connect a device', async (t) => {
  const config = await commandLine(built);
  const response = await client.initiateDeviceAuthorization(config, { scope: 'openid' });
  const browser = built.browser();
  const { page } = await enterUserCode(browser, response.user_code);
  const resumed = await users.whileHeld('/password-checks', () => browser.submit(page, credentials), endAll);
  t.not(heading(resumed), 'Your device is connected');
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  const poll = client.pollDeviceAuthorizationGrant(config, { ...response, interval: 1 }, undefined, { DPoP });
  t.match(await poll.catch((error) => error), { error: 'invalid_grant' });
});

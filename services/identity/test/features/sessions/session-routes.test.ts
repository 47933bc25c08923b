import { newApiKey } from '@gatehouse/tokens/api-key';
import { decodeJwt } from 'jose';
import t from 'tap';
import { build, keyedApplication, PASSWORD, signInAndAllow } from '../../build.ts';
import { refresh, statusesOf, tokensFor } from '../../tokens.ts';

const apiKey = newApiKey();
const built = await build(t, {
  checkResponses: true,
  applications: [keyedApplication(apiKey.key, ['read:users', 'manage:apps'])],
});
const { base, people } = built;
const PATH = '/api/v1/sessions';
/** What the admin changes theirs to. */
const ADMIN_PASSWORD = `${PASSWORD} 2`;

type Listed = { id: string; type: string; client: string; current: boolean } & Record<string, string>;

async function login(username = 'ann', userAgent = 'curl/8.5.0', password = PASSWORD): Promise<string> {
  const response = await fetch(`${base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({ username, password }),
  });
  return String(((await response.json()) as { token: string }).token);
}
const call = (method: string, token?: string, path = '', body?: unknown) =>
  built.call(method, PATH + path, token, body);
async function sessions(token: string, path = ''): Promise<Listed[]> {
  const { status, body } = await call('GET', token, path);
  if (status !== 200) throw new Error(`the list answered ${status}`);
  return body.data as Listed[];
}
const loginId = (token: string) => String(decodeJwt(token).gid);
const statusOf = async (token: string) => (await built.call('GET', '/api/v1/auth/status', token)).status;

t.test('people see where they are signed in, and end it', async (t) => {
  const browser = built.browser();
  await signInAndAllow(browser, '/account');
  const [token, other] = [await login(), await login('ann', 'a-script/1')];
  const listed = await sessions(token);
  t.same(listed.map(({ type }) => type).sort(), ['browser', 'login', 'login']);
  const own = listed.find(({ id }) => id === loginId(token));
  const time = /^\d{4}-\d\d-\d\dT.*Z$/;
  t.match(own, { client: 'curl/8.5.0', address: '127.0.0.1', created_at: time, last_used_at: time });
  t.same(
    listed.filter(({ current }) => current).map(({ id }) => id),
    [loginId(token)],
  );
  t.match(JSON.stringify(listed), 'a-script/1');
  t.notMatch(JSON.stringify(listed), String(browser.cookies('/').get('gatehouse_session')));

  t.equal((await call('DELETE', token, `/${loginId(other)}`)).status, 204);
  t.equal(await statusOf(other), 401, 'dead when the answer is there');
  t.equal((await call('DELETE', token, `/${loginId(other)}`)).status, 404);
  const uid = listed.find(({ type }) => type === 'browser')?.id;
  t.equal((await call('DELETE', token, `/${uid}`)).status, 204);
  t.match((await browser.get('/account')).url.pathname, /^\/sign-in\//);
  t.equal((await sessions(token)).length, 1);

  const renewed = await built.call('POST', '/api/v1/auth/refresh', token);
  const next = String(renewed.body.token);
  t.same(
    (await sessions(next)).map(({ id }) => id),
    [loginId(token)],
    'a renewed login is the same one',
  );
  const more = await login();
  t.equal((await call('DELETE', next)).status, 204);
  t.same([await statusOf(next), await statusOf(more)], [401, 401], 'all of them, the own one included');

  const last = await login();
  t.equal((await built.call('POST', '/api/v1/auth/logout', last)).status, 204);
  t.same(await sessions(await login()).then((list) => list.map(({ id }) => id === loginId(last))), [false]);
});

t.test('admins see and end those of others, and nobody else does', async (t) => {
  const [token, admin] = [await login(), await login('admin')];
  const { ann, admin: root } = people;
  t.ok((await sessions(admin, `?user_id=${ann.id}`)).some(({ id }) => id === loginId(token)));
  t.notOk(
    (await sessions(admin)).some(({ id }) => id === loginId(token)),
    'only when named',
  );
  const { access_token } = await tokensFor(built);
  for (const [name, reply, status] of [
    ['the list of somebody else', call('GET', token, `?user_id=${root.id}`), 403],
    ['ending all of somebody else', call('DELETE', token, `?user_id=${root.id}`), 403],
    ['ending one of somebody else', call('DELETE', token, `/${loginId(admin)}?user_id=${root.id}`), 403],
    ['one of somebody else as an own one', call('DELETE', token, `/${loginId(admin)}`), 404],
    ['nobody', call('GET', admin, '?user_id=usr_nobody'), 404],
    ['without a token', call('GET'), 401],
    ['an application', call('GET', access_token), 403],
    ['an API key', call('GET', apiKey.key), 403],
    ['another method', call('PUT', token), 405],
  ] as const) {
    const { status: actual, body } = await reply;
    t.equal(actual, status, name);
    t.match(body, { error: { code: String, message: String } }, name);
  }
  t.equal(await statusOf(admin), 200);
  t.equal((await call('DELETE', admin, `/${loginId(token)}?user_id=${ann.id}`)).status, 204);
  t.equal(await statusOf(token), 401);
});

t.test('a login is on the sessions page, and ends there', async (t) => {
  const browser = built.browser();
  await signInAndAllow(browser, '/account', 'admin');
  const [token, other] = [await login('admin', 'a-script/2.0'), await login('admin')];
  const page = await browser.get('/account/sessions');
  t.match(page.html, '<h3 id="login-1">curl/8.5.0: 2 logins</h3>');
  t.match(page.html, '<h3 id="login-2">a-script/2.0</h3>');
  const ended = await browser.submit(page, {}, loginId(token));
  t.match(ended.html, 'The login has ended.');
  t.same([await statusOf(token), await statusOf(other)], [401, 200]);
  t.notMatch(ended.html, 'a-script/2.0');
  const all = await browser.confirm(ended, 'end-others');
  t.equal(await statusOf(other), 401);
  t.notMatch(all.html, 'Logins of programs');

  const again = await login('admin');
  const fields = { current_password: PASSWORD, new_password: ADMIN_PASSWORD };
  await browser.submit(await browser.get('/account/password'), fields, 'new_password');
  t.equal(await statusOf(again), 401);
  t.notMatch((await browser.get('/account/sessions')).html, 'Logins of programs');
});

t.test('the end of all sessions ends grants whose session is gone', async (t) => {
  const { ann } = people;
  const before = await login();
  const expired = await tokensFor(built);
  const sessions = (await built.database()).collection('oidc_sessions');
  await sessions.deleteMany({ account_id: ann.id });
  const others = built.browser();
  const kept = await tokensFor(built, { browser: others });
  const page = await others.get('/account/sessions');
  await others.confirm(page, 'end-others');
  t.same(await statusesOf(built, expired.access_token), [401, 401], 'of a session that has expired');
  t.equal((await refresh(built, expired.refresh_token)).status, 400);
  t.same(await statusesOf(built, kept.access_token), [200, 200], 'and not of the session that remains');
  t.equal(await statusOf(before), 401);

  await sessions.deleteMany({ account_id: ann.id });
  t.equal((await call('DELETE', await login())).status, 204);
  t.same(await statusesOf(built, kept.access_token), [401, 401], 'without the document of the session');
  t.equal((await refresh(built, kept.refresh_token)).status, 400);
});

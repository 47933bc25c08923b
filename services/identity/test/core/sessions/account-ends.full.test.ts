import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@gatehouse/core/ids';
import { repetitions } from '@gatehouse/testing/repetitions';
import { decodeJwt } from 'jose';
import t, { type Test } from 'tap';
import { authorizeUrl, build, codeFor, PASSWORD, WEB } from '../../build.ts';
import { refresh, tokensFor } from '../../tokens.ts';

const built = await build(t);
const database = await built.database();
const { call, createApplication, json, logIn, login } = built;
const admin = await login('admin');

/** A new person, so that no test gets in the way of another. */
async function newPerson(): Promise<{ id: string; username: string }> {
  const username = newId('x').replace('_', '').toLowerCase();
  return { id: await built.createPerson(username), username };
}

/** Everything that somebody can be signed in with: two sessions' worth of it. */
async function signIn(username: string, password = PASSWORD) {
  const browser = built.browser();
  const tokens = await tokensFor(built, { browser, username, password });
  const code = await codeFor(browser, {}, username, password);
  return { browser, ...tokens, code, login: await login(username, password) };
}
type SignedIn = Awaited<ReturnType<typeof signIn>>;

/** Each at the first question. */
async function isAllDead(
  t: Test,
  { browser, access_token, refresh_token, code, ...it }: SignedIn,
  id: string,
) {
  const [users, identity, loginAtUsers, login, refreshed, exchanged, userInfo, page] = await Promise.all([
    call('GET', `/v1/users/${id}`, access_token),
    call('GET', '/api/v1/auth/permissions', access_token),
    call('GET', `/v1/users/${id}`, it.login),
    call('GET', '/api/v1/auth/permissions', it.login),
    refresh(built, refresh_token),
    json({ grant_type: 'authorization_code', code, ...WEB }),
    call('GET', '/userinfo', access_token),
    browser.get(authorizeUrl({ prompt: 'none' })),
  ]);
  t.same(
    [users, identity, loginAtUsers, login, userInfo].map(({ status }) => status),
    [401, 401, 401, 401, 401],
    'access tokens: at users, at identity, those of the login, at /userinfo',
  );
  t.match(refreshed, { status: 400, body: { error: 'invalid_grant' } }, 'the refresh token');
  t.match(exchanged, { status: 400, body: { error: 'invalid_grant' } }, 'the code');
  t.equal(page.url.searchParams.get('error'), 'login_required', 'the session');
}

async function isAllAlive(t: Test, { access_token, refresh_token, ...it }: SignedIn, id: string) {
  for (const token of [access_token, it.login]) {
    t.equal((await call('GET', `/v1/users/${id}`, token)).status, 200);
  }
  t.equal((await refresh(built, refresh_token)).status, 200);
}

t.test('a password change, again and again: what is older is dead, what is newer lives', async (t) => {
  const { id, username } = await newPerson();
  let password = PASSWORD;
  let before = await signIn(username);
  for (let round = 0; round < repetitions(20); round += 1) {
    const next = `${PASSWORD} ${round}`;
    const [token, body] =
      round % 2 === 0
        ? [before.login, { current_password: password, new_password: next }]
        : [admin, { new_password: next }];
    t.equal((await call('PUT', `/v1/users/${id}/password`, token, body)).status, 204);
    const [, after] = await Promise.all([isAllDead(t, before, id), signIn(username, next)]);
    await isAllAlive(t, after, id);
    if (round === 0) t.equal((await logIn(username, password)).status, 401, 'the old one is none');
    before = after;
    password = next;
  }
});

t.test('a password change on the account page: its own session goes on, and nothing else', async (t) => {
  const { id, username } = await newPerson();
  const before = await signIn(username);
  const other = await signIn(username);
  const page = await before.browser.get('/account/password');
  const fields = { current_password: PASSWORD, new_password: `${PASSWORD} two` };
  const saved = await before.browser.submit(page, fields, 'new_password');
  t.equal(saved.url.pathname, '/account/password');
  await isAllDead(t, other, id);
  t.equal((await call('GET', `/v1/users/${id}`, before.access_token)).status, 401);
  t.equal((await refresh(built, before.refresh_token)).status, 400);
  t.equal((await before.browser.get('/account')).url.pathname, '/account', 'who changed it is still here');
  await isAllAlive(t, await signIn(username, `${PASSWORD} two`), id);
});

t.test('writes of a request that was under way end, too', async (t) => {
  const { id, username } = await newPerson();
  const it = await signIn(username);
  const of = { account_id: id };
  const grants = await database.collection('oidc_grants').find(of).toArray();
  const issued = { grant_id: { $in: grants.map(({ _id }) => String(_id)) } };
  const kept = [
    { name: 'oidc_sessions', documents: await database.collection('oidc_sessions').find(of).toArray() },
    { name: 'oidc_grants', documents: grants },
    ...(await Promise.all(
      ['oidc_refresh_tokens', 'oidc_authorization_codes'].map(async (name) => ({
        name,
        documents: await database.collection(name).find(issued).toArray(),
      })),
    )),
  ];
  t.equal((await call('PUT', `/v1/users/${id}/password`, admin, { new_password: 'a new one' })).status, 204);
  for (const { name, documents } of kept) {
    t.ok(documents.length > 0, name);
    const same = { _id: { $in: documents.map((d) => d._id) } };
    t.equal(await database.collection(name).countDocuments({ ...same, ended: { $ne: true } }), 0);
    // As if it came so late that the tombstones have been swept.
    await database.collection(name).deleteMany(same);
    await database.collection(name).insertMany(documents);
  }
  await isAllDead(t, it, id);
});

t.test('a login that is renewed again and again does not outlive the password', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    const { id, username } = await newPerson();
    const chains = await Promise.all(Array.from({ length: 6 }, () => login(username)));
    let over = false;
    const running = chains.map(async (first) => {
      let token = first;
      while (!over) {
        const { status, body } = await call('POST', '/api/v1/auth/refresh', token);
        if (status !== 200) break;
        token = String(body.token);
      }
      return token;
    });
    const change = { current_password: PASSWORD, new_password: 'another battery horse' };
    t.equal((await call('PUT', `/v1/users/${id}/password`, await login(username), change)).status, 204);
    await sleep(300);
    over = true;
    for (const token of await Promise.all(running)) {
      t.equal((await call('GET', `/v1/users/${id}`, token)).status, 401);
    }
  }
});

t.test('a wrong current password ends nothing', async (t) => {
  const { id, username } = await newPerson();
  const it = await signIn(username);
  const body = { current_password: 'wrong', new_password: `${PASSWORD} two` };
  t.equal((await call('PUT', `/v1/users/${id}/password`, it.login, body)).status, 400);
  await isAllAlive(t, it, id);
});

t.test('another role: access tokens die, and the next ones carry it', async (t) => {
  const { id, username } = await newPerson();
  t.equal((await call('PUT', `/v1/users/${id}/role`, admin, { role: 'editor' })).status, 204);
  const it = await signIn(username);
  t.equal((await call('GET', '/v1/users', it.access_token)).status, 200);
  t.equal((await call('PUT', `/v1/users/${id}/role`, admin, { role: 'user' })).status, 204);
  for (const token of [it.access_token, it.login]) {
    t.equal((await call('GET', '/v1/users', token)).status, 401);
  }
  const { status, body } = await refresh(built, it.refresh_token);
  t.equal(status, 200, 'nobody has to sign in again for that');
  t.same(decodeJwt(String(body.access_token)).roles, ['user']);
  t.equal((await call('GET', '/v1/users', String(body.access_token))).status, 403);
});

t.test('a higher role: an application keeps the role that it was allowed with', async (t) => {
  const { id, username } = await newPerson();
  const it = await signIn(username);
  t.equal((await call('PUT', `/v1/users/${id}/role`, admin, { role: 'admin' })).status, 204);
  const { status, body } = await refresh(built, it.refresh_token);
  t.equal(status, 200);
  t.same(decodeJwt(String(body.access_token)).roles, ['user']);
  t.equal((await call('GET', `/v1/users/${built.people.ann.id}`, String(body.access_token))).status, 403);
  t.same(decodeJwt((await signIn(username)).access_token).roles, ['admin'], 'another browser asks again');
});

t.test('deactivation, and what comes after activation', async (t) => {
  const { id, username } = await newPerson();
  const it = await signIn(username);
  t.equal((await call('PUT', `/v1/users/${id}/status`, admin, { status: 'inactive' })).status, 204);
  await isAllDead(t, it, id);
  t.equal((await logIn(username)).status, 401);
  t.equal((await call('PUT', `/v1/users/${id}/status`, admin, { status: 'active' })).status, 204);
  await isAllDead(t, it, id);
  await isAllAlive(t, await signIn(username), id);
});

t.test('deletion of the account', async (t) => {
  const { id, username } = await newPerson();
  const it = await signIn(username);
  t.equal((await call('DELETE', `/v1/users/${id}`, it.login)).status, 204);
  await isAllDead(t, it, id);
  t.match((await it.browser.get(authorizeUrl())).url.pathname, /^\/sign-in\//, 'somebody may sign in there');
  t.equal((await logIn(username)).status, 401);
});

t.test('deletion of the application', async (t) => {
  const { id, username } = await newPerson();
  const owner = await login(username);
  const redirect_uri = 'https://gone.example.org/callback';
  const made = await createApplication(owner, {
    name: 'Gone',
    type: 'web',
    redirect_uris: [redirect_uri],
    scopes: ['openid', 'read:profile'],
  });
  const client = { ...made, redirect_uri };
  const more = { scope: 'openid read:profile' };
  const browser = built.browser();
  const { access_token, refresh_token } = await tokensFor(built, { browser, client, username, more });
  const web = await tokensFor(built, { browser, username });
  const code = await codeFor(browser, { ...more, client_id: client.client_id, redirect_uri }, username);
  t.equal((await call('DELETE', `/api/v1/applications/${client.client_id}`, owner)).status, 204);
  t.equal((await call('GET', `/v1/users/${id}`, access_token)).status, 401);
  t.equal((await call('GET', '/userinfo', access_token)).status, 401);
  t.match(await refresh(built, refresh_token, client), { status: 401, body: { error: 'invalid_client' } });
  t.match(await json({ grant_type: 'authorization_code', code, ...client }), {
    status: 401,
    body: { error: 'invalid_client' },
  });
  const page = await browser.get(authorizeUrl({ ...more, client_id: client.client_id, redirect_uri }));
  t.equal(page.status, 400);
  t.equal((await call('GET', `/v1/users/${id}`, web.access_token)).status, 200, 'another application lives');
});

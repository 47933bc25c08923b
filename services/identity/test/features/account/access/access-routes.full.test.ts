import { type FormBrowser, formsOf } from '@gatehouse/testing/form-browser';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, PASSWORD, SPA, signInAndAllow, WEB } from '../../../build.ts';
import { heading, isSignIn, newPerson, noticeOf, send, signedIn, usersSwitch } from '../../../pages.ts';
import { pkce, tokensFor, untilDead } from '../../../tokens.ts';

const between = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: between.url } });
between.state.target = built.base;
const { call, form } = built;

/** What the application gets for somebody in this browser. */
async function ofWeb(browser: FormBrowser, username: string) {
  const { access_token, refresh_token } = await tokensFor(built, { browser, username });
  return { access: access_token, refresh: refresh_token };
}
const lives = async (token: string) => (await call('GET', '/userinfo', token)).status === 200;
const diesInTime = async (token: string) => (await untilDead(built, token)) < 1000;

t.test('applications: taking back permission ends what they hold', async (t) => {
  const visitor = await newPerson(built, 'kim');
  t.match((await visitor.get('/account/applications')).html, 'No applications have access to your account.');
  const { access, refresh } = await ofWeb(visitor, 'kim');
  const elsewhere = await ofWeb(await signedIn(built, 'kim'), 'kim');
  const spa = { client_id: SPA.client_id, redirect_uri: SPA.redirect_uri };
  await signInAndAllow(visitor, authorizeUrl({ ...spa, ...pkce().challenge, scope: 'openid' }), 'kim');

  const page = await visitor.get('/account/applications');
  t.strictSame(
    [...page.html.matchAll(/<h2 id="application-\d"><bdi>(.*?)<\/bdi>/g)].map(([, name]) => name),
    ['Spa', 'Web of Examples'],
    'each once, however often it was allowed',
  );
  t.notMatch(page.html, 'gatehouse-account');
  t.match(page.html, 'web.example.org');
  const done = await visitor.submit(page, {}, 'value="app_web"');
  t.equal(noticeOf(done), 'The application no longer has access to your account.');
  t.notMatch(done.html, 'Web of Examples');
  t.match(done.html, 'Spa');
  for (const token of [access, elsewhere.access]) t.ok(await diesInTime(token));
  const refreshed = await form({ grant_type: 'refresh_token', refresh_token: refresh, ...WEB });
  t.match(refreshed, { status: 400, body: { error: 'invalid_grant' } });
  const again = await visitor.get(authorizeUrl());
  t.match(again.url.pathname, /^\/consent\//, 'it has to ask again');
  const { access: fresh } = await ofWeb(visitor, 'kim');
  t.ok(await lives(fresh));
  // Nothing of anybody else's goes with it.
  const stranger = await newPerson(built, 'zoe');
  const csrf = formsOf((await stranger.get('/account')).html)[0]?.fields.csrf ?? '';
  const fields = { client_id: WEB.client_id, csrf };
  const sent = await send(built, 'POST', '/account/applications/revoke', { browser: stranger, fields });
  t.equal(sent.status, 303);
  t.ok(await lives(fresh));
});

t.test('sessions', async (t) => {
  const visitor = await newPerson(built, 'joe');
  const second = await signedIn(built, 'joe');
  const third = await signedIn(built, 'joe');
  const { access } = await ofWeb(second, 'joe');
  const page = await visitor.get('/account/sessions');
  const cards = page.html.split('<li class="card">').slice(1);
  t.equal(cards.length, 3);
  t.match(cards[0], 'This device', 'which stands first');
  t.match(cards[0], 'Sign out here');
  t.match(cards[1], '127.0.0.1');

  const secondPage = await second.get('/account/sessions');
  const uid = formsOf(secondPage.html.split('<li class="card">')[1] ?? '')[0]?.fields.session ?? '';
  t.not(uid, '');
  const ended = await visitor.submit(page, {}, uid);
  t.equal(noticeOf(ended), 'The session has ended.');
  t.ok(isSignIn(await second.get('/account')));
  t.ok(await diesInTime(access), 'and what was allowed in it');
  t.notOk(isSignIn(await third.get('/account')));

  const stranger = await newPerson(built, 'mia');
  const mine = await stranger.get('/account/sessions');
  const own = formsOf(ended.html).find(({ html }) => html.includes('Sign out here'))?.fields.session ?? '';
  await stranger.submit(mine, { session: own }, 'Sign out here');
  t.notOk(isSignIn(await visitor.get('/account')), 'nobody ends the sessions of somebody else');

  const others = await visitor.confirm(ended, 'end-others');
  t.equal(noticeOf(others), 'All other sessions and logins have ended.');
  t.ok(isSignIn(await third.get('/account')));
  t.equal(others.html.split('<li class="card">').length, 2);
  t.notMatch(others.html, 'end-others');
  const out = await visitor.submit(others, {}, 'Sign out here');
  t.equal(heading(out), 'You are signed out');
  t.notOk(visitor.cookies('/').has('gatehouse_session'));
  t.ok(isSignIn(await visitor.get('/account')));
});

t.test('sessions are grouped by device, and logins by program; a group ends together', async (t) => {
  const visitor = await newPerson(built, 'eva');
  const others = [await signedIn(built, 'eva'), await signedIn(built, 'eva')];
  const phone = await signedIn(built, 'eva');
  const sessions = (await built.database()).collection<{ _id: string; payload: string }>('oidc_sessions');
  const uid = formsOf((await phone.get('/account/sessions')).html).find(({ html }) =>
    html.includes('Sign out here'),
  )?.fields.session;
  for (const { _id, payload } of await sessions.find({}).toArray()) {
    const session = JSON.parse(payload);
    if (session.uid !== uid) continue;
    session.device.userAgent =
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1';
    await sessions.updateOne({ _id }, { $set: { payload: JSON.stringify(session) } });
  }
  const logins: string[] = [];
  for (const userAgent of ['curl/8.5.0', 'curl/8.5.0', 'wget/1.21']) {
    const headers = { 'content-type': 'application/json', 'user-agent': userAgent };
    const body = JSON.stringify({ username: 'eva', password: PASSWORD });
    const response = await fetch(`${built.base}/api/v1/auth/login`, { method: 'POST', headers, body });
    logins.push(((await response.json()) as { token: string }).token);
  }
  const statuses = () =>
    Promise.all(logins.map(async (token) => (await call('GET', '/api/v1/auth/status', token)).status));

  const page = await visitor.get('/account/sessions');
  t.match(page.html, /<h2 id="device-1">.*: 3 sessions<\/h2>/);
  t.match(page.html, '<h2 id="device-2">Safari on iPhone</h2>');
  t.match(page.html, '<h3 id="login-1">wget/1.21</h3>');
  t.match(page.html, '<h3 id="login-2">curl/8.5.0: 2 logins</h3>');
  t.match(page.html, 'End the other 2');

  const ended = await visitor.submit(page, {}, 'End the other 2');
  t.equal(noticeOf(ended), 'The sessions have ended.');
  for (const other of others) t.ok(isSignIn(await other.get('/account')));
  for (const left of [visitor, phone]) t.notOk(isSignIn(await left.get('/account')));
  const without = await visitor.submit(ended, {}, 'End all 2');
  t.equal(noticeOf(without), 'The logins have ended.');
  t.same(await statuses(), [401, 401, 200]);
  t.match(without.html, 'wget/1.21');
});

t.test('a session that is ended does not come back through a request in flight', async (t) => {
  const here = await newPerson(built, 'ada');
  for (const name of ['by another device', 'by another tab']) {
    await t.test(name, async (t) => {
      const there = await signedIn(built, 'ada');
      await ofWeb(there, 'ada');
      const isTab = name === 'by another tab';
      const [by, button] = isTab ? [there, 'sign-out'] : [here, 'name="confirmation"'];
      const page = await by.get(isTab ? '/account/sessions' : '/account/sessions/end-others');
      const response = await between.whileHeld(
        '/accounts?',
        () => there.get(authorizeUrl()),
        () => by.submit(page, {}, button),
      );
      t.equal(response.url.searchParams.get('code'), null, 'no code');
      t.ok(isSignIn(await there.get('/account')), 'it is signed out');
      const listed = await here.get('/account/sessions');
      t.equal(listed.html.split('<li class="card">').length, 2, 'and not listed');
    });
  }
});

t.test('all sessions end, even more than are listed', async (t) => {
  const visitor = await newPerson(built, 'max');
  const { sub } = decodeJwt((await ofWeb(visitor, 'max')).access);
  const database = await built.database();
  for (const name of ['oidc_sessions', 'oidc_grants']) {
    const documents = database.collection<{ _id: string }>(name);
    const one = await documents.findOne({ account_id: sub, client_id: { $ne: 'gatehouse-account' } });
    const {
      payload,
      expires_at,
      id_hash: _,
      authorizations: __,
      ...rest
    } = one as unknown as Record<string, string>;
    const copies = Array.from({ length: 301 }, (_, i) => ({
      ...rest,
      ...{ _id: `max-${i}`, uid: `max-${i}` },
      payload: JSON.stringify({ ...JSON.parse(String(payload)), uid: `max-${i}`, authorizations: {} }),
      expires_at: new Date(new Date(String(expires_at)).getTime() - 1000 - i),
    }));
    await documents.insertMany(copies);
  }
  const page = await visitor.get('/account/sessions');
  t.equal(page.html.split('<li class="card">').length - 1, 200);
  t.match(page.html, 'Only the 200 most recently used sessions are listed.');
  const after = await visitor.confirm(page, 'end-others');
  t.equal(after.html.split('<li class="card">').length - 1, 1);
  t.notMatch(after.html, 'most recently used');
  await visitor.submit(await visitor.get('/account/applications'), {}, 'value="app_web"');
  t.match((await visitor.get('/account/applications')).html, 'No applications have access to your account.');
});

t.test('acts that cannot be undone ask first', async (t) => {
  const visitor = await newPerson(built, 'eve');
  const other = await signedIn(built, 'eve');
  const token = await built.login('eve');
  const application = { name: 'Night job', type: 'machine', scopes: ['read:data'] };
  await built.createApplication(token, application);
  const secretsLeft = async () =>
    (await visitor.get('/account/applications')).html.split('<dt>Secret</dt>').length;
  const acts = [
    // First, since the end of all credentials ends logins as well.
    {
      path: '/account/sessions/end-others',
      name: undefined,
      says: /This ends 1 session and 1 login .* last used/s,
      state: async () => isSignIn(await other.get('/account')),
    },
    {
      path: '/account/applications/end-credentials',
      name: 'eve',
      says: /Night job.*1 client secret, never used/s,
      state: secretsLeft,
    },
  ];
  for (const { path, name, says, state } of acts) {
    const before = await state();
    const page = await visitor.get(path);
    t.match(page.html, says, path);
    t.same(await state(), before, `GET ${path}`);
    for (const confirmation of ['', 'no', ...(name === undefined ? [] : ['yes'])]) {
      const refused = await visitor.submit(page, { confirmation }, 'name="confirmation"');
      t.equal(refused.status, 400, `${path} with “${confirmation}”`);
    }
    const html = page.html.replaceAll(/<input[^>]*name="confirmation"[^>]*>/g, '');
    t.equal((await visitor.submit({ ...page, html }, {}, path)).status, 400, `${path} without`);
    t.same(await state(), before, `POST ${path} without the confirmation`);
    const confirmation: Record<string, string> = name === undefined ? {} : { confirmation: name };
    const done = await visitor.submit(page, confirmation, 'name="confirmation"');
    t.match(noticeOf(done), /ended|no longer work/);
    t.not(await state(), before, `POST ${path} with it`);
  }
});

import { type FormBrowser, formsOf, type Page } from '@gatehouse/testing/form-browser';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, codeFor, PASSWORD, SPA, signInAndAllow, WEB } from '../../build.ts';
import { alertOf, createAccount, heading, linkTo, mailsOf, send, usersSwitch, valueIn } from '../../pages.ts';

const between = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: between.url } });
between.state.target = built.base;
const { browser, call, form, links } = built;

/** A person of their own for each test, signed in. */
async function person(username: string): Promise<FormBrowser> {
  const visitor = browser();
  await createAccount(visitor, '/account', { username, email: `${username}@example.org` });
  return visitor;
}

async function signedIn(username: string, password = PASSWORD): Promise<FormBrowser> {
  const visitor = browser();
  await signInAndAllow(visitor, '/account', username, password);
  return visitor;
}

async function tokensFor(visitor: FormBrowser, username: string) {
  const code = await codeFor(visitor, {}, username);
  const { body } = await form({ grant_type: 'authorization_code', code, ...WEB });
  return { access: String(body.access_token), refresh: String(body.refresh_token) };
}

/** Whether the token is taken; false within a second of its end. */
async function lives(token: string): Promise<boolean> {
  const { status } = await call('GET', '/userinfo', token);
  return status === 200;
}

async function diesInTime(token: string): Promise<boolean> {
  const end = Date.now() + 1000;
  while (await lives(token)) {
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

const noticeOf = ({ html }: Page) => /<p class="notice" role="status">(.*?)<\/p>/.exec(html)?.[1];
/** What became of a request that was on its way to this path of the users service while something else happened. */
async function whileInFlight(path: string, request: () => Promise<Page>, meanwhile: () => Promise<unknown>) {
  const held = between.holdNext(path);
  const response = request();
  const goOn = await held;
  await meanwhile();
  goOn();
  return response;
}

const SAVED = 'Your profile is saved.';
const isSignIn = (page: Page) => page.url.pathname.startsWith('/sign-in/');

t.test('the profile', async (t) => {
  const visitor = await person('pat');
  await linkTo(built, 'pat@example.org');
  const page = await visitor.get('/account');
  t.match(page.html, 'Not confirmed yet');

  const saved = await visitor.submit(
    page,
    {
      name: 'Pat “P” <b>',
      first_name: 'Pat',
      phone: '+44 20 7946 0018',
      picture: 'https://example.org/p.png',
    },
    'name="username"',
  );
  t.equal(noticeOf(saved), 'Your profile is saved.');
  t.equal(valueIn(saved, 'name'), 'Pat “P” &lt;b&gt;');
  t.equal(valueIn(saved, 'phone'), '+44 20 7946 0018');
  t.equal(links.length, 0, 'no mail for that');
  const emptied = await visitor.submit(saved, { first_name: '', phone: ' ' }, 'name="username"');
  t.equal(valueIn(emptied, 'first_name'), '');
  t.equal(valueIn(emptied, 'phone'), '');

  for (const phone of ['0301234567', '0049 30 1234567', '+0 30 1234567', '+49 (0)30 1234567']) {
    const refused = await visitor.submit(emptied, { phone }, 'name="username"');
    t.equal(refused.status, 400, phone);
    t.match(
      alertOf(refused),
      /The phone number must begin with \+ and the code of the country, without \(0\)/,
    );
    t.equal(valueIn(refused, 'phone'), phone);
  }

  const wrong = await visitor.submit(
    emptied,
    { email: 'nowhere', name: '', username: 'x', current_password: PASSWORD },
    'name="username"',
  );
  t.equal(wrong.status, 400);
  t.match(alertOf(wrong), /^Please check what you entered The username must /);
  for (const field of ['email', 'username']) t.match(wrong.html, `id="${field}-problem"`);
  t.equal(valueIn(wrong, 'email'), 'nowhere', 'what was typed is kept');
  const taken = await visitor.submit(
    wrong,
    { username: 'ANN', email: 'p@example.org', name: 'P', current_password: PASSWORD },
    'name="username"',
  );
  t.equal(taken.status, 409);
  t.match(taken.html, 'The username is already taken.');
  t.equal((await visitor.get('/account')).html.includes('value="pat"'), true, 'nothing was changed');
});

t.test('a new address has to be confirmed again', async (t) => {
  const visitor = await person('rob');
  const first = await linkTo(built, 'rob@example.org');
  const confirmed = await visitor.submit(await visitor.get(first), {});
  t.equal(heading(confirmed), 'Your email address is confirmed');
  const page = await visitor.get('/account');
  t.match(page.html, 'state-good');

  for (const [current_password, status, problem] of [
    ['', 400, 'The current password is needed to change the email address.'],
    ['not the password', 403, 'The current password is not right.'],
  ] as const) {
    const refused = await visitor.submit(
      page,
      { email: 'new-rob@example.org', current_password },
      'name="username"',
    );
    t.equal(refused.status, status, 'a session alone does not change the address');
    t.match(alertOf(refused), problem);
    t.match((await visitor.get('/account')).html, 'value="rob@example.org"');
  }
  const change = { email: 'new-rob@example.org', current_password: PASSWORD };
  const changed = await visitor.submit(page, change, 'name="username"');
  await linkTo(built, 'rob@example.org');
  const told = (await mailsOf(built)).filter((mail) => mail.includes('Your email address has been changed'));
  t.equal(told.length, 1, 'whoever had the old address is told');
  t.match(told[0], 'To: rob@example.org');
  t.match(noticeOf(changed), /open the link that we have sent/);
  t.match(changed.html, 'Not confirmed yet');
  const link = await linkTo(built, 'new-rob@example.org');
  const other = await browser().get('/account');
  t.equal((await visitor.submit(other, { username: 'new-rob@example.org', password: PASSWORD })).status, 400);

  const again = await visitor.submit(changed, {}, 'id="send-link-again"');
  t.match(noticeOf(again), /^We have sent a link/);
  const second = await linkTo(built, 'new-rob@example.org');
  t.equal((await visitor.get(link)).status, 400, 'the earlier link is void');
  await visitor.submit(await visitor.get(second), {});
  t.match((await visitor.get('/account')).html, 'state-good');
  t.equal((await signedIn('new-rob@example.org')).cookies('/').has('gatehouse_session'), true);

  for (let i = 0; i < 4; i += 1) {
    await visitor.submit(again, {}, 'id="send-link-again"');
  }
  const tooOften = await visitor.submit(again, {}, 'id="send-link-again"');
  t.equal(tooOften.status, 429);
  t.equal(heading(tooOften), 'Too many attempts');
});

t.test('the current password is that of the account, whoever bears its name by now', async (t) => {
  const visitor = await person('vic');
  const stranger = await person('mal');
  const own = await stranger.get('/account/password');
  const passwords = { current_password: PASSWORD, new_password: 'what mal knows' };
  t.equal((await stranger.submit(own, passwords, 'new_password')).status, 200);
  const page = await visitor.get('/account');
  const rename = async (who: FormBrowser, username: string) =>
    t.equal(noticeOf(await who.submit(await who.get('/account'), { username }, 'name="username"')), SAVED);

  // The request begins while the account is called vic, and its password is checked while another one is.
  const change = { email: 'mal@example.net', current_password: 'what mal knows' };
  const response = await whileInFlight(
    'password-checks',
    () => visitor.submit(page, change, 'name="username"'),
    async () => {
      await rename(visitor, 'vic-2');
      await rename(stranger, 'vic');
    },
  );
  t.equal(response.status, 403);
  t.match((await visitor.get('/account')).html, 'value="vic@example.org"');

  for (let i = 0; i < 5; i += 1) {
    await rename(visitor, `vic-${i + 3}`);
    const guess = { email: 'mal@example.net', current_password: `guess ${i}` };
    const { status } = await visitor.submit(await visitor.get('/account'), guess, 'name="username"');
    t.equal(status, i < 4 ? 403 : 429, 'another name gives no more guesses');
  }
});

t.test('nobody is sent mails without end', async (t) => {
  const visitor = await person('sue');
  await linkTo(built, 'sue@example.org');
  const page = await visitor.get('/account');
  const notices: (string | undefined)[] = [];
  for (let i = 0; i < 6; i += 1) {
    const email = i % 2 === 0 ? 'somebody@example.net' : 'else@example.net';
    const saved = await visitor.submit(page, { email, current_password: PASSWORD }, 'name="username"');
    notices.push(noticeOf(saved));
  }
  t.equal(notices.filter((notice) => notice?.includes('open the link')).length, 3, notices.join());
  t.equal(notices.at(-1), 'Your profile is saved.', 'the address is changed all the same');
  t.equal(links.filter(({ to }) => to.endsWith('example.net')).length, 3);
});

t.test('a new password ends everything but this session', async (t) => {
  const visitor = await person('liz');
  const elsewhere = await signedIn('liz');
  const { access, refresh } = await tokensFor(elsewhere, 'liz');
  const own = await tokensFor(visitor, 'liz');
  t.ok(await lives(access));

  const page = await visitor.get('/account/password');
  const which = 'current_password';
  const wrong = await visitor.submit(
    page,
    { current_password: 'not it', new_password: 'a longer new one' },
    which,
  );
  t.equal(wrong.status, 403);
  t.match(wrong.html, 'The current password is not right.');
  t.notMatch(wrong.html, 'a longer new one');
  const empty = await visitor.submit(
    wrong,
    { current_password: '', new_password: 'a longer new one' },
    which,
  );
  t.equal(empty.status, 400);
  t.match(empty.html, 'The current password is needed to change the password.');
  const short = await visitor.submit(wrong, { current_password: PASSWORD, new_password: 'short' }, which);
  t.equal(short.status, 400);
  t.match(short.html, 'The new password must have 8 to 256 characters.');

  const before = visitor.cookies('/').get('gatehouse_session');
  const done = await visitor.submit(
    short,
    { current_password: PASSWORD, new_password: 'a longer new one' },
    which,
  );
  t.match(noticeOf(done), /^Your new password is saved/);
  t.not(visitor.cookies('/').get('gatehouse_session'), before, 'under a new id');
  for (const token of [access, own.access]) t.ok(await diesInTime(token));
  const refreshed = await form({ grant_type: 'refresh_token', refresh_token: refresh, ...WEB });
  t.match(refreshed, { status: 400, body: { error: 'invalid_grant' } });
  t.ok(isSignIn(await elsewhere.get('/account')), 'the other browser is signed out');
  t.equal((await visitor.get('/account')).url.pathname, '/account', 'this one is not');
  const next = await visitor.get(authorizeUrl());
  t.match(next.url.pathname, /^\/consent\//, 'it goes on to applications, which ask anew');
  const tokens = await tokensFor(visitor, 'liz');
  t.ok(await lives(tokens.access));
  t.equal((await visitor.get('/account/sessions')).html.split('<li class="card">').length, 2);

  let guess = await visitor.get('/account/password');
  for (let i = 0; i < 7 && guess.status !== 429; i += 1) {
    guess = await visitor.submit(
      guess,
      { current_password: 'a guess', new_password: 'whatever it is' },
      which,
    );
  }
  t.equal(guess.status, 429);
  t.match(alertOf(guess), /^Too many attempts Please wait/);
});

t.test('applications: taking back permission ends what they hold', async (t) => {
  const visitor = await person('kim');
  t.match((await visitor.get('/account/applications')).html, 'No applications have access to your account.');
  const { access, refresh } = await tokensFor(visitor, 'kim');
  const elsewhere = await tokensFor(await signedIn('kim'), 'kim');
  const spa = { client_id: SPA.client_id, redirect_uri: SPA.redirect_uri };
  const pkce = {
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  await signInAndAllow(visitor, authorizeUrl({ ...spa, ...pkce, scope: 'openid' }), 'kim');

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
  const { access: fresh } = await tokensFor(visitor, 'kim');
  t.ok(await lives(fresh));
  // Nothing of anybody else's goes with it.
  const stranger = await person('zoe');
  const csrf = formsOf((await stranger.get('/account')).html)[0]?.fields.csrf ?? '';
  const fields = { client_id: WEB.client_id, csrf };
  const sent = await send(built, 'POST', '/account/applications/revoke', { browser: stranger, fields });
  t.equal(sent.status, 303);
  t.ok(await lives(fresh));
});

t.test('sessions', async (t) => {
  const visitor = await person('joe');
  const second = await signedIn('joe');
  const third = await signedIn('joe');
  const { access } = await tokensFor(second, 'joe');
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

  const stranger = await person('mia');
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
  const visitor = await person('eva');
  const others = [await signedIn('eva'), await signedIn('eva')];
  const phone = await signedIn('eva');
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
  const here = await person('ada');
  for (const name of ['by another device', 'by another tab']) {
    await t.test(name, async (t) => {
      const there = await signedIn('ada');
      await tokensFor(there, 'ada');
      const isTab = name === 'by another tab';
      const [by, button] = isTab ? [there, 'sign-out'] : [here, 'name="confirmation"'];
      const page = await by.get(isTab ? '/account/sessions' : '/account/sessions/end-others');
      const response = await whileInFlight(
        '/accounts/',
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

t.test('of more sessions than are listed, all end', async (t) => {
  const visitor = await person('max');
  const { sub } = decodeJwt((await tokensFor(visitor, 'max')).access);
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

t.test('what cannot be undone asks first', async (t) => {
  const visitor = await person('eve');
  const other = await signedIn('eve');
  const token = await built.login('eve');
  const application = { name: 'Night job', type: 'machine', scopes: ['read:data'] };
  await built.createApplication(token, application);
  const secretsLeft = async () =>
    (await visitor.get('/account/applications')).html.split('<dt>Secret</dt>').length;
  const acts = [
    {
      ...{
        path: '/account/applications/end-credentials',
        name: 'eve',
        says: /Night job.*1 client secret, never used/s,
      },
      state: secretsLeft,
    },
    {
      ...{
        path: '/account/sessions/end-others',
        name: undefined,
        says: /This ends 1 session and 1 login .* last used/s,
      },
      state: async () => isSignIn(await other.get('/account')),
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
    const done = await visitor.submit(
      page,
      name === undefined ? {} : { confirmation: name },
      'name="confirmation"',
    );
    t.match(noticeOf(done), /ended|no longer work/);
    t.not(await state(), before, `POST ${path} with it`);
  }
});

t.test('signing out', async (t) => {
  const visitor = await person('sue');
  const { access } = await tokensFor(visitor, 'sue');
  const page = await visitor.get('/account');
  const out = await visitor.submit(page, {}, '/account/sign-out');
  t.equal(out.url.pathname, '/account/signed-out');
  t.equal(heading(out), 'You are signed out');
  t.notOk(visitor.cookies('/').has('gatehouse_session'), 'the cookie is gone');
  t.ok(await diesInTime(access));
  t.ok(isSignIn(await visitor.get('/account')));
  t.equal((await visitor.submit(page, {}, 'name="username"')).status, 403, 'an old form does nothing');
});

t.test('the forms of the account pages are ours alone', async (t) => {
  const visitor = await person('guy');
  const stranger = await person('bad');
  const paths = [
    '/account',
    '/account/verification',
    '/account/password',
    '/account/applications/revoke',
    '/account/applications/end-credentials',
    '/account/sessions/end',
    '/account/sessions/end-device',
    '/account/logins/end-program',
    '/account/sessions/end-others',
    '/account/logins/end',
    '/account/sign-out',
  ];
  const csrf = formsOf((await visitor.get('/account')).html)[0]?.fields.csrf ?? '';
  const foreign = formsOf((await stranger.get('/account')).html)[0]?.fields.csrf ?? '';
  for (const path of paths) {
    for (const [name, attempt] of Object.entries({
      'no token': { browser: visitor, fields: { name: 'x' } },
      'the token of somebody else': { browser: visitor, fields: { csrf: foreign } },
      'another site': { browser: visitor, fields: { csrf }, headers: { 'sec-fetch-site': 'cross-site' } },
      'no session': { fields: { csrf } },
    })) {
      const response = await send(built, 'POST', path, attempt);
      t.equal(response.status, 403, `${path}: ${name}`);
      t.equal(heading(response), 'This page has expired');
    }
  }
  t.equal((await visitor.get('/account')).url.pathname, '/account', 'and guy is still signed in');
});

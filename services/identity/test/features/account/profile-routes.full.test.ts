import { type FormBrowser, formsOf, type Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { authorizeUrl, build, PASSWORD, WEB } from '../../build.ts';
import {
  alertOf,
  heading,
  isSignIn,
  linkTo,
  mailsOf,
  newPerson,
  noticeOf,
  send,
  signedIn,
  usersSwitch,
  valueIn,
} from '../../pages.ts';
import { tokensFor, untilDead } from '../../tokens.ts';

const between = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: between.url } });
between.state.target = built.base;
const { browser, call, form, links } = built;

const SAVED = 'Your profile is saved.';
/** The form of the profile. */
const PROFILE = 'name="username"';

/** What the application gets for somebody in this browser. */
async function ofWeb(browser: FormBrowser, username: string) {
  const { access_token, refresh_token } = await tokensFor(built, { browser, username });
  return { access: access_token, refresh: refresh_token };
}
const lives = async (token: string) => (await call('GET', '/userinfo', token)).status === 200;
const diesInTime = async (token: string) => (await untilDead(built, token)) < 1000;

t.test('the profile', async (t) => {
  const visitor = await newPerson(built, 'pat');
  await linkTo(built, 'pat@example.org');
  const page = await visitor.get('/account');
  t.match(page.html, 'Not confirmed yet');

  const fields = { name: 'Pat “P” <b>', first_name: 'Pat', phone: '+44 20 7946 0018' };
  const saved = await visitor.submit(page, fields, PROFILE);
  t.equal(noticeOf(saved), 'Your profile is saved.');
  t.equal(valueIn(saved, 'name'), 'Pat “P” &lt;b&gt;');
  t.equal(valueIn(saved, 'phone'), '+44 20 7946 0018');
  t.equal(links.length, 0, 'no mail for that');
  const emptied = await visitor.submit(saved, { first_name: '', phone: ' ' }, PROFILE);
  t.equal(valueIn(emptied, 'first_name'), '');
  t.equal(valueIn(emptied, 'phone'), '');

  for (const phone of ['0301234567', '0049 30 1234567', '+0 30 1234567', '+49 (0)30 1234567']) {
    const refused = await visitor.submit(emptied, { phone }, PROFILE);
    t.equal(refused.status, 400, phone);
    t.match(
      alertOf(refused),
      /The phone number must begin with \+ and the code of the country, without \(0\)/,
    );
    t.equal(valueIn(refused, 'phone'), phone);
  }

  const known = await visitor.submit(emptied, { locale: 'de-AT', zoneinfo: 'Europe/Vienna' }, PROFILE);
  t.match([valueIn(known, 'locale'), valueIn(known, 'zoneinfo')], ['de-AT', 'Europe/Vienna']);
  const unknown = await visitor.submit(known, { locale: 'German', zoneinfo: 'Vienna' }, PROFILE);
  for (const sentence of [
    'The language must be a language tag such as en or de-AT.',
    'The time zone must be a time zone such as Europe/Berlin.',
  ])
    t.match(alertOf(unknown), sentence);
  t.match(unknown.html, '<option value="ja" label="日本語">', 'languages and zones are suggested');
  t.match(unknown.html, '<option value="Asia/Kolkata">');
  await visitor.submit(known, { locale: '', zoneinfo: '' }, PROFILE);

  const nowhere = { email: 'nowhere', name: '', username: 'x', current_password: PASSWORD };
  const wrong = await visitor.submit(emptied, nowhere, PROFILE);
  t.equal(wrong.status, 400);
  t.match(alertOf(wrong), /^Please check your entries The username must /);
  for (const field of ['email', 'username']) t.match(wrong.html, `id="${field}-problem"`);
  t.equal(valueIn(wrong, 'email'), 'nowhere', 'what was typed is kept');
  const ofAnn = { username: 'ANN', email: 'p@example.org', name: 'P', current_password: PASSWORD };
  const taken = await visitor.submit(wrong, ofAnn, PROFILE);
  t.equal(taken.status, 409);
  t.match(taken.html, 'The username is already taken.');
  t.equal((await visitor.get('/account')).html.includes('value="pat"'), true, 'nothing was changed');
});

t.test('a new address has to be confirmed again', async (t) => {
  const visitor = await newPerson(built, 'rob');
  const first = await linkTo(built, 'rob@example.org');
  const confirmed = await visitor.submit(await visitor.get(first), {});
  t.equal(heading(confirmed), 'Your email address is confirmed');
  const page = await visitor.get('/account');
  t.match(page.html, 'state-good');

  for (const [current_password, status, problem] of [
    ['', 400, 'The current password is needed to change the email address.'],
    ['not the password', 403, 'The current password is not right.'],
  ] as const) {
    const fields = { email: 'new-rob@example.org', current_password };
    const refused = await visitor.submit(page, fields, PROFILE);
    t.equal(refused.status, status, 'a session alone does not change the address');
    t.match(alertOf(refused), problem);
    t.match((await visitor.get('/account')).html, 'value="rob@example.org"');
  }
  const change = { email: 'new-rob@example.org', current_password: PASSWORD };
  const changed = await visitor.submit(page, change, PROFILE);
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
  t.equal((await signedIn(built, 'new-rob@example.org')).cookies('/').has('gatehouse_session'), true);

  for (let i = 0; i < 4; i += 1) {
    await visitor.submit(again, {}, 'id="send-link-again"');
  }
  const tooOften = await visitor.submit(again, {}, 'id="send-link-again"');
  t.equal(tooOften.status, 429);
  t.equal(heading(tooOften), 'Too many attempts');
});

t.test('the current password is that of the account, whoever bears its name by now', async (t) => {
  const visitor = await newPerson(built, 'vic');
  const stranger = await newPerson(built, 'mal');
  const own = await stranger.get('/account/password');
  const passwords = { current_password: PASSWORD, new_password: 'what mal knows' };
  t.equal((await stranger.submit(own, passwords, 'new_password')).status, 200);
  const page = await visitor.get('/account');
  const rename = async (who: FormBrowser, username: string) =>
    t.equal(noticeOf(await who.submit(await who.get('/account'), { username }, PROFILE)), SAVED);

  // The name of the sign-up is held; later ones are not.
  await rename(visitor, 'vic-1');
  // The request begins while the account is called vic-1, and its password is checked while another one is.
  const change = { email: 'mal@example.net', current_password: 'what mal knows' };
  const response = await between.whileHeld(
    'password-checks',
    () => visitor.submit(page, change, PROFILE),
    async () => {
      await rename(visitor, 'vic-2');
      await rename(stranger, 'vic-1');
    },
  );
  t.equal(response.status, 403);
  t.match((await visitor.get('/account')).html, 'value="vic@example.org"');

  for (let i = 0; i < 5; i += 1) {
    await rename(visitor, `vic-${i + 3}`);
    const guess = { email: 'mal@example.net', current_password: `guess ${i}` };
    const { status } = await visitor.submit(await visitor.get('/account'), guess, PROFILE);
    t.equal(status, i < 4 ? 403 : 429, 'another name gives no more guesses');
  }
});

t.test('nobody is sent mails without end', async (t) => {
  const visitor = await newPerson(built, 'sue');
  await linkTo(built, 'sue@example.org');
  const page = await visitor.get('/account');
  const notices: (string | undefined)[] = [];
  for (let i = 0; i < 6; i += 1) {
    const email = i % 2 === 0 ? 'somebody@example.net' : 'else@example.net';
    const saved = await visitor.submit(page, { email, current_password: PASSWORD }, PROFILE);
    notices.push(noticeOf(saved));
  }
  t.equal(notices.filter((notice) => notice?.includes('open the link')).length, 3, notices.join());
  t.equal(notices.at(-1), 'Your profile is saved.', 'the address is changed all the same');
  t.equal(links.filter(({ to }) => to.endsWith('example.net')).length, 3);
});

t.test('a new password ends everything but this session', async (t) => {
  const visitor = await newPerson(built, 'liz');
  const elsewhere = await signedIn(built, 'liz');
  const { access, refresh } = await ofWeb(elsewhere, 'liz');
  const own = await ofWeb(visitor, 'liz');
  t.ok(await lives(access));

  const page = await visitor.get('/account/password');
  const change = (on: Page, current_password: string, new_password = 'a longer new one') =>
    visitor.submit(on, { current_password, new_password }, 'current_password');
  const wrong = await change(page, 'not it');
  t.equal(wrong.status, 403);
  t.match(wrong.html, 'The current password is not right.');
  t.notMatch(wrong.html, 'a longer new one');
  const empty = await change(wrong, '');
  t.equal(empty.status, 400);
  t.match(empty.html, 'The current password is needed to change the password.');
  const short = await change(wrong, PASSWORD, 'short');
  t.equal(short.status, 400);
  t.match(short.html, 'The new password must have 8 to 256 characters.');

  const before = visitor.cookies('/').get('gatehouse_session');
  const done = await change(short, PASSWORD);
  t.match(noticeOf(done), /^Your new password is saved/);
  t.not(visitor.cookies('/').get('gatehouse_session'), before, 'under a new id');
  for (const token of [access, own.access]) t.ok(await diesInTime(token));
  const refreshed = await form({ grant_type: 'refresh_token', refresh_token: refresh, ...WEB });
  t.match(refreshed, { status: 400, body: { error: 'invalid_grant' } });
  t.ok(isSignIn(await elsewhere.get('/account')), 'the other browser is signed out');
  t.equal((await visitor.get('/account')).url.pathname, '/account', 'this one is not');
  const next = await visitor.get(authorizeUrl());
  t.match(next.url.pathname, /^\/consent\//, 'it goes on to applications, which ask anew');
  const tokens = await ofWeb(visitor, 'liz');
  t.ok(await lives(tokens.access));
  t.equal((await visitor.get('/account/sessions')).html.split('<li class="card">').length, 2);

  let guess = await visitor.get('/account/password');
  for (let i = 0; i < 7 && guess.status !== 429; i += 1) {
    guess = await change(guess, 'a guess');
  }
  t.equal(guess.status, 429);
  t.match(alertOf(guess), /^Too many attempts Please wait/);
});

t.test('signing out', async (t) => {
  const visitor = await newPerson(built, 'sue');
  const { access } = await ofWeb(visitor, 'sue');
  const page = await visitor.get('/account');
  const out = await visitor.submit(page, {}, '/account/sign-out');
  t.equal(out.url.pathname, '/account/signed-out');
  t.equal(heading(out), 'You are signed out');
  t.notOk(visitor.cookies('/').has('gatehouse_session'), 'the cookie is gone');
  t.ok(await diesInTime(access));
  t.ok(isSignIn(await visitor.get('/account')));
  t.equal((await visitor.submit(page, {}, PROFILE)).status, 403, 'an old form does nothing');
});

t.test('the forms of the account pages are ours alone', async (t) => {
  const visitor = await newPerson(built, 'guy');
  const stranger = await newPerson(built, 'bad');
  const paths = [
    '/account',
    '/account/verification',
    '/account/password',
    '/account/applications/revoke',
    '/account/applications/end-credentials',
    '/account/applications/revoke-access',
    '/account/sessions/end',
    '/account/sessions/end-device',
    '/account/logins/end-program',
    '/account/sessions/end-others',
    '/account/logins/end',
    '/account/sign-out',
  ];
  const csrf = formsOf((await visitor.get('/account')).html)[0]?.fields.csrf ?? '';
  const foreign = formsOf((await stranger.get('/account')).html)[0]?.fields.csrf ?? '';
  const ofSignIn = formsOf((await visitor.get(authorizeUrl({ prompt: 'login' }))).html)[0]?.fields.csrf ?? '';
  for (const path of paths) {
    for (const [name, attempt] of Object.entries({
      'no token': { browser: visitor, fields: { name: 'x' } },
      'the token of somebody else': { browser: visitor, fields: { csrf: foreign } },
      'the token of another form': { browser: visitor, fields: { csrf: ofSignIn } },
      'another site': { browser: visitor, fields: { csrf }, headers: { 'sec-fetch-site': 'cross-site' } },
      'another origin': { browser: visitor, fields: { csrf }, headers: { origin: 'https://evil.example' } },
      'no session': { fields: { csrf } },
    })) {
      const response = await send(built, 'POST', path, attempt);
      t.equal(response.status, 403, `${path}: ${name}`);
      t.equal(heading(response), 'This page has expired');
    }
  }
  t.equal((await visitor.get('/account')).url.pathname, '/account', 'and guy is still signed in');
});

t.test('a person gets a mail about each new username, whoever chose it', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const changed = await visitor.submit(await visitor.get('/account'), { username: 'anna' }, PROFILE);
  t.equal(noticeOf(changed), SAVED);
  await call('PUT', `/v1/users/${built.people.ann.id}`, await built.login('admin'), { username: 'eve' });
  const told = async () =>
    (await mailsOf(built)).filter((mail) => mail.includes('Your username has been changed'));
  await until(async () => (await told()).length === 2, 5000);
  const [first = '', second = ''] = (await told()).map((mail) => mail.replaceAll(/\s+/g, ' '));
  t.match(first, /It was ann, and is anna now\. For 72 hours nobody else can take/);
  t.match(second, /It was anna, and is eve now\. If it was you/, 'the first name alone is held');
});

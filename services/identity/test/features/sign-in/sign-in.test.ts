import t from 'tap';
import { authorizeUrl, build, PASSWORD, signInAndAllow, WEB } from '../../build.ts';
import {
  alertOf,
  createAccount,
  heading,
  linkOf,
  linkTo,
  responseOf,
  send,
  usersSwitch,
  valueIn,
} from '../../pages.ts';

const WRONG = 'That username and password do not match Check both and try again.';

const users = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: users.url } });
const { base, people, browser, call } = built;
users.state.target = base;

t.test('signing in', async (t) => {
  t.test('by username, without regard to its case', async (t) => {
    const page = await signInAndAllow(browser(), authorizeUrl(), ' ANN ');
    t.match(responseOf(page), { at: WEB.redirect_uri, state: 'some-state', iss: base, code: String });
  });

  t.test('by a verified address', async (t) => {
    const page = await signInAndAllow(browser(), authorizeUrl(), people.ann.email);
    t.match(responseOf(page), { at: WEB.redirect_uri, code: String });
  });

  t.test('not by an address that nobody has confirmed', async (t) => {
    const made = await createAccount(browser(), authorizeUrl(), {
      username: 'una',
      email: 'una@example.org',
    });
    t.match(made.url.pathname, /^\/consent\//, 'the new account is signed in');
    const visitor = browser();
    const page = await visitor.get(authorizeUrl());
    const refused = await visitor.submit(page, { username: 'una@example.org', password: PASSWORD });
    t.equal(refused.status, 401);
    t.equal(alertOf(refused), WRONG);
    const byName = await visitor.submit(refused, { username: 'una', password: PASSWORD });
    t.match(byName.url.pathname, /^\/consent\//);
  });

  t.test('a wrong password, an unknown name and an inactive account look the same', async (t) => {
    await createAccount(browser(), authorizeUrl(), { username: 'ina', email: 'ina@example.org' });
    const token = await built.machineToken();
    const list = await call('GET', '/v1/users?limit=100', token);
    const ina = (list.body.data as { id: string; username: string }[]).find(
      ({ username }) => username === 'ina',
    );
    t.equal((await call('PUT', `/v1/users/${ina?.id}/status`, token, { status: 'inactive' })).status, 204);

    const pages = [];
    for (const [username, password] of [
      ['ann', 'not the password'],
      ['nobody', PASSWORD],
      ['ina', PASSWORD],
      ['', PASSWORD],
    ] as const) {
      const visitor = browser();
      const page = await visitor.get(authorizeUrl());
      const refused = await visitor.submit(page, { username, password });
      t.equal(refused.status, 401, username);
      t.equal(refused.url.pathname, page.url.pathname, 'on the same page');
      t.equal(valueIn(refused, 'username'), username, 'the name is kept');
      t.notMatch(refused.html, password, 'the password is not');
      t.match(refused.html, '<title>Error: Sign in');
      // What is different in any case: the name, the interaction and its token.
      pages.push(
        refused.html
          .replaceAll(page.url.pathname, '/sign-in/…')
          .replace(/name="csrf" value="[^"]*"/, '')
          .replace(`value="${username}"`, '')
          .replaceAll(' autofocus', ''),
      );
    }
    t.equal(new Set(pages).size, 1);
    t.match(pages[0], /That username and password do not match/);
  });

  t.test('the page names the application and where it is, and nobody can put markup there', async (t) => {
    const visitor = browser();
    const page = await visitor.get(authorizeUrl({ login_hint: '"><script>alert(1)</script>' }));
    t.match(page.html, 'Web of Examples');
    t.match(page.html, 'web.example.org');
    t.equal(valueIn(page, 'username'), '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;');
    t.notMatch(page.html, '<script>');
  });

  t.test('cancelling goes back to the application', async (t) => {
    const visitor = browser();
    const page = await visitor.get(authorizeUrl({ login_hint: 'ann' }));
    t.equal(valueIn(page, 'username'), 'ann');
    const left = await visitor.submit(page, { cancel: 'cancel' });
    t.match(responseOf(left), {
      at: WEB.redirect_uri,
      error: 'access_denied',
      state: 'some-state',
      iss: base,
    });
    const again = await visitor.get(page.url.pathname);
    t.equal(again.status, 400);
    t.equal(heading(again), 'This sign-in has expired');
  });

  t.test('the page names the destination in the same words everywhere', async (t) => {
    for (const [path, destination] of [
      [authorizeUrl(), 'Web of Examples at web\\.example\\.org'],
      ['/account', 'Gatehouse Your account'],
      [
        authorizeUrl({
          ...{ client_id: 'dashboard', redirect_uri: `${base}/dashboard/signed-in` },
          ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
        }),
        'Gatehouse Dashboard',
      ],
    ] as const) {
      const { html } = await browser().get(path);
      const words = html.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
      t.match(words, new RegExp(`Sign in to continue to ${destination} Username`), path);
    }
  });

  t.test('to the account pages: back to the page that was asked for', async (t) => {
    for (const path of ['/account', '/account/sessions', '/account/applications', '/account/password']) {
      const visitor = browser();
      const page = await visitor.get(path);
      t.match(page.url.pathname, /^\/sign-in\//);
      t.notMatch(page.html, 'name="cancel"', 'there is no application to go back to');
      const shown = await visitor.submit(page, { username: 'ann', password: PASSWORD });
      t.equal(shown.url.pathname, path);
      t.equal(shown.status, 200);
    }
    const forged = await send(built, 'GET', '/account/signed-in?state=https://evil.example/');
    t.equal(forged.headers.get('location'), '/account');
  });

  t.test('too many attempts: the page says how long to wait, and keeps the name', async (t) => {
    const visitor = browser();
    let page = await visitor.get(authorizeUrl());
    for (let i = 0; i < 6 && page.status !== 429; i += 1) {
      page = await visitor.submit(page, { username: 'ned', password: 'a guess' });
    }
    // The sixth came at once, and one has to wait.
    page = await visitor.submit(page, { username: 'ned', password: 'a guess' });
    t.equal(page.status, 429);
    t.match(alertOf(page), /^Too many attempts Please wait \d+ seconds?, then try again\.$/);
    t.match(Number(page.headers.get('retry-after')), 1);
    t.equal(valueIn(page, 'username'), 'ned');
    const other = await visitor.submit(page, { username: 'ann', password: PASSWORD });
    t.match(other.url.pathname, /^\/consent\//, 'another name is not stopped by it');
  });
});

t.test('while the accounts cannot be reached', async (t) => {
  const visitor = browser();
  const signedIn = browser();
  await signInAndAllow(signedIn, authorizeUrl());
  await signedIn.get('/account');
  const page = await visitor.get(authorizeUrl());

  users.state.down = true;
  const away = await visitor.submit(page, { username: 'ann', password: PASSWORD });
  t.equal(away.status, 503);
  t.match(alertOf(away), /^Signing in is not possible right now The fault is ours/);
  t.equal(valueIn(away, 'username'), 'ann');
  const form = await visitor.get(`${page.url.pathname}/create-account`);
  t.equal(form.status, 200);
  const refused = await visitor.submit(form, {
    username: 'new',
    email: 'new@example.org',
    password: PASSWORD,
  });
  t.equal(refused.status, 503);
  t.equal(valueIn(refused, 'email'), 'new@example.org');
  for (const path of ['/account', '/account/sessions', authorizeUrl()]) {
    const failed = await signedIn.get(path);
    t.equal(failed.status, 503, path);
    t.equal(heading(failed), 'Temporarily unavailable');
  }

  users.state.down = false;
  const allowed = await visitor.submit(away, { username: 'ann', password: PASSWORD });
  t.match(allowed.url.pathname, /^\/consent\//, 'the same page goes on');
  t.equal((await signedIn.get('/account')).status, 200, 'and who was signed in still is');
});

t.test('creating an account', async (t) => {
  t.test('it is signed in, and its address is confirmed by a mailed link', async (t) => {
    const visitor = browser();
    const page = await createAccount(visitor, authorizeUrl(), {
      username: 'eva',
      email: 'eva@example.org',
      name: 'Eva',
    });
    t.match(page.url.pathname, /^\/consent\//);
    const link = await linkTo(built, 'eva@example.org');

    // A program that scans mail follows links, and has no session.
    const reader = browser();
    for (let i = 0; i < 2; i += 1) {
      const signIn = await reader.get(link);
      t.match(signIn.url.pathname, /^\/sign-in\//);
      t.notMatch(signIn.html, 'eva@example.org');
    }
    t.match((await visitor.get('/account')).html, 'Not confirmed yet');
    const shown = await reader.submit(await reader.get(link), { username: 'eva', password: PASSWORD });
    t.equal(heading(shown), 'Confirm your email address');
    t.match(shown.html, 'eva@example.org');
    t.notMatch(shown.url.href, 'token', 'the token is in no URL but the mailed one');
    const done = await reader.submit(shown, {});
    t.equal(heading(done), 'Your email address is confirmed');
    t.match((await visitor.get('/account')).html, 'state-good');
    t.match((await signInAndAllow(browser(), authorizeUrl(), 'eva@example.org')).url.href, WEB.redirect_uri);

    const again = await reader.get(link);
    t.equal(again.status, 400);
    t.equal(heading(again), 'This link no longer works');
    for (const bad of [`${link}x`, link.slice(0, -1), '/account/verify-email', `${link}&token=twice`]) {
      t.equal((await reader.get(bad)).status, 400, bad);
    }
  });

  t.test('errors are shown at their fields, and nothing is lost', async (t) => {
    const visitor = browser();
    const page = await createAccount(visitor, authorizeUrl(), {
      username: 'a@b',
      email: 'no address',
      password: 'short',
      name: 'A “name”',
    });
    t.equal(page.status, 400);
    for (const field of ['username', 'email', 'password']) {
      t.match(page.html, `id="${field}-problem"`);
      t.match(page.html, `href="#${field}"`);
    }
    t.equal(valueIn(page, 'username'), 'a@b');
    t.equal(valueIn(page, 'name'), 'A “name”');
    t.notMatch(page.html, 'value="short"');
    const fine = await visitor.submit(page, {
      username: 'abe',
      email: 'abe@example.org',
      password: PASSWORD,
    });
    t.match(fine.url.pathname, /^\/consent\//);
  });

  t.test('a name that is taken', async (t) => {
    const byName = await createAccount(browser(), authorizeUrl(), {
      username: 'Ann',
      email: 'other@example.org',
    });
    t.equal(byName.status, 409);
    t.match(byName.html, 'id="username-problem"');
  });

  t.test('from the account page', async (t) => {
    const page = await createAccount(browser(), '/account', { username: 'sol', email: 'sol@example.org' });
    t.equal(page.url.pathname, '/account');
    t.equal(valueIn(page, 'email'), 'sol@example.org');
  });

  t.test('by the link of the landing page, which leads to the account', async (t) => {
    const visitor = browser();
    const form = await visitor.get('/account/sign-up');
    t.equal(heading(form), 'Create an account');
    t.equal(heading(await visitor.get(linkOf(form, 'Sign in'))), 'Sign in');
    const made = await visitor.submit(form, {
      username: 'ulf',
      email: 'ulf@example.org',
      password: PASSWORD,
    });
    t.equal(made.url.pathname, '/account');
    t.equal((await visitor.get('/account/sign-up')).url.pathname, '/account', 'nobody signs up twice');
  });
});

t.test('where nobody may make an account', async (t) => {
  const built = await build(t, { config: { signUp: 'off' } });
  const visitor = built.browser();
  const page = await visitor.get(authorizeUrl());
  t.throws(() => linkOf(page, 'Create an account'));
  const path = `${page.url.pathname}/create-account`;
  t.equal((await visitor.get(path)).status, 404);
  t.equal((await built.browser().get('/account/sign-up')).status, 404);
  const { csrf = '' } = Object.fromEntries(
    [...page.html.matchAll(/name="(csrf)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  const fields = { csrf, username: 'eve', email: 'eve@example.org', password: PASSWORD };
  t.equal((await send(built, 'POST', path, { browser: visitor, fields })).status, 404);
  const refused = await visitor.submit(page, { username: 'eve', password: PASSWORD });
  t.equal(refused.status, 401, 'and none was made');
});

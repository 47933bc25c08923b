import { request } from 'node:http';
import { type FormBrowser, formsOf, type Page } from '@gatehouse/testing/form-browser';
import t from 'tap';
import { stylesheet } from '../../src/pages/stylesheet.ts';
import { authorizeUrl, build, PASSWORD, signInAndAllow, WEB } from '../build.ts';
import { createAccount, heading, linkTo, send } from '../pages.ts';

const built = await build(t);
const { base, browser } = built;
const ANN = { username: 'ann', password: PASSWORD };

const policy = (targets = '') =>
  `default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'${targets}; base-uri 'none'; frame-ancestors 'none'`;
const TO_WEB = policy(' https://web.example.org');

/** Every page that there is, by name, with the form targets that its policy allows. */
async function everyPage(): Promise<[name: string, page: Page, csp: string][]> {
  const visitor = browser();
  const signIn = await visitor.get(authorizeUrl());
  const wrong = await visitor.submit(signIn, { username: 'ann', password: 'wrong' });
  const create = await visitor.get(`${signIn.url.pathname}/create-account`);
  const problems = await visitor.submit(create, { username: 'x' });
  const consent = await visitor.submit(signIn, ANN);
  const again = await visitor.get(authorizeUrl({ prompt: 'login' }));
  await signInAndAllow(visitor, authorizeUrl());
  const expired = await visitor.get(signIn.url.pathname);
  const foreign = await send(built, 'POST', '/account', { browser: visitor, fields: {} });
  const account = await visitor.get('/account');
  const password = await visitor.get('/account/password');
  const applications = await visitor.get('/account/applications');
  const sessions = await visitor.get('/account/sessions');
  const signOut = await visitor.get('/oauth2/logout');
  const newcomer = browser();
  await createAccount(newcomer, '/account', { username: 'new', email: 'new@example.org' });
  const link = await linkTo(built, 'new@example.org');
  const verify = await newcomer.get(link);
  const ofAnother = await visitor.get(link);
  const verified = await newcomer.submit(await newcomer.get(link), {});
  const invalid = await newcomer.get(link);
  const forgotten = await newcomer.get('/account/forgotten-password');
  const sent = await newcomer.submit(forgotten, { login: 'new' });
  const newPasswordLink = await linkTo(built, 'new@example.org');
  const newPassword = await newcomer.get(newPasswordLink);
  const saved = await newcomer.submit(newPassword, { new_password: 'something else entirely' });
  return [
    ['sign in', signIn, TO_WEB],
    ['wrong password', wrong, TO_WEB],
    ['create an account', create, TO_WEB],
    ['create an account, problems', problems, TO_WEB],
    ['consent', consent, TO_WEB],
    ['confirm that it is you', again, TO_WEB],
    ['account', account, policy()],
    ['password', password, policy()],
    ['applications', applications, policy()],
    ['sessions', sessions, policy()],
    ['sign out', signOut, policy()],
    ['signed out', await browser().get('/account/signed-out'), policy()],
    ['forgotten password', forgotten, policy()],
    ['look into your mail', sent, policy()],
    ['new password', newPassword, policy()],
    ['new password saved', saved, policy()],
    ['verify', verify, policy()],
    ['verify, for another account', ofAnother, policy()],
    ['verified', verified, policy()],
    ['link invalid', invalid, policy()],
    ['expired', expired, policy()],
    ['out of date', { ...foreign, html: foreign.html }, policy()],
    ['not found', await browser().get('/account/nothing'), policy()],
    ['unknown application', await browser().get(authorizeUrl({ client_id: 'app_nobody' })), policy()],
    ['bad address', await browser().get(authorizeUrl({ redirect_uri: 'https://evil.example' })), policy()],
  ];
}

t.test('every page', async (t) => {
  for (const [name, { headers, html }, withoutScripts] of await everyPage()) {
    const scripts = html.includes('type="password"') ? "script-src 'self'; " : '';
    const csp = withoutScripts.replace('img-src', `${scripts}img-src`);
    const values = Object.fromEntries(headers);
    t.match(
      values,
      {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': csp,
        'cache-control': 'no-store',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      },
      name,
    );
    t.equal(values['content-security-policy'], csp, name);
    t.notMatch(
      html,
      /<script(?! defer src="\/account\/)|<style|\son\w+=|\sstyle=|javascript:/i,
      `${name}: nothing inline`,
    );
    t.match(html, `<link rel="stylesheet" href="${stylesheet.path}">`);
    t.notOk(html.includes(PASSWORD), name);
  }
});

t.test('the stylesheet may be kept for ever', async (t) => {
  const { status, headers, html } = await send(built, 'GET', stylesheet.path);
  t.equal(status, 200);
  t.equal(headers.get('content-type'), 'text/css; charset=utf-8');
  t.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
  t.equal(headers.get('set-cookie'), null);
  t.equal(html, stylesheet.text);
});

t.test('the page that oidc-provider writes holds a script of its own, and no other', async (t) => {
  const visitor = browser();
  const code = await signInAndAllow(visitor, authorizeUrl({ response_mode: 'form_post' }));
  t.equal(formsOf(code.html)[0]?.action, WEB.redirect_uri);
  t.match(
    code.headers.get('content-security-policy'),
    /^default-src 'none'; ?script-src 'sha256-[\w+/=]{44}'; ?base-uri 'none'; ?frame-ancestors 'none'$/,
  );
  t.equal(code.headers.get('cache-control'), 'no-store');
  t.equal(code.headers.get('x-content-type-options'), 'nosniff');
});

t.test('cookies are ours alone, and not for scripts or other sites', async (t) => {
  const visitor = browser();
  const page = await visitor.get(authorizeUrl());
  const fields = { ...formsOf(page.html)[0]?.fields, ...ANN };
  const response = await send(built, 'POST', page.url.pathname, { browser: visitor, fields });
  const set = response.headers.getSetCookie();
  t.ok(set.length > 0);
  const signedIn = await send(built, 'GET', response.headers.get('location') ?? '', { browser: visitor });
  const all = [...set, ...signedIn.headers.getSetCookie()];
  t.ok(all.some((cookie) => cookie.startsWith('gatehouse_session=')));
  for (const cookie of all) {
    t.match(cookie, /; httponly/i);
    t.match(cookie, /; samesite=lax/i);
    t.notMatch(cookie, /; domain=/i);
  }
});

t.test('HEAD, other methods, unknown paths', async (t) => {
  const visitor: FormBrowser = browser();
  const page = await visitor.get(authorizeUrl());
  for (const path of ['/account/forgotten-password', '/account/signed-out', page.url.pathname]) {
    const { status, headers, html } = await send(built, 'HEAD', path, { browser: visitor });
    t.equal(status, 200, path);
    t.equal(html, '');
    t.equal(headers.get('cache-control'), 'no-store');
  }
  for (const [method, path, allow] of [
    ['PUT', page.url.pathname, 'HEAD, GET, POST'],
    ['DELETE', '/consent/x', 'HEAD, GET, POST'],
    ['PATCH', '/account', 'HEAD, GET, POST'],
    ['GET', '/account/sign-out', 'POST'],
    ['GET', '/account/sessions/end', 'POST'],
    ['POST', '/account/signed-out', 'HEAD, GET'],
  ] as const) {
    const response = await send(built, method, path, { browser: visitor });
    t.equal(response.status, 405, `${method} ${path}`);
    t.equal(response.headers.get('allow'), allow);
    t.equal(heading(response), 'Something went wrong');
  }
  for (const path of ['/account/nothing', '/sign-in', '/consent', '/sign-in/a/b/c', '/account/style.x.css']) {
    const response = await send(built, 'GET', path);
    t.equal(response.status, 404, path);
    t.equal(heading(response), 'Page not found');
    t.match(response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  }
});

t.test('forms that are none', async (t) => {
  const visitor = browser();
  const page = await visitor.get('/account/forgotten-password');
  const csrf = formsOf(page.html)[0]?.fields.csrf ?? '';
  const path = page.url.pathname;
  const typed = (type: string, body: string) =>
    send(built, 'POST', path, { browser: visitor, headers: { 'content-type': type }, body });
  const urlencoded = 'application/x-www-form-urlencoded';
  t.equal((await typed('application/json', JSON.stringify({ csrf, login: 'ann' }))).status, 415);
  t.equal((await typed('text/plain', `csrf=${csrf}&login=ann`)).status, 415);
  t.equal((await typed('multipart/form-data; boundary=x', '--x--')).status, 415);
  const large = await typed(urlencoded, `csrf=${csrf}&login=${'a'.repeat(20_000)}`);
  t.equal(large.status, 413);
  t.equal(heading(large), 'Something went wrong');
  t.equal((await typed(urlencoded, `csrf=${csrf}&login=ann&login=admin`)).status, 400);
  t.equal((await typed(urlencoded, `csrf=${csrf}&login=a%00b`)).status, 400);
  t.equal((await typed(urlencoded, `csrf=${csrf}&login=%ff%fe`)).status, 200, 'what is no text is no login');
  t.equal((await typed(urlencoded, '')).status, 403);
  t.equal((await typed(`${urlencoded}; charset=utf-8`, `csrf=${csrf}&login=x`)).status, 200);
});

t.test('a form that ends in the middle', async (t) => {
  const ended = await new Promise((resolve) => {
    const sending = request(`${base}/account/forgotten-password`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1000' },
    });
    sending.on('error', () => resolve('cut'));
    sending.write('login=a');
    setTimeout(() => sending.destroy(), 50);
  });
  t.equal(ended, 'cut');
  t.equal((await browser().get('/account/forgotten-password')).status, 200);
});

t.test(
  'a refused redirect URI is shown beside those that are registered, and the account pages lead to the dashboard',
  async (t) => {
    const received = 'https://evil.example/<b>?x="y"';
    const { html, status } = await built.browser().get(authorizeUrl({ redirect_uri: received }));
    t.equal(status, 400);
    const [, details = ''] = /<details><summary>Redirect URIs<\/summary>(.*?)<\/details>/s.exec(html) ?? [];
    t.match(details, '&lt;b&gt;?x=&quot;y&quot;', 'escaped');
    t.match(details, WEB.redirect_uri);
    t.notMatch(html, '<b>');
    const unknown = await built.browser().get(authorizeUrl({ client_id: 'app_nobody' }));
    t.notMatch(unknown.html, 'Redirect URIs');
    t.match(unknown.html, 'Compare the client_id with the client ID in the dashboard.');
    const visitor = built.browser();
    await signInAndAllow(visitor, authorizeUrl());
    t.match((await visitor.get('/account')).html, '<a class="way-back" href="/dashboard">Dashboard</a>');
  },
);

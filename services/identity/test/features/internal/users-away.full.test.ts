import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { authorizeUrl, build, codeFor, MACHINE, PASSWORD, SPA, WEB } from '../../build.ts';
import { usersSwitch } from '../../pages.ts';
import { refresh, tokensFor } from '../../tokens.ts';

const users = await usersSwitch(t);
const built = await build(t, { config: { usersUrl: users.url } });
users.state.target = built.base;
const { base, call, form, json, logIn, machineToken, people } = built;
const credentials = { grant_type: 'client_credentials' };

t.test('while the users service is away', async (t) => {
  const token = await built.login();
  const draft = { name: 'Of ann', type: 'machine', scopes: ['read:data'] };
  const owned = await built.createApplication(token, draft);
  const keys = `/api/v1/applications/${owned.client_id}/api-keys`;
  const key = await call('POST', keys, token, { name: 'Key', scopes: ['read:data'] });
  t.equal((await json({ ...credentials, ...owned })).status, 200);
  const machine = await machineToken();
  const browser = built.browser();
  const web = await tokensFor(built, { browser });
  const spa = await tokensFor(built, { browser, client: SPA });
  const code = await codeFor(browser);
  const stranger = built.browser();
  const signIn = await stranger.get(authorizeUrl());
  t.match(signIn.url.pathname, /^\/sign-in\//);

  users.state.down = true;
  await until(async () => (await json({ ...credentials, ...owned })).status === 503, 10_000);
  const unavailable = { status: 503, body: { error: 'temporarily_unavailable', error_description: String } };

  await t.test('requests that need an account get 503', async (t) => {
    const page = await stranger.submit(signIn, { username: 'ann', password: PASSWORD });
    t.equal(page.status, 503);
    t.match(page.headers.get('retry-after'), /^\d+$/);
    t.match(page.html, /<form/, 'the form is there to be sent again');
    t.notMatch(page.html, /password is not right|do not match/i, 'nothing is said of the password');
    const wrong = await stranger.submit(signIn, { username: 'ann', password: 'wrong' });
    t.equal(wrong.status, 503);

    const again = await stranger.get(authorizeUrl());
    t.equal(again.status, 503, 'what the application may ask for depends on its owner');
    t.match(again.headers.get('content-type'), /^text\/html/);

    const response = await logIn();
    t.match(response, { status: 503, body: { error: String } });
    t.match(response.headers.get('retry-after'), /^\d+$/);
    for (const [name, response] of [
      ['an owned machine', json({ ...credentials, ...owned })],
      ['an owned machine, by form', form({ ...credentials, ...owned })],
      ['a refresh', refresh(built, web.refresh_token)],
      ['a refresh of a public client', refresh(built, spa.refresh_token, SPA)],
      ['a code', json({ grant_type: 'authorization_code', code, ...WEB })],
      ['/userinfo', call('GET', '/userinfo', web.access_token)],
    ] as const) {
      t.match(await response, unavailable, name);
      t.match((await response).headers.get('retry-after'), /^\d+$/, name);
    }
    t.match(await call('POST', '/api/v1/auth/refresh', token), { status: 503, body: { error: String } });
    t.equal((await call('GET', '/api/v1/auth/status', String(key.body.api_key))).status, 503, 'an owned key');
    const session = await browser.get(authorizeUrl());
    const error = session.url.searchParams.get('error');
    t.ok(
      session.status === 503 || error === 'temporarily_unavailable' || error === 'server_error',
      `${error}`,
    );
    t.equal((await browser.get('/account')).status, 503);
  });

  await t.test('requests that need no account go on', async (t) => {
    t.match(await json({ ...credentials, ...MACHINE }), { status: 200 }, 'a trusted machine');
    t.equal((await call('GET', '/v1/users', machine)).status, 200);
    const own = `/v1/users/${people.ann.id}`;
    t.equal((await call('GET', own, web.access_token)).status, 200, 'tokens are verified without it');
    t.match(await call('GET', '/api/v1/auth/status', token), { body: { authenticated: true } });
    t.equal((await call('GET', '/api/v1/auth/permissions', web.access_token)).status, 200);
    t.equal((await fetch(`${base}/.well-known/jwks.json`)).status, 200);
    const extra = await machineToken();
    t.equal((await form({ token: extra, ...MACHINE }, {}, '/oauth2/revoke')).status, 200);
    t.equal((await call('GET', '/v1/users', extra)).status, 401, 'revocation');
  });

  await t.test('and all goes on when it is back', async (t) => {
    users.state.down = false;
    await until(async () => (await logIn()).status === 200, 5000);
    t.equal((await refresh(built, web.refresh_token)).status, 200, 'nothing was spent');
    t.equal((await refresh(built, spa.refresh_token, SPA)).status, 200, 'nor rotated');
    t.equal((await json({ grant_type: 'authorization_code', code, ...WEB })).status, 200);
    t.equal((await json({ ...credentials, ...owned })).status, 200);
    t.equal((await call('GET', '/api/v1/auth/status', String(key.body.api_key))).status, 200);
    const page = await stranger.submit(signIn, { username: 'ann', password: PASSWORD });
    t.match(page.url.pathname, /^\/consent\//, 'the same form, sent again');
    t.equal((await call('POST', '/api/v1/auth/refresh', token)).status, 200, 'the login was not spent');
  });
});

t.test('a redirect is refused, and nothing is sent to where it points', async (t) => {
  const received: string[] = [];
  const elsewhere = createServer((incoming, outgoing) => {
    received.push(`${incoming.method} ${incoming.url}`);
    outgoing.end('{"account":null}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void elsewhere.close().closeAllConnections());
  users.state.redirectTo = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  t.match(await logIn(), { status: 503, body: { error: String } });
  t.same(received, []);
  users.state.redirectTo = undefined;
  t.equal((await logIn()).status, 200);
});

import { type FormBrowser, formsOf } from '@gatehouse/testing/form-browser';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { until } from '@gatehouse/testing/processes';
import { generateKeyPair, SignJWT } from 'jose';
import t from 'tap';
import { authorizeUrl, build, NATIVE, PASSWORD } from '../../build.ts';
import { heading, linkOf, responseOf, send, signedIn } from '../../pages.ts';
import { pkce, refresh, type Tokens, tokensFor, untilDead } from '../../tokens.ts';

const built = await build(t, { config: { openRegistration: 'on' } });
const { base, browser, call, createApplication, form, people } = built;

const AFTER = 'https://app.example.org/bye';
const REDIRECT = 'https://app.example.org/callback';
const admin = await built.login('admin');
const APP = await createApplication(admin, {
  name: 'Bye & Co',
  type: 'web',
  redirect_uris: [REDIRECT],
  post_logout_redirect_uris: [AFTER],
  scopes: ['openid', 'read:users'],
});

const CLIENT = { ...APP, redirect_uri: REDIRECT };
const REQUEST = { client_id: APP.client_id, redirect_uri: REDIRECT, scope: 'openid read:users' };

/** Somebody who uses the application, with what it holds. */
async function user(): Promise<{ visitor: FormBrowser; idToken: string; access: string }> {
  const visitor = browser();
  const { id_token, access_token } = await tokensFor(built, {
    browser: visitor,
    client: CLIENT,
    more: REQUEST,
  });
  return { visitor, idToken: id_token, access: access_token };
}

const logout = (parameters: Record<string, string> = {}) =>
  `/oauth2/logout?${new URLSearchParams(parameters)}`;
const isSignedIn = async (visitor: FormBrowser) =>
  !(await visitor.get('/account')).url.pathname.startsWith('/sign-in/');
const lives = async (token: string) =>
  (await call('GET', `/v1/users/${people.ann.id}`, token)).status === 200;

const isDead = async (token: string) => (await untilDead(built, token)) < 1000;

t.test('an application asks for it, with an ID token and a way back', async (t) => {
  const { visitor, idToken, access } = await user();
  const page = await visitor.get(
    logout({ id_token_hint: idToken, post_logout_redirect_uri: AFTER, state: 'bye' }),
  );
  t.equal(heading(page), 'Sign out?');
  t.match(page.html, 'Bye &amp; Co');
  t.match(page.html, '>ann<');
  t.ok(await lives(access), 'nothing has happened yet');
  const done = await visitor.submit(page, { logout: 'yes' });
  t.strictSame(responseOf(done), { at: AFTER, state: 'bye' });
  t.notOk(visitor.cookies('/').has('gatehouse_session'));
  t.notOk(await isSignedIn(visitor));
  t.ok(await isDead(access));
  const query = `filter[action]=sign_out&filter[subject]=${people.ann.id}`;
  const entries = async () => (await call('GET', `/api/v1/audit?${query}`, admin)).body.data as object[];
  await until(async () => (await entries()).length > 0, 2000);
  const entry = { actor: people.ann.id, client: APP.client_id, address: '127.0.0.1' };
  t.match(await entries(), [entry], 'it is in the audit log');
});

t.test('a way back that is removed while the page is open is not taken', async (t) => {
  const registered = (uris: string[]) =>
    call('PATCH', `/api/v1/applications/${APP.client_id}`, admin, {
      post_logout_redirect_uris: uris,
    });
  const { visitor, idToken } = await user();
  const page = await visitor.get(logout({ id_token_hint: idToken, post_logout_redirect_uri: AFTER }));
  t.equal((await registered(['https://app.example.org/other'])).status, 200);
  const done = await visitor.submit(page, { logout: 'yes' });
  t.equal(heading(done), 'You are signed out');
  t.equal((await registered([AFTER])).status, 200);
});

t.test('without anything', async (t) => {
  const { visitor, access } = await user();
  const page = await visitor.get(logout());
  t.equal(heading(page), 'Sign out?');
  t.notMatch(page.html, 'asks to sign you out');
  const done = await visitor.submit(page, { logout: 'yes' });
  t.equal(heading(done), 'You are signed out');
  t.equal(linkOf(done, 'Sign in again'), '/account');
  t.notOk(await isSignedIn(visitor));
  t.ok(await isDead(access));
});

t.test('a way back without an ID token needs the application, and has to be registered', async (t) => {
  const { visitor } = await user();
  const stranger = await visitor.get(logout({ post_logout_redirect_uri: 'https://evil.example/' }));
  const done = await visitor.submit(stranger, { logout: 'yes' });
  t.equal(done.url.origin, base, 'an address of nobody is not gone to');
  const { visitor: other, idToken } = await user();
  for (const parameters of [{ client_id: APP.client_id }, { id_token_hint: idToken }]) {
    for (const uri of ['https://evil.example/', `${AFTER}/`, `${AFTER}?x=1`]) {
      const refused = await other.get(logout({ ...parameters, post_logout_redirect_uri: uri } as never));
      t.equal(refused.status, 400);
      t.equal(refused.url.origin, base);
      t.equal(heading(refused), 'We could not sign you out');
      t.equal(linkOf(refused, 'Go to your account'), '/account', 'where one can sign out');
      t.match(refused.html, `<p>Received:</p><ul><li><code dir="ltr">${uri}</code>`, 'for developers');
      t.match(refused.html, `<p>Registered:</p><ul><li><code dir="ltr">${AFTER}</code>`);
    }
  }
  t.equal((await other.get(logout({ id_token_hint: 'no.jwt.atall' }))).status, 400);
  t.equal((await other.get(logout({ client_id: 'nobody' }))).status, 400);
  t.ok(await isSignedIn(other));
  const page = await other.get(logout({ client_id: APP.client_id, post_logout_redirect_uri: AFTER }));
  t.strictSame(responseOf(await other.submit(page, { logout: 'yes' })), { at: AFTER });
});

t.test('staying signed in', async (t) => {
  const { visitor } = await user();
  const page = await visitor.get(logout());
  const stayed = await visitor.submit(page, {});
  t.equal(heading(stayed), 'You are still signed in');
  t.equal(linkOf(stayed, 'Go to your account'), '/account');
  t.ok(await isSignedIn(visitor));
  const asked = await visitor.get(logout({ client_id: APP.client_id, post_logout_redirect_uri: AFTER }));
  t.strictSame(responseOf(await visitor.submit(asked, {})), { at: AFTER }, 'the application may go on');
  t.ok(await isSignedIn(visitor));
});

t.test('a browser in which nobody is signed in goes straight on', async (t) => {
  const back = { client_id: APP.client_id, post_logout_redirect_uri: AFTER };
  t.strictSame(responseOf(await browser().get(logout({ ...back, state: 'bye' }))), {
    at: AFTER,
    state: 'bye',
  });
  const local = 'http://localhost:4000/bye';
  const uris = { post_logout_redirect_uris: [AFTER, local] };
  t.equal((await call('PATCH', `/api/v1/applications/${APP.client_id}`, admin, uris)).status, 200);
  const developed = await browser().get(logout({ ...back, post_logout_redirect_uri: local }));
  t.strictSame(responseOf(developed), { at: local }, 'as while it is developed');
  t.equal(heading(await browser().get(logout())), 'You are signed out');
  const german = await fetch(base + logout(), { headers: { 'accept-language': 'de' } });
  t.match(await german.text(), /rel="stylesheet"[\s\S]*<h1>Sie sind abgemeldet<\/h1>/);
  const unknown = await jsonRequest<{ client_id: string }>('POST', `${base}/oauth2/register`, {
    body: { redirect_uris: [REDIRECT], post_logout_redirect_uris: [AFTER] },
  });
  const { client_id } = unknown.body;
  const shown = await browser().get(logout({ ...back, client_id }));
  t.equal(heading(shown), 'You are signed out', 'nobody here knows the client');
});

t.test('by POST, as OpenID Connect RP-Initiated Logout §2 has it', async (t) => {
  const { visitor, idToken } = await user();
  const fields = { id_token_hint: idToken, post_logout_redirect_uri: AFTER };
  const sent = await send(built, 'POST', '/oauth2/logout', { browser: visitor, fields });
  t.equal(sent.status, 303, 'it goes on with the cookies that are kept from other sites');
  const page = await visitor.get(sent.headers.get('location') ?? '');
  t.equal(heading(page), 'Sign out?');
  t.strictSame(responseOf(await visitor.submit(page, { logout: 'yes' })), { at: AFTER });
});

t.test('nobody is signed out from elsewhere', async (t) => {
  const { visitor } = await user();
  const page = await visitor.get(logout());
  for (const fields of [{ logout: 'yes' }, { logout: 'yes', xsrf: 'x'.repeat(48) }]) {
    const refused = await send(built, 'POST', '/oauth2/logout/confirm', { browser: visitor, fields });
    t.equal(refused.status, 400);
  }
  const { visitor: other } = await user();
  await other.get(logout());
  const foreign = /name="xsrf" value="(\w+)"/.exec((await other.get(logout())).html)?.[1] ?? '';
  const fields = { logout: 'yes', xsrf: foreign };
  t.equal((await send(built, 'POST', '/oauth2/logout/confirm', { browser: visitor, fields })).status, 400);
  t.ok(await isSignedIn(visitor));
  t.equal(heading(await visitor.submit(page, { logout: 'yes' })), 'You are signed out');
  const twice = await visitor.submit(page, { logout: 'yes' });
  t.equal(twice.status, 400, 'and once is enough');
  t.notMatch(twice.html, 'oidc-provider');
});

t.test('signing in as before after signing out: a consent of its own, tokens that live', async (t) => {
  const { visitor, access } = await user();
  await visitor.submit(await visitor.get(logout()), { logout: 'yes' });
  t.ok(await isDead(access));
  const page = await visitor.get(authorizeUrl());
  t.match(page.url.pathname, /^\/sign-in\//);
  const consent = await visitor.submit(page, { username: 'ann', password: PASSWORD });
  t.match(consent.url.pathname, /^\/consent\//);
});

t.test('signing out works although an application cannot be looked up', async (t) => {
  const other = await createApplication(admin, {
    ...{ name: 'Spoilt', type: 'web', redirect_uris: [REDIRECT], scopes: ['openid'] },
  });
  const visitor = browser();
  const { refresh_token } = await tokensFor(built, {
    ...{ browser: visitor, client: { ...other, redirect_uri: REDIRECT }, more: { scope: 'openid' } },
  });
  const applications = (await built.database()).collection<{ _id: string }>('applications');
  await applications.updateOne({ _id: other.client_id }, { $set: { redirect_uris: ['no URI'] } });
  // One that does not have it in memory.
  const at = await built.replica();
  const page = await send(built, 'GET', `${at}/oauth2/logout`, { browser: visitor });
  const { action = '', fields = {} } = formsOf(page.html)[0] ?? {};
  const sent = { browser: visitor, fields: { ...fields, logout: 'yes' } };
  t.equal((await send(built, 'POST', at + action, sent)).status, 303);
  t.notOk(await isSignedIn(visitor));
  const { body } = await form({ grant_type: 'refresh_token', refresh_token, ...other });
  t.equal(body.error, 'invalid_grant');
});

t.test('an id_token_hint that is not ours gets an error of its own (RP-Initiated Logout §4)', async (t) => {
  const { visitor, idToken } = await user();
  const [header = '', payload = '', signature = ''] = idToken.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  const altered = Buffer.from(JSON.stringify({ ...claims, sub: people.admin.id })).toString('base64url');
  const { privateKey } = await generateKeyPair('RS256');
  const foreign = (more: object) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
  for (const [name, id_token_hint] of [
    ['altered', [header, altered, signature].join('.')],
    ['a cut signature', idToken.slice(0, -9)],
    ['of another issuer', await foreign({ iss: 'https://id.example.com' })],
    ['forged in our name', await foreign({})],
    ['for an application that we do not know', await foreign({ aud: 'app_elsewhere' })],
    ['no JWT', 'x'],
  ] as const) {
    for (const more of [{}, { post_logout_redirect_uri: AFTER }]) {
      const page = await visitor.get(logout({ id_token_hint, ...more }));
      t.equal(page.status, 400, name);
      t.equal(heading(page), 'We could not sign you out', name);
      t.match(page.html, /<a href="\/account">/, name);
      t.notMatch(page.html, 'Unknown application', name);
    }
  }
  t.ok(await isSignedIn(visitor));
  const other = await visitor.get(logout({ client_id: 'app_nobody' }));
  t.equal(heading(other), 'Unknown application');
});

for (const [name, query, decision] of [
  ['signing out', {}, { logout: 'yes' }],
  ['staying signed in', { client_id: APP.client_id }, {}],
] as const) {
  t.test(`${name} ends what an application got in several tabs of one browser`, async (t) => {
    const visitor = browser();
    await visitor.submit(await visitor.get('/account'), { username: 'ann', password: PASSWORD });
    const tabs = [await visitor.get(authorizeUrl(REQUEST)), await visitor.get(authorizeUrl(REQUEST))];
    const tokens: string[] = [];
    for (const tab of tabs) {
      const { url } = await visitor.submit(tab, { decision: 'allow' });
      const code = String(url.searchParams.get('code'));
      const { body } = await form({ grant_type: 'authorization_code', code, redirect_uri: REDIRECT, ...APP });
      tokens.push(String(body.access_token));
    }
    for (const token of tokens) t.ok(await lives(token));
    await visitor.submit(await visitor.get(logout(query)), decision);
    for (const token of tokens) t.ok(await isDead(token));
  });
}

const TV = await createApplication(admin, {
  ...{ name: 'Television', type: 'native', scopes: ['openid'], device_flow: true },
});
const OFFLINE = { scope: 'openid offline_access' };
/** The clients, beside a device. */
const CLIENTS = {
  native: () => ({ client: NATIVE, more: OFFLINE }),
  online: () => ({ client: NATIVE, more: { scope: 'openid' } }),
  web: () => ({ client: CLIENT, more: { ...OFFLINE, prompt: 'consent' } }),
};
type Kept = keyof typeof CLIENTS | 'device';
type Held = { client: Parameters<typeof refresh>[2]; tokens: Tokens };

async function device(visitor: FormBrowser): Promise<Held> {
  const client = { client_id: TV.client_id };
  const { body } = await form({ ...client, scope: 'openid' }, {}, '/oauth2/device_authorization');
  const { device_code, user_code } = body as Record<string, string>;
  const verify = await visitor.submit(await visitor.get('/device'), { user_code: String(user_code) });
  await visitor.submit(await visitor.submit(verify, {}), { decision: 'allow' });
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  return {
    client,
    tokens: (await form({ ...client, grant_type, device_code: String(device_code) })).body as Tokens,
  };
}

/** Somebody new, with what all of these have got in one browser. */
async function holder() {
  count += 1;
  const username = `holder${count}`;
  const id = await built.createPerson(username);
  const visitor = await signedIn(built, username);
  const held = {} as Record<Kept, Held>;
  for (const [name, request] of Object.entries(CLIENTS)) {
    const { client, more } = request();
    held[name as Kept] = {
      client,
      tokens: await tokensFor(built, { browser: visitor, username, client, more }),
    };
  }
  held.device = await device(visitor);
  return { username, id, visitor, held };
}
let count = 0;

/** The names of those whose access and refresh tokens work; the others' have both ended. */
async function works(held: Record<Kept, Held>): Promise<string> {
  const names: string[] = [];
  for (const [name, { client, tokens }] of Object.entries(held)) {
    const refreshed = await refresh(built, tokens.refresh_token, client);
    const isRefreshed = refreshed.status === 200;
    const isValid = async () => (await call('GET', '/userinfo', tokens.access_token)).status === 200;
    await until(async () => (await isValid()) === isRefreshed, 2000);
    if (!isRefreshed) continue;
    names.push(name);
    Object.assign(tokens, refreshed.body);
  }
  return names.join(' ');
}

type Holder = Awaited<ReturnType<typeof holder>>;
const account =
  (which: string, fields = {}) =>
  async ({ visitor, username }: Holder) => {
    const page = await visitor.get(which.startsWith('/account/sessions') ? '/account/sessions' : '/account');
    return visitor.submit(page, { current_password: PASSWORD, username, ...fields }, which);
  };
const byAdmin =
  (method: string, path: (id: string) => string, body?: object) =>
  ({ id }: Holder) =>
    call(method, path(id), admin, body);
const signOutAt =
  (parameters: Record<string, string>, fields: Record<string, string> = { logout: 'yes' }) =>
  async ({ visitor }: Holder) =>
    visitor.submit(await visitor.get(logout(parameters)), fields);

for (const [name, act, kept] of [
  ['nothing', async () => {}, 'native online web device'],
  ['a sign-out by a web application', signOutAt({ client_id: APP.client_id }), 'native device'],
  ['a sign-out by nobody', signOutAt({}), 'native device'],
  ['a sign-out by the native application itself', signOutAt({ client_id: NATIVE.client_id }), 'device'],
  [
    'an application that signs itself out',
    signOutAt({ client_id: APP.client_id }, {}),
    'native online device',
  ],
  ['a native one that signs itself out', signOutAt({ client_id: NATIVE.client_id }, {}), 'web device'],
  ['a sign-out on /account', account('/account/sign-out'), 'native device'],
  [
    'another account signs in',
    async ({ visitor }: Holder) =>
      visitor.submit(await visitor.get(authorizeUrl({ prompt: 'login' })), {
        username: 'ann',
        password: PASSWORD,
      }),
    'device',
  ],
  ['its session is ended on /account', account('/account/sessions/end"'), 'device'],
  ['all its sessions are ended', byAdmin('DELETE', (id) => `/api/v1/sessions?user_id=${id}`), ''],
  [
    'a new password',
    byAdmin('PUT', (id) => `/v2/users/${id}/password`, { new_password: 'another battery staple' }),
    '',
  ],
  ['all access is revoked', byAdmin('POST', (id) => `/api/v1/users/${id}/revocations`, {}), ''],
  ['a deactivation', byAdmin('PUT', (id) => `/v2/users/${id}/status`, { status: 'inactive' }), ''],
  [
    'its consent is revoked',
    byAdmin('DELETE', (id) => `/api/v1/consents/${NATIVE.client_id}?user_id=${id}`),
    'web device',
  ],
] as [string, (by: Holder) => Promise<unknown>, string][]) {
  t.test(`${name} leaves: ${kept}`, async (t) => {
    const one = await holder();
    await act(one);
    t.equal(await works(one.held), kept);
  });
}

t.test('what a sign-out has left is listed, and ends', async (t) => {
  for (const [name, act] of [
    ['with the other sessions of its device', account('/account/sessions/end-device', {})],
    [
      'on its own',
      async ({ visitor }: Holder) =>
        visitor.submit(await visitor.get('/account/applications'), {}, `value="${NATIVE.client_id}"`),
    ],
    [
      'with a new password',
      byAdmin('PUT', (id) => `/v2/users/${id}/password`, { new_password: 'another staple' }),
    ],
  ] as [string, (by: Holder) => Promise<unknown>][]) {
    const one = await holder();
    const another = await signedIn(built, one.username);
    await account('/account/sign-out')(one);
    t.match(
      (await another.get('/account/applications')).html,
      /Native[\s\S]*Stay signed in on the device/,
      name,
    );
    const again = await signedIn(built, one.username);
    const native = { native: one.held.native } as typeof one.held;
    t.equal(await works(native), 'native', name);
    await act({ ...one, visitor: again });
    t.equal(await works(native), '', name);
  }
});

t.test('offline_access of one request says nothing of another one', async (t) => {
  for (const order of [
    ['native', 'online'],
    ['online', 'native'],
    ['native', 'online', 'native'],
  ] as const) {
    const visitor = await signedIn(built, 'ann');
    const held = [];
    for (const name of order) {
      const { client, more } = CLIENTS[name]();
      held.push({ name, client, tokens: await tokensFor(built, { browser: visitor, client, more }) });
      t.notMatch(held.at(-1)?.tokens.scope, 'offline_access', 'it is no scope of a token');
    }
    await visitor.submit(await visitor.get('/account'), {}, '/account/sign-out');
    for (const { name, client, tokens } of held) {
      const { status } = await refresh(built, tokens.refresh_token, client);
      t.equal(status, name === 'native' ? 200 : 400, `${name} of ${order}`);
    }
  }
});

t.test('the consent page says that a native application stays signed in', async (t) => {
  for (const [name, says] of [
    ['native', true],
    ['online', false],
    ['web', false],
  ] as const) {
    const { client, more } = CLIENTS[name]();
    const { client_id, redirect_uri } = client;
    const visitor = await signedIn(built, 'ann');
    const { challenge } = pkce();
    const page = await visitor.get(authorizeUrl({ client_id, redirect_uri, ...challenge, ...more }));
    t.match(page.url.pathname, '/consent/', name);
    t.equal(page.html.includes('Stay signed in on the device where you allow this'), says, name);
    // Before anybody has signed in, pushed, or with nothing else.
    const stranger = browser();
    const asked = { client_id, redirect_uri, ...challenge, response_type: 'code', ...more };
    const secret = client === CLIENT ? { client_secret: CLIENT.client_secret } : {};
    const { request_uri } = (await form({ ...asked, ...secret }, {}, '/oauth2/par')).body as Record<
      string,
      string
    >;
    const signIn = await stranger.get(
      `/oauth2/authorize?${new URLSearchParams({ client_id, request_uri: String(request_uri) })}`,
    );
    const consent = await stranger.submit(signIn, { username: 'ann', password: PASSWORD });
    t.equal(consent.html.includes('Stay signed in on the device'), says, `${name}, pushed`);
    const scope = more.scope.replace(/^openid ?/, '');
    const alone = await visitor.get(authorizeUrl({ ...asked, scope }));
    t.equal(alone.html.includes('Stay signed in on the device'), says, `${name}, alone`);
    t.match(alone.html, 'Recognise you when you sign in', `${name}, alone`);
    const signedOut = await visitor.get(logout());
    t.match(signedOut.html, 'allowed to stay signed in on this device');
  }
});

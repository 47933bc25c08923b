import { randomBytes } from 'node:crypto';
import type { Page } from '@gatehouse/testing/form-browser';
import { MULTI_FACTOR } from '@gatehouse/tokens/acr';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, type Built, build, PASSWORD, WEB } from '../../build.ts';
import { heading, isSignIn, linkOf, responseOf } from '../../pages.ts';
import { codeOf, enterCode, enterPassword, forgetCodes, keyOn } from '../authenticator-app/app.ts';
import { createAuthenticator } from '../passkeys/authenticator.ts';

type Visitor = ReturnType<Built['browser']>;
const SET_UP = '/account/authenticator-app/set-up';
const ASKED = 'Set up a second factor';

const admins = await build(t, { host: 'localhost', config: { requireSecondFactor: 'admin' } });
const graceful = await build(t, {
  host: 'localhost',
  config: { requireSecondFactor: 'all', secondFactorGraceDays: 3 },
});

/** Goes on through consent, and returns the parameters of the response. */
async function answer(visitor: Visitor, page: Page): Promise<Record<string, string>> {
  const at = heading(page)?.startsWith('Allow') ? await visitor.submit(page, { decision: 'allow' }) : page;
  return { ...responseOf(at) };
}

/** Sets up an app from the page that asks for it; the result is the page to go on from. */
async function setUpFrom(visitor: Visitor, page: Page) {
  const form = await visitor.submit(page, { set_up: SET_UP });
  const secret = keyOn(form);
  const codes = await visitor.submit(form, { code: codeOf(secret) }, 'name="code"');
  return { secret, page: await visitor.get(linkOf(codes, 'I have kept the codes')) };
}

const logIn = (built: Built, username: string, code?: string) =>
  built.call('POST', '/api/v1/auth/login', undefined, {
    username,
    password: PASSWORD,
    ...(code && { code }),
  });

t.test('admins need one where they do, and others do not', async (t) => {
  const ann = admins.browser();
  t.ok((await answer(ann, await enterPassword(ann, 'ann', authorizeUrl()))).code, 'a user');
  t.match(await logIn(admins, 'ann'), { status: 200 });

  const { status, body } = await logIn(admins, 'admin');
  t.strictSame([status, body.error], [403, 'mfa_setup_required']);
  t.match(body.message, `${admins.base}/account/security`);

  const visitor = admins.browser();
  const page = await enterPassword(visitor, 'admin', authorizeUrl());
  t.equal(heading(page), ASKED);
  t.notMatch(page.html, 'name="later"');
  const uid = page.url.pathname.split('/')[2] ?? '';
  for (const past of [
    () => visitor.get(`/oauth2/authorize/${uid}`),
    () => visitor.get(`/consent/${uid}`),
    () => visitor.get(`/sign-in/${uid}/second-factor`),
    () => visitor.get(authorizeUrl({ prompt: 'none' })),
    async () => visitor.submit(await visitor.get(authorizeUrl()), { later: 'later' }),
    async () => visitor.submit(await visitor.get(authorizeUrl()), { cancel: 'cancel' }),
    async () => visitor.submit(await visitor.get(authorizeUrl()), {}),
    async () => visitor.submit(await visitor.get(authorizeUrl()), { set_up: 'https://evil.example' }),
  ]) {
    const end = await past().catch((error: Error) => error);
    t.notOk('url' in end && end.url.searchParams.has('code'), String(past));
  }
  const silent = await answer(visitor, await visitor.get(authorizeUrl({ prompt: 'none' })));
  t.equal(silent.error, 'interaction_required');

  const { secret, page: done } = await setUpFrom(visitor, await visitor.get(authorizeUrl()));
  const { code } = await answer(visitor, await visitor.submit(done, {}));
  const { body: tokens } = await admins.form({
    ...{ grant_type: 'authorization_code', code: String(code), redirect_uri: WEB.redirect_uri },
    ...{ client_id: WEB.client_id, client_secret: WEB.client_secret },
  });
  t.match(decodeJwt(String(tokens.id_token)), { acr: MULTI_FACTOR });
  await forgetCodes(admins, admins.people.admin.id);
  const login = await logIn(admins, 'admin', codeOf(secret));
  t.match(decodeJwt(String(login.body.token)), { acr: MULTI_FACTOR });
});

t.test('a browser in which the second factor is remembered is enough', async (t) => {
  const other = await build(t, { config: { requireSecondFactor: 'admin' }, masterKey: randomBytes(32) });
  const visitor = other.browser();
  const { secret } = await setUpFrom(visitor, await enterPassword(visitor, 'admin', authorizeUrl()));
  await forgetCodes(other, other.people.admin.id);
  const second = other.browser();
  const asked = await enterPassword(second, 'admin', authorizeUrl());
  await enterCode(second, asked, codeOf(secret), { remember_browser: 'yes' });
  await second.submit(await second.get('/account'), {}, 'sign-out');
  t.ok((await answer(second, await enterPassword(second, 'admin', authorizeUrl()))).code);
  t.equal(heading(await second.get('/account')), 'Profile');
});

t.test('in the days of grace it can wait, and no longer', async (t) => {
  const { base, people } = graceful;
  const visitor = graceful.browser();
  const page = await enterPassword(visitor, 'ann', authorizeUrl());
  t.equal(heading(page), ASKED);
  const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  t.match(page.html, date.format(new Date(Date.now() + 3 * 86_400_000)));
  t.ok((await answer(visitor, await visitor.submit(page, { later: 'later' }, 'name="later"'))).code);
  t.ok((await answer(visitor, await visitor.get(authorizeUrl()))).code, 'it is asked once in a session');
  t.ok((await answer(visitor, await visitor.get(authorizeUrl({ prompt: 'none' })))).code);
  t.match(await logIn(graceful, 'ann'), { status: 200 });

  const graces = (await graceful.database()).collection<{ _id: string }>('second_factor_graces');
  const since = new Date(Date.now() - 4 * 86_400_000);
  t.equal((await graces.updateOne({ _id: people.ann.id }, { $set: { since } })).matchedCount, 1);
  const late = await visitor.get(authorizeUrl());
  t.equal(heading(late), ASKED);
  t.notMatch(late.html, 'name="later"');
  t.equal(heading(await visitor.submit(late, { later: 'later' })), ASKED, 'a button that is not there');
  t.match(await logIn(graceful, 'ann'), { status: 403, body: { error: 'mfa_setup_required' } });

  const form = await visitor.submit(await visitor.get(authorizeUrl()), { set_up: '/account/passkeys/add' });
  const authenticator = createAuthenticator(base);
  const done = await visitor.submit(
    form,
    { name: 'Key', passkey: authenticator.create(form) },
    'name="passkey"',
  );
  t.ok((await answer(visitor, await visitor.submit(done, {}))).code);

  // With the passkey, the password alone opens nothing, also in the days of grace.
  await graces.updateOne({ _id: people.ann.id }, { $set: { since: new Date() } });
  t.match(await logIn(graceful, 'ann'), { status: 403, body: { error: 'mfa_setup_required' } });
  const thief = graceful.browser();
  t.equal(heading(await enterPassword(thief, 'ann', authorizeUrl())), 'Use your passkey');
  for (const path of ['/account', '/account/passkeys/add', SET_UP, '/account/security']) {
    const at = await thief.get(path);
    t.ok(isSignIn(at), path);
    t.equal(heading(at), 'Use your passkey', path);
  }
  const asked = await thief.get('/account/security');
  const owner = await thief.submit(asked, { passkey: authenticator.get(asked) }, 'name="passkey"');
  t.equal(heading(owner), 'Security');
});

t.test('an application can require it of everybody', async (t) => {
  const built = await build(t, { host: 'localhost' });
  const admin = await built.login('admin');
  const path = `/api/v1/applications/${WEB.client_id}`;
  const visitor = built.browser();
  t.ok((await answer(visitor, await enterPassword(visitor, 'ann', authorizeUrl()))).code);
  t.match(await built.call('PATCH', path, admin, { require_second_factor: true }), {
    status: 200,
    body: { require_second_factor: true },
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(heading(await visitor.get(authorizeUrl())), ASKED, 'also for who was let in before');
  t.equal(heading(await visitor.get('/account')), 'Profile', 'elsewhere nothing changes');
  t.match(await logIn(built, 'ann'), { status: 200 });
  const machine = { name: 'Machine', type: 'machine', scopes: ['read:data'], require_second_factor: true };
  t.match(await built.call('POST', '/api/v1/applications', admin, machine), { status: 400 });
});

import type { Page } from '@gatehouse/testing/form-browser';
import { MULTI_FACTOR, PHISHING_RESISTANT, SINGLE_FACTOR } from '@gatehouse/tokens/acr';
import { ACRS } from '@gatehouse/verify/sign-in';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import t, { type Test } from 'tap';
import { authorizeUrl, build, PASSWORD, signInAndAllow, WEB } from '../../build.ts';
import { heading, linkOf, responseOf, signedIn } from '../../pages.ts';
import { refresh, type Tokens } from '../../tokens.ts';
import { codeOf, enterCode, enterPassword, forgetCodes, keyOn, withApp } from '../authenticator-app/app.ts';
import { createAuthenticator } from '../passkeys/authenticator.ts';

const built = await build(t, { host: 'localhost' });
type Visitor = ReturnType<typeof built.browser>;

const voluntary = (...acrs: string[]) => authorizeUrl({ acr_values: acrs.join(' ') });
const essential = (...values: string[]) =>
  authorizeUrl({ claims: JSON.stringify({ id_token: { acr: { essential: true, values } } }) });

/** The sign-in as the ID token, the access token and the tokens of a refresh say it, which have to agree. */
async function signInAt(t: Test, page: Page) {
  const { body } = await built.form({
    ...{ grant_type: 'authorization_code', code: String(page.url.searchParams.get('code')) },
    ...{ redirect_uri: WEB.redirect_uri, client_id: WEB.client_id, client_secret: WEB.client_secret },
  });
  const tokens = body as Tokens;
  const refreshed = (await refresh(built, tokens.refresh_token)).body as Tokens;
  const { acr, amr, auth_time } = decodeJwt(tokens.id_token);
  for (const token of [tokens.access_token, refreshed.access_token, refreshed.id_token]) {
    t.match(decodeJwt(token), { acr, auth_time });
  }
  return { acr, amr, auth_time: Number(auth_time) };
}

/** The same of a page that may ask for consent first. */
async function arrival(t: Test, visitor: Visitor, page: Page) {
  const at = heading(page)?.startsWith('Allow') ? await visitor.submit(page, { decision: 'allow' }) : page;
  const { acr, amr } = await signInAt(t, at);
  return [acr, amr];
}

async function addPasskey(visitor: Visitor, page: Page, authenticator = createAuthenticator(built.base)) {
  const added = await visitor.submit(
    page,
    { name: 'Key', passkey: authenticator.create(page) },
    'name="passkey"',
  );
  return { authenticator, added };
}

/** Somebody with a passkey, signed in by the password alone in another browser. */
async function withPasskey(username: string) {
  await built.createPerson(username);
  const owner = await signedIn(built, username);
  const { authenticator } = await addPasskey(owner, await owner.get('/account/passkeys/add'));
  return { authenticator, visitor: await signedIn(built, username) };
}

t.test('somebody who is signed in is asked for the code alone, and the sign-in keeps its age', async (t) => {
  for (const [i, request] of [voluntary, essential].entries()) {
    const { id, username, secret } = await withApp(built, `code${i}`);
    const visitor = built.browser();
    const first = await enterPassword(visitor, username);
    await enterCode(visitor, first, codeOf(secret), { remember_browser: 'yes' });
    await forgetCodes(built, id);
    await visitor.submit(await visitor.get('/account'), {}, 'sign-out');
    await enterPassword(visitor, username);
    t.strictSame(await arrival(t, visitor, await visitor.get(authorizeUrl())), [SINGLE_FACTOR, ['pwd']]);
    const before = Date.now() / 1000;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const page = await visitor.get(request(MULTI_FACTOR));
    t.equal(heading(page), 'Enter a code');
    t.notMatch(page.html, 'type="password"');
    const { acr, amr, auth_time } = await signInAt(t, await enterCode(visitor, page, codeOf(secret)));
    t.strictSame([acr, amr], [MULTI_FACTOR, ['pwd', 'otp', 'mfa']]);
    t.ok(auth_time <= before, 'the password was not proved again');
    t.equal(heading(await visitor.get('/account')), 'Profile', 'the session is the same');
    t.ok((await visitor.get(request(MULTI_FACTOR))).url.searchParams.has('code'), 'once');
  }
});

t.test(
  'a passkey does for what a code is asked for, and is asked for where a code would not do',
  async (t) => {
    const { authenticator, visitor } = await withPasskey('keyed');
    for (const [request, acr] of [
      [voluntary(PHISHING_RESISTANT, MULTI_FACTOR), PHISHING_RESISTANT],
      [essential(MULTI_FACTOR), MULTI_FACTOR],
      [essential(PHISHING_RESISTANT), PHISHING_RESISTANT],
      [essential(SINGLE_FACTOR), SINGLE_FACTOR],
    ] as const) {
      let page = await visitor.get(request);
      if (heading(page) === 'Use your passkey') {
        page = await visitor.submit(page, { passkey: authenticator.get(page) }, 'name="passkey"');
      }
      t.strictSame(await arrival(t, visitor, page), [acr, ['hwk', 'user', 'mfa']], request);
    }
    const { secret } = await withApp(built, 'both');
    const owner = built.browser();
    const page = await enterCode(owner, await enterPassword(owner, 'both'), codeOf(secret));
    t.equal(heading(page), 'Profile');
    const asked = await owner.get(essential(PHISHING_RESISTANT));
    t.equal(heading(asked), 'Set up a stronger sign-in');
    t.notMatch(asked.html, 'Set up an authenticator app');
  },
);

t.test('what is voluntary can be left out; without a factor nobody is asked', async (t) => {
  await built.createPerson('plain');
  const plain = await signedIn(built, 'plain');
  const { visitor } = await withPasskey('lazy');
  t.strictSame(await arrival(t, plain, await plain.get(voluntary(MULTI_FACTOR))), [SINGLE_FACTOR, ['pwd']]);
  for (const more of [{}, { prompt: 'login' }]) {
    let page = await visitor.get(authorizeUrl({ acr_values: MULTI_FACTOR, ...more }));
    if (more.prompt) page = await visitor.submit(page, { username: 'lazy', password: PASSWORD });
    t.equal(heading(page), 'Use your passkey');
    page = await visitor.submit(page, { skip: 'yes' }, 'name="skip"');
    t.strictSame(await arrival(t, visitor, page), [SINGLE_FACTOR, ['pwd']]);
  }
  const silent = await visitor.get(authorizeUrl({ acr_values: MULTI_FACTOR, prompt: 'none' }));
  t.strictSame(await arrival(t, visitor, silent), [SINGLE_FACTOR, ['pwd']]);
});

t.test('an essential one that cannot be met is an error', async (t) => {
  const claims = JSON.stringify({ id_token: { acr: { essential: true, value: MULTI_FACTOR } } });
  await built.createPerson('unable');
  const unable = await signedIn(built, 'unable');
  const { visitor } = await withPasskey('able');
  const error = (page: Page) => responseOf(page) as { error?: string };
  t.equal(
    error(await unable.get(authorizeUrl({ claims, prompt: 'none' }))).error,
    'unmet_authentication_requirements',
  );
  t.equal(error(await visitor.get(authorizeUrl({ claims, prompt: 'none' }))).error, 'login_required');
  const declined = await unable.submit(await unable.get(authorizeUrl({ claims })), { cancel: 'yes' });
  t.equal(error(declined).error, 'unmet_authentication_requirements');
  const refused = await visitor.submit(
    await visitor.get(authorizeUrl({ claims })),
    { skip: 'yes' },
    'name="skip"',
  );
  t.equal(error(refused).error, 'access_denied');
});

t.test('openid-client asks for acr_values and max_age, and gets them', async (t) => {
  const config = await client.discovery(
    new URL(built.base),
    WEB.client_id,
    undefined,
    client.ClientSecretPost(WEB.client_secret),
    { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
  );
  t.strictSame(config.serverMetadata().acr_values_supported, ACRS);
  const { authenticator, visitor } = await withPasskey('standard');
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedNonce = client.randomNonce();
  const url = client.buildAuthorizationUrl(config, {
    ...{ redirect_uri: WEB.redirect_uri, scope: 'openid', nonce: expectedNonce, max_age: '600' },
    ...{ acr_values: `${PHISHING_RESISTANT} ${MULTI_FACTOR}`, code_challenge_method: 'S256' },
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  });
  let page = await visitor.get(url.pathname + url.search);
  t.equal(heading(page), 'Use your passkey');
  page = await visitor.submit(page, { passkey: authenticator.get(page) }, 'name="passkey"');
  if (heading(page)?.startsWith('Allow')) page = await visitor.submit(page, { decision: 'allow' });
  const checks = { pkceCodeVerifier, expectedNonce, maxAge: 600 };
  const tokens = await client.authorizationCodeGrant(config, page.url, checks);
  t.match(tokens.claims(), { acr: PHISHING_RESISTANT, amr: ['hwk', 'user', 'mfa'], auth_time: Number });
  t.match(await client.tokenIntrospection(config, tokens.access_token), { acr: PHISHING_RESISTANT });
});

t.test('whoever has no factor sets one up on the way in, and goes on', async (t) => {
  for (const [name, acr, amr] of [
    ['app', MULTI_FACTOR, ['pwd', 'otp', 'mfa']],
    ['passkey', PHISHING_RESISTANT, ['pwd', 'hwk', 'user', 'mfa']],
  ] as const) {
    for (const more of [{}, { prompt: 'login' }]) {
      const username = `new_${name}${Object.keys(more).length}`;
      await built.createPerson(username);
      const visitor = built.browser();
      const claims = JSON.stringify({ id_token: { acr: { essential: true, value: acr } } });
      const page = await enterPassword(visitor, username, authorizeUrl({ claims, ...more }));
      t.equal(heading(page), 'Set up a stronger sign-in', username);
      const path = name === 'app' ? '/account/authenticator-app/set-up' : '/account/passkeys/add';
      let form = await visitor.submit(page, { set_up: path });
      t.equal(form.url.pathname, path);
      if (name === 'app') {
        form = await visitor.submit(form, { code: codeOf(keyOn(form)) }, 'name="code"');
        form = await visitor.get(linkOf(form, 'I have kept the codes'));
      } else form = (await addPasskey(visitor, form)).added;
      t.equal(heading(form), 'Your sign-in is strong enough now');
      t.strictSame(await arrival(t, visitor, await visitor.submit(form, {})), [acr, amr], username);
      t.equal(heading(await visitor.get('/account/security')), 'Security');
    }
  }
});

/** Ways past the step: each begins on its page, of a request with an essential acr. */
const ATTACKS: Record<string, (it: { visitor: Visitor; page: Page; uid: string }) => Promise<Page>> = {
  'the end of the sign-in, by its URL': ({ visitor, uid }) => visitor.get(`/oauth2/authorize/${uid}`),
  'the consent page, by its URL': ({ visitor, uid }) => visitor.get(`/consent/${uid}`),
  'the page for setting up, by its URL': ({ visitor, uid }) => visitor.get(`/sign-in/${uid}/set-up`),
  'leaving it out': async ({ visitor, page }) => visitor.submit(page, { skip: 'yes' }, 'name="skip"'),
  'the password again': async ({ visitor, uid }) =>
    visitor.submit(await visitor.get(`/sign-in/${uid}?another_account`), {
      username: 'target',
      password: PASSWORD,
    }),
  'acr_values beside the claim': ({ visitor }) =>
    visitor.get(`${essential(PHISHING_RESISTANT)}&${new URLSearchParams({ acr_values: SINGLE_FACTOR })}`),
  'a claim about the access token': ({ visitor }) =>
    visitor.get(
      authorizeUrl({
        claims: JSON.stringify({
          id_token: { acr: { essential: true, value: PHISHING_RESISTANT } },
          userinfo: { acr: { value: SINGLE_FACTOR } },
        }),
      }),
    ),
  'acr and amr in the request': ({ visitor }) =>
    visitor.get(
      `${essential(PHISHING_RESISTANT)}&${new URLSearchParams({ acr: PHISHING_RESISTANT, amr: 'mfa' })}`,
    ),
};

t.test('nothing gets past the step', async (t) => {
  const { authenticator } = await withPasskey('target');
  for (const [name, attack] of Object.entries(ATTACKS)) {
    const visitor = await signedIn(built, 'target');
    const page = await visitor.get(essential(PHISHING_RESISTANT));
    t.equal(heading(page), 'Use your passkey', name);
    const uid = page.url.pathname.split('/')[2] ?? '';
    const end = await attack({ visitor, page, uid });
    t.notOk(end.url.searchParams.has('code'), name);
  }
  // The weaker factor of an account that has a stronger one.
  const visitor = await signedIn(built, 'target');
  const page = await visitor.get(essential(PHISHING_RESISTANT));
  const { secret } = await withApp(built, 'stranger');
  const html = page.html.replace('name="skip"', 'name="authenticator_app"');
  t.notOk((await enterCode(visitor, { ...page, html }, codeOf(secret))).url.searchParams.has('code'));
  const forged = { passkey: authenticator.get(page, { isForged: true }) };
  t.equal((await visitor.submit(page, forged, 'name="passkey"')).status, 401);
});

t.test('a refresh says what its own sign-in was, whatever the session has become', async (t) => {
  const { authenticator, visitor } = await withPasskey('later');
  const page = await signInAndAllow(visitor, authorizeUrl(), 'later');
  const { body } = await built.form({
    ...{ grant_type: 'authorization_code', code: String(page.url.searchParams.get('code')) },
    ...{ redirect_uri: WEB.redirect_uri, client_id: WEB.client_id, client_secret: WEB.client_secret },
  });
  const { refresh_token, access_token } = body as Tokens;
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const asked = await visitor.get(essential(PHISHING_RESISTANT));
  await visitor.submit(asked, { passkey: authenticator.get(asked) }, 'name="passkey"');
  const { auth_time } = decodeJwt(access_token);
  const refreshed = (await refresh(built, refresh_token)).body as Tokens;
  for (const token of [refreshed.access_token, refreshed.id_token]) {
    t.match(decodeJwt(token), { acr: SINGLE_FACTOR, auth_time });
  }
});

import { setTimeout as sleep } from 'node:timers/promises';
import type { FormBrowser, Page } from '@gatehouse/testing/form-browser';
import { formsOf } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import {
  authorizeUrl,
  build,
  codeFor,
  NATIVE,
  ownApplication,
  PASSWORD,
  signInAndAllow,
  WEB,
} from '../../build.ts';
import { alertOf, heading, linkOf, responseOf, send, valueIn } from '../../pages.ts';
import { untilDead } from '../../tokens.ts';

const built = await build(t, {
  applications: [
    ownApplication('app_phone', {
      type: 'native',
      trusted: false,
      scopes: ['openid'],
      // The first would be refused at the API.
      redirectUris: ['accounts.example.com:/cb', 'com.example.phone://accounts.example.com/cb'],
    }),
  ],
});
const { base, browser, call, form } = built;
const ANN = { username: 'ann', password: PASSWORD };
const ADMIN = { username: 'admin', password: PASSWORD };

/** What the person is asked to allow, in sentences. */
const asked = ({ html }: Page) =>
  [...html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text?.replaceAll(/<[^>]+>/g, ''));

async function toConsent(visitor: FormBrowser, more: Record<string, string> = {}): Promise<Page> {
  const page = await visitor.get(authorizeUrl(more));
  return visitor.submit(page, ANN);
}

const csrfOf = (page: Page) => formsOf(page.html)[0]?.fields.csrf ?? '';

async function accessToken(code: string): Promise<string> {
  const { body } = await form({ grant_type: 'authorization_code', code, ...WEB });
  return String(body.access_token);
}

t.test('allowing later does not make the sign-in a newer one', async (t) => {
  const visitor = browser();
  const page = await toConsent(visitor);
  const signedIn = Math.floor(Date.now() / 1000);
  await sleep(2000);
  const { code = '' } = responseOf(await visitor.submit(page, { decision: 'allow' })) as { code?: string };
  const { body } = await form({ grant_type: 'authorization_code', code, ...WEB });
  t.ok(Number(decodeJwt(String(body.id_token)).auth_time) <= signedIn);
});

t.test('allowing, and being asked once', async (t) => {
  const visitor = browser();
  const page = await toConsent(visitor, { scope: 'openid read:data' });
  t.equal(page.status, 200);
  t.match(page.html, 'Web of Examples');
  t.match(page.html, 'ann@example.org');
  t.match(asked(page), ['Recognise you when you sign in.', /^Read items/]);
  t.notMatch(page.html, 'class="new"', 'all of it is new');
  const allowed = await visitor.submit(page, { decision: 'allow' });
  t.match(responseOf(allowed), { at: WEB.redirect_uri, code: String, state: 'some-state', iss: base });

  const again = await visitor.get(authorizeUrl({ scope: 'openid read:data', state: 'second' }));
  t.match(responseOf(again), { at: WEB.redirect_uri, code: String, state: 'second' });

  const more = await visitor.get(authorizeUrl({ scope: 'openid read:data email' }));
  t.match(more.url.pathname, /^\/consent\//);
  const marked = [...more.html.matchAll(/<li>(.*?)<\/li>/g)].map(([, text]) => text?.includes('class="new"'));
  t.strictSame(marked, [false, true, false], 'what is new is marked, and nothing else');
  t.match((await visitor.submit(more, { decision: 'allow' })).url.href, WEB.redirect_uri);
  t.match((await visitor.get(authorizeUrl({ scope: 'openid email' }))).url.href, WEB.redirect_uri);
});

t.test('refusing', async (t) => {
  const visitor = browser();
  const page = await toConsent(visitor);
  const refused = await visitor.submit(page, { decision: 'deny' });
  t.match(responseOf(refused), {
    at: WEB.redirect_uri,
    error: 'access_denied',
    state: 'some-state',
    iss: base,
  });
  t.notOk(refused.url.searchParams.has('code'));
  t.match((await visitor.get(authorizeUrl())).url.pathname, /^\/consent\//, 'and one is asked again');
  const neither = await visitor.submit(await visitor.get(authorizeUrl()), { decision: 'perhaps' });
  t.equal(neither.status, 400);
});

t.test('an app with a scheme of its own is no website, whatever its scheme looks like', async (t) => {
  for (const redirect_uri of ['accounts.example.com:/cb', 'com.example.phone://accounts.example.com/cb']) {
    const phone = { client_id: 'app_phone', redirect_uri, scope: 'openid', code_challenge_method: 'S256' };
    const url = authorizeUrl({ ...phone, code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' });
    const page = await browser().get(url);
    t.match(page.html, 'an app on this device');
    t.notMatch(page.html, /accounts\.example/);
  }
});

t.test('a native application is asked for every time, since others may pretend to be it', async (t) => {
  const visitor = browser();
  const native = { client_id: NATIVE.client_id, redirect_uri: 'http://127.0.0.1:5555/callback' };
  const pkce = {
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  for (const round of ['first', 'second']) {
    const url = authorizeUrl({ ...native, ...pkce, scope: 'openid' });
    let page = await visitor.get(url);
    if (round === 'first') page = await visitor.submit(page, ANN);
    t.match(page.html, 'a program on this device, at');
    t.match(page.html, '127.0.0.1:5555');
    const allowed = await visitor.submit(page, { decision: 'allow' });
    t.match(responseOf(allowed), { at: 'http://127.0.0.1:5555/callback', code: String }, round);
  }
});

t.test('parameters of an application: prompt, max_age, login_hint', async (t) => {
  const nobody = browser();
  const none = await nobody.get(authorizeUrl({ prompt: 'none' }));
  t.match(responseOf(none), { error: 'login_required', state: 'some-state', iss: base });
  const prefilled = await nobody.get(authorizeUrl({ login_hint: 'ann' }));
  t.equal(valueIn(prefilled, 'username'), 'ann');

  const visitor = browser();
  await signInAndAllow(visitor, authorizeUrl({ scope: 'openid' }));
  t.match(responseOf(await visitor.get(authorizeUrl({ prompt: 'none', scope: 'openid' }))), { code: String });
  const wider = await visitor.get(authorizeUrl({ prompt: 'none', scope: 'openid email' }));
  t.match(responseOf(wider), { error: 'consent_required' });

  const consent = await visitor.get(authorizeUrl({ prompt: 'consent', scope: 'openid' }));
  t.match(consent.url.pathname, /^\/consent\//, 'prompt=consent asks once more');
  t.match(responseOf(await visitor.submit(consent, { decision: 'allow' })), { code: String });

  for (const more of [{ prompt: 'login' }, { max_age: '0' }]) {
    const page = await visitor.get(authorizeUrl({ ...more, scope: 'openid' } as Record<string, string>));
    t.equal(heading(page), 'Confirm that it is you', JSON.stringify(more));
    t.match(page.html, 'You are signed in as');
    t.equal(valueIn(page, 'username'), 'ann');
    const wrong = await visitor.submit(page, { username: 'ann', password: 'wrong' });
    t.equal(wrong.status, 401);
    t.equal(heading(wrong), 'Confirm that it is you');
    t.match(responseOf(await visitor.submit(wrong, ANN)), { code: String });
  }
  const fresh = await visitor.get(authorizeUrl({ max_age: '100', scope: 'openid' }));
  t.match(responseOf(fresh), { code: String }, 'the sign-in is young enough');
});

t.test('another account', async (t) => {
  const visitor = browser();
  // Ann is signed in, and her application has tokens.
  const code = await codeFor(visitor);
  const token = await accessToken(code);
  const page = await visitor.get(authorizeUrl({ prompt: 'consent', scope: 'openid', login_hint: 'ann' }));
  const other = await visitor.get(linkOf(page, 'Use another account'));
  t.equal(heading(other), 'Sign in', 'not "Confirm that it is you"');
  t.equal(valueIn(other, 'username'), '', 'nobody is suggested');
  const wrong = await visitor.submit(other, { username: 'admin', password: 'wrong' });
  t.equal(heading(wrong), 'Sign in');
  const consent = await visitor.submit(wrong, ADMIN);
  t.match(consent.url.pathname, /^\/consent\//, 'no page of scripts in between');
  t.match(consent.html, 'admin@example.org');
  t.notMatch(consent.html, 'ann@example.org');
  const allowed = await visitor.submit(consent, { decision: 'allow' });
  t.match(responseOf(allowed), { at: WEB.redirect_uri, code: String, state: 'some-state' });
  t.match((await visitor.get('/account')).html, 'value="admin@example.org"');
  await untilDead(built, token);
  const admin = await built.login('admin');
  const signOuts = `/api/v1/audit?filter[action]=sign_out&filter[subject]=${built.people.ann.id}`;
  // The audit log is written in batches.
  await until(
    async () => JSON.stringify((await call('GET', signOuts, admin)).body).includes('sign_out'),
    3000,
  );
  const old = await visitor.submit(page, { decision: 'allow' });
  t.equal(old.status, 400, 'and her own page is over');
  t.equal(heading(old), 'This sign-in has expired');

  const again = await visitor.get(authorizeUrl({ prompt: 'login', scope: 'openid' }));
  const ann = await visitor.submit(again, ANN);
  t.match(ann.html, 'ann@example.org', 'also by just giving another name');
});

t.test('prompt=select_account offers the account of this browser, and any other one', async (t) => {
  const choice = (more: Record<string, string> = {}) =>
    authorizeUrl({ prompt: 'select_account', scope: 'openid', ...more });
  const visitor = browser();
  const nobody = await visitor.get(choice());
  t.equal(heading(nobody), 'Sign in', 'nobody is signed in');
  const allowed = await visitor.submit(await visitor.submit(nobody, ANN), { decision: 'allow' });
  t.match(responseOf(allowed), { code: String }, 'who has just signed in has chosen');

  const page = await visitor.get(choice());
  t.equal(heading(page), 'Choose an account');
  t.match(page.html, /Continue as .*ann/);
  t.match(responseOf(await visitor.submit(page, { continue: 'continue' })), { code: String });
  const cancelled = await visitor.submit(await visitor.get(choice()), { cancel: 'cancel' });
  t.match(responseOf(cancelled), { error: 'access_denied' });

  for (const more of [{ prompt: 'login select_account' }, { max_age: '0' }] as Record<string, string>[]) {
    const name = JSON.stringify(more);
    const first = await visitor.get(choice(more));
    t.equal(heading(first), 'Choose an account', name);
    const confirm = await visitor.submit(first, { continue: 'continue' });
    t.equal(heading(confirm), 'Confirm that it is you', name);
    t.match(responseOf(await visitor.submit(confirm, ANN)), { code: String }, name);
  }

  const other = await visitor.get(linkOf(await visitor.get(choice()), 'Use another account'));
  t.equal(heading(other), 'Sign in');
  const wrong = await visitor.submit(other, { ...ADMIN, password: 'wrong' });
  t.equal(wrong.status, 401);
  const consent = await visitor.submit(wrong, ADMIN);
  t.match(consent.html, 'admin@example.org');
  t.match(responseOf(await visitor.submit(consent, { decision: 'allow' })), { code: String });
  t.match((await visitor.get(choice())).html, /Continue as .*admin/);

  const stale = await visitor.get(choice());
  await visitor.submit(await visitor.get('/account'), {}, 'sign-out');
  const over = await visitor.submit(stale, { continue: 'continue' });
  t.equal(heading(over), 'This sign-in has expired', 'nobody continues as who has signed out');
});

t.test('expired, finished, of another browser, at another step', async (t) => {
  const visitor = browser();
  const page = await visitor.get(authorizeUrl());
  const expired = 'This sign-in has expired';

  const stranger = browser();
  for (const response of [
    await stranger.get(page.url.pathname),
    await stranger.submit(page, ANN),
    await stranger.get('/sign-in/nothing'),
    await stranger.get('/consent/nothing'),
    await stranger.submit(page, { ...ANN, cancel: 'cancel' }),
  ]) {
    t.equal(response.status, 400);
    t.equal(heading(response), expired);
    t.match(response.html, 'href="/account"', 'there is a way on');
  }
  // Even with the cookies of one's own sign-in.
  const own = await stranger.get(authorizeUrl());
  const cookies = [...stranger.cookies(own.url.pathname)]
    .map(([name, value]) => `${name}=${value}`)
    .join('; ');
  const crossed = await send(built, 'GET', page.url.pathname, { headers: { cookie: cookies } });
  t.equal(crossed.status, 400);

  const consent = await visitor.submit(page, ANN);
  t.equal(heading(await visitor.get(page.url.pathname)), expired, 'the sign-in is over');
  t.equal(heading(await visitor.submit(page, ANN)), expired);
  await visitor.submit(consent, { decision: 'allow' });
  for (const response of [
    await visitor.get(consent.url.pathname),
    await visitor.submit(consent, { decision: 'allow' }),
    await visitor.submit(consent, { decision: 'deny' }),
    await visitor.get(`/oauth2/authorize/${consent.url.pathname.split('/').at(-1)}`),
  ]) {
    t.equal(response.status, 400);
    t.equal(heading(response), expired);
  }

  for (const change of ['swept', 'over']) {
    const late = browser();
    const shown = await late.get(authorizeUrl());
    const _id = shown.url.pathname.split('/').at(-1) as never;
    const interactions = (await built.database()).collection('oidc_interactions');
    if (change === 'swept') await interactions.deleteOne({ _id });
    else await interactions.updateOne({ _id }, { $set: { expires_at: new Date(Date.now() - 1) } });
    for (const response of [await late.get(shown.url.pathname), await late.submit(shown, ANN)]) {
      t.equal(response.status, 400, change);
      t.equal(heading(response), expired);
    }
  }
});

t.test('two tabs', async (t) => {
  const visitor = browser();
  const living = async (page: Page) => {
    const token = await accessToken(page.url.searchParams.get('code') ?? '');
    const { status } = await call('GET', `/v1/users/${built.people.ann.id}`, token);
    t.equal(status, 200, 'with tokens that live');
  };
  const one = await visitor.get(authorizeUrl({ state: 'one' }));
  const two = await visitor.get(authorizeUrl({ state: 'two' }));
  const oneConsent = await visitor.submit(one, ANN);
  const twoConsent = await visitor.submit(two, ANN);
  for (const [page, state] of [
    [await visitor.submit(oneConsent, { decision: 'allow' }), 'one'],
    [await visitor.submit(twoConsent, { decision: 'allow' }), 'two'],
  ] as const) {
    t.match(responseOf(page), { at: WEB.redirect_uri, state });
    await living(page);
  }

  // At the very same moment, one of them may have to begin again.
  for (let round = 0; round < 3; round += 1) {
    const hasty = browser();
    await hasty.get('/account/forgotten-password');
    const pages = await Promise.all([hasty.get(authorizeUrl()), hasty.get(authorizeUrl())]);
    const consents = await Promise.all(pages.map((page) => hasty.submit(page, ANN)));
    const ends = await Promise.all(
      consents.map((page) => (page.status === 200 ? hasty.submit(page, { decision: 'allow' }) : page)),
    );
    const [done, ...late] = ends.toSorted((a, b) => a.status - b.status);
    if (done === undefined) return t.fail();
    await living(done);
    for (const page of late) {
      if (page.status === 0) await living(page);
      else t.equal(heading(page), 'This sign-in has expired');
    }
    const sessions = await hasty.get('/account/sessions');
    t.equal(sessions.html.split('This device').length, 2, 'and it is one session');
  }

  // At the very first visit both get a name for the browser, and one of the two names is lost.
  const newcomer = browser();
  const tabs = await Promise.all([newcomer.get(authorizeUrl()), newcomer.get(authorizeUrl())]);
  for (const tab of tabs) {
    let page = await newcomer.submit(tab, ANN);
    if (page.status === 403) page = await newcomer.submit(await newcomer.get(tab.url.pathname), ANN);
    t.match(page.url.pathname, /^\/consent\//, 'to load the page again is enough');
  }

  // One tab signs in as somebody else while the other asks for consent.
  const first = await visitor.get(authorizeUrl({ prompt: 'consent' }));
  const second = await visitor.get(authorizeUrl({ prompt: 'login' }));
  t.match((await visitor.submit(second, ADMIN)).url.pathname, /^\/consent\//);
  t.equal(heading(await visitor.submit(first, { decision: 'allow' })), 'This sign-in has expired');

  // Both begin without anybody, and end as two.
  const shared = browser();
  const left = await shared.get(authorizeUrl({ state: 'left' }));
  const right = await shared.get(authorizeUrl({ state: 'right' }));
  const asAnn = await shared.submit(left, ANN);
  const asAdmin = await shared.submit(right, ADMIN);
  t.match(asAdmin.html, 'admin@example.org');
  t.equal(heading(await shared.submit(asAnn, { decision: 'allow' })), 'This sign-in has expired');
  t.match(responseOf(await shared.submit(asAdmin, { decision: 'allow' })), { state: 'right', code: String });
});

t.test('forms that do not come from our page', async (t) => {
  const expired = 'This page has expired';
  const visitor = browser();
  const page = await visitor.get(authorizeUrl());
  const elsewhere = await browser().get(authorizeUrl());
  const path = page.url.pathname;
  const csrf = csrfOf(page);
  const attempts = {
    'no token': { fields: ANN },
    'a wrong token': { fields: { ...ANN, csrf: `${csrf.slice(0, -1)}${csrf.endsWith('A') ? 'B' : 'A'}` } },
    'an empty token': { fields: { ...ANN, csrf: '' } },
    'the token of another browser': { fields: { ...ANN, csrf: csrfOf(elsewhere) } },
    'the token of another sign-in': { fields: { ...ANN, csrf: csrfOf(await visitor.get(authorizeUrl())) } },
    'another site': { fields: { ...ANN, csrf }, headers: { 'sec-fetch-site': 'cross-site' } },
    'a sibling domain': {
      fields: { ...ANN, csrf },
      headers: { 'sec-fetch-site': 'same-site', origin: 'null' },
    },
    'another origin': { fields: { ...ANN, csrf }, headers: { origin: 'https://evil.example' } },
    'another port': { fields: { ...ANN, csrf }, headers: { origin: 'http://localhost:1' } },
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const response = await send(built, 'POST', path, { browser: visitor, ...attempt });
    t.equal(response.status, 403, name);
    t.equal(heading(response), expired);
  }
  // Chromium sends the first from pages whose Referrer-Policy is no-referrer.
  for (const headers of [
    { origin: 'null', 'sec-fetch-site': 'same-origin' },
    { origin: 'null' },
    { origin: built.base, 'sec-fetch-site': 'none' },
  ]) {
    const fields = { csrf, username: ANN.username, password: '' };
    const response = await send(built, 'POST', path, { browser: visitor, headers, fields });
    t.equal(response.status, 401, JSON.stringify(headers));
  }
  const consent = await visitor.submit(page, ANN);
  t.match(consent.url.pathname, /^\/consent\//, 'and none of that has ended the sign-in');
  for (const fields of [{ decision: 'allow' }, { decision: 'deny' }, { decision: 'allow', csrf }]) {
    const response = await send(built, 'POST', consent.url.pathname, { browser: visitor, fields });
    t.equal(response.status, 403);
  }
  const allowed = { decision: 'allow', csrf: csrfOf(consent) };
  const foreign = await send(built, 'POST', consent.url.pathname, {
    browser: visitor,
    fields: allowed,
    headers: { 'sec-fetch-site': 'cross-site' },
  });
  t.equal(foreign.status, 403);
  const create = `${elsewhere.url.pathname}/create-account`;
  t.equal((await send(built, 'POST', create, { browser: visitor, fields: ANN })).status, 400);
  t.match(responseOf(await visitor.submit(consent, { decision: 'allow' })), { code: String });
  t.equal(alertOf(consent), undefined);
});

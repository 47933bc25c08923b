import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { REMOVE, SET_UP } from '../../../src/features/authenticator-app/authenticator-app-pages.ts';
import { authorizeUrl, build, WEB } from '../../build.ts';
import { alertOf, heading, isSignIn, linkOf, noticeOf, responseOf, valueIn } from '../../pages.ts';
import { enterRecoveryCode, setUpApp } from '../authenticator-app/app.ts';
import { leave, type Person, respond, signInBy, startUpstream, verified } from './upstream.ts';

const upstream = await startUpstream(t);
const built = await build(t, { config: { identityProviders: upstream.settings() } });
upstream.start(built.base);

const links = async () => (await built.database()).collection('linked_identities');

t.test('somebody new gets an account without a password, and signs in to it again', async (t) => {
  const visitor = built.browser();
  const page = await signInBy(upstream, visitor, verified('grace', { name: 'Grace Hopper' }));
  t.equal(heading(page), 'Profile', page.html);
  t.equal(valueIn(page, 'email'), 'grace@elsewhere.example');
  t.match(page.html, /Grace Hopper/);
  const again = await signInBy(
    upstream,
    built.browser(),
    verified('grace', { email: 'new@elsewhere.example' }),
  );
  t.equal(valueIn(again, 'username'), 'grace', 'by the subject, whatever the address');
  t.equal(valueIn(again, 'email'), 'grace@elsewhere.example');
  const users = await built.call('GET', '/v1/users?search=grace', await built.login('admin'));
  t.equal(users.status, 200);
  t.equal((await built.logIn('grace', '')).status, 401, 'no password signs in');
});

t.test('an application gets the account, and no method of which RFC 8176 has no name', async (t) => {
  const visitor = built.browser();
  const claims = JSON.stringify({ id_token: { amr: null } });
  let page = await signInBy(upstream, visitor, verified('grace', { amr: ['mfa'] }), authorizeUrl({ claims }));
  page = await visitor.submit(page, { decision: 'allow' });
  const { code = '' } = responseOf(page) as { code?: string };
  const { body } = await built.form({
    ...{ grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri },
    ...{ client_id: WEB.client_id, client_secret: WEB.client_secret },
  });
  t.strictSame(decodeJwt(String(body.id_token)).amr ?? [], [], 'what the provider says does not count');
});

t.test('whether an address is verified is asked for where the ID token does not say it', async (t) => {
  const sign = (claims: object) => {
    upstream.state.forge = (idToken) => upstream.sign({ ...decodeJwt(idToken), ...claims });
  };
  sign({ email: 'elsa@elsewhere.example' });
  const page = await signInBy(upstream, built.browser(), verified('elsa'));
  t.notMatch(page.html, /not confirmed/i);
  sign({ email: 'victim@elsewhere.example' });
  const other = await signInBy(upstream, built.browser(), verified('elmo'));
  t.match(other.html, /not confirmed/i, 'not what is said of another address');
  upstream.state.forge = undefined;
});

t.test(
  'a session at the provider is no fresh sign-in here, and a sign-in there that was asked for is',
  async (t) => {
    const visitor = built.browser();
    await signInBy(upstream, visitor, verified('mona'));
    t.ok(isSignIn(await visitor.get(SET_UP)), 'the provider has asked nobody');
    t.match(
      heading(await signInBy(upstream, visitor, verified('mona'), SET_UP)),
      'Set up an authenticator app',
    );
  },
);

t.test('the second factor is asked for after the provider, unless what it says of one counts', async (t) => {
  const visitor = built.browser();
  await signInBy(upstream, visitor, verified('dora'));
  await signInBy(upstream, visitor, verified('dora'), SET_UP);
  await setUpApp(visitor);
  const asked = await signInBy(upstream, built.browser(), verified('dora', { amr: ['mfa'] }));
  t.equal(heading(asked), 'Enter a code');
  t.notMatch(asked.html, /Sign in with Acme/);
});

t.test('a code after a session at the provider makes no fresh sign-in of it, at once or later', async (t) => {
  const visitor = built.browser();
  await signInBy(upstream, visitor, verified('nils'));
  await signInBy(upstream, visitor, verified('nils'), SET_UP);
  const { codes } = await setUpApp(visitor);
  const other = built.browser();
  const asked = await signInBy(upstream, other, verified('nils'));
  const done = await enterRecoveryCode(other, asked, codes[0] ?? '');
  t.equal(heading(done), 'Profile');
  t.ok(isSignIn(await other.get(REMOVE)), 'an open browser at the provider and a code');
  const again = await signInBy(upstream, other, verified('nils'), REMOVE);
  const fresh = await enterRecoveryCode(other, again, codes[1] ?? '');
  t.equal(heading(fresh), 'Remove the authenticator app?', 'the provider was asked, and the code');
  // A browser that is remembered, and a stronger sign-in that an application asks for.
  const third = built.browser();
  const first = await signInBy(upstream, third, verified('nils'));
  const remember = { recovery_code: codes[2] ?? '', remember_browser: 'yes' };
  await third.submit(first, remember, 'name="recovery_code"');
  await third.submit(await third.get('/account'), {}, 'sign-out');
  t.equal(heading(await signInBy(upstream, third, verified('nils'))), 'Profile', 'without a code');
  const stronger = await third.get(authorizeUrl({ acr_values: 'urn:gatehouse:acr:multi-factor' }));
  t.match((await enterRecoveryCode(third, stronger, codes[3] ?? '')).url.pathname, '/consent/');
  t.ok(isSignIn(await third.get(REMOVE)), 'a code later');
});

t.test('what the provider says of a second factor counts if the setting says so', async (t) => {
  const settings = { second_factor: { amr: ['mfa'], acr: ['two'] } };
  const trusting = await build(t, { config: { identityProviders: upstream.settings(settings) } });
  upstream.start(trusting.base);
  const visitor = trusting.browser();
  await signInBy(upstream, visitor, verified('emil'));
  await signInBy(upstream, visitor, verified('emil'), SET_UP);
  await setUpApp(visitor);
  for (const [said, title] of [
    [{ amr: ['mfa'] }, 'Profile'],
    [{ acr: 'two' }, 'Profile'],
    [{ amr: ['pwd'], acr: 'one' }, 'Enter a code'],
  ] as const) {
    const page = await signInBy(upstream, trusting.browser(), verified('emil', said as Partial<Person>));
    t.equal(heading(page), title, JSON.stringify(said));
  }
  upstream.start(built.base);
});

t.test('whoever is asked to sign in again does so at the provider, too', async (t) => {
  const visitor = built.browser();
  await signInBy(upstream, visitor, verified('kim'));
  const again = await visitor.get(authorizeUrl({ prompt: 'login' }));
  const url = await leave(visitor, again);
  const { prompt, max_age } = Object.fromEntries(new URL(url).searchParams);
  t.strictSame([prompt, max_age], ['login', '0']);
  const page = await visitor.get((await respond(upstream, url)).href);
  t.match(page.url.pathname, '/consent/');
  for (const [prompt, sent] of [
    ['select_account', ['login', null]],
    ['login select_account', ['login', '0']],
  ] as const) {
    const { href } = new URL(linkOf(await visitor.get(authorizeUrl({ prompt })), 'Use another'), built.base);
    const { searchParams } = new URL(await leave(visitor, await visitor.get(href)));
    t.strictSame([searchParams.get('prompt'), searchParams.get('max_age')], sent, prompt);
  }
  // A response in which nothing says when they signed in.
  const other = await visitor.get(authorizeUrl({ max_age: '60', prompt: 'login' }));
  const stripped = new URL(await leave(visitor, other));
  for (const name of ['prompt', 'max_age']) stripped.searchParams.delete(name);
  const refused = await visitor.get((await respond(upstream, stripped.href)).href);
  t.match([refused.status, alertOf(refused)], [401, /cannot confirm that it is you/]);
  const silent = await build(t, {
    config: { identityProviders: upstream.settings({ reauthentication: false }) },
  });
  upstream.start(silent.base);
  const browser = silent.browser();
  await signInBy(upstream, browser, verified('kim'));
  const asked = await browser.submit(
    await browser.get(authorizeUrl({ prompt: 'login' })),
    {},
    'methods/acme"',
  );
  t.match(alertOf(asked), /cannot confirm that it is you/);
  upstream.start(built.base);
});

t.test(
  'an account that is deactivated is not signed in to, and the links of a deleted one are erased',
  async (t) => {
    const page = await signInBy(upstream, built.browser(), verified('lou'));
    t.equal(heading(page), 'Profile');
    const link = await (await links()).findOne({ subject: 'lou' });
    const id = String(link?.user_id);
    const token = await built.login('admin');
    await built.call('PUT', `/v1/users/${id}/status`, token, { status: 'inactive' });
    t.match(alertOf(await signInBy(upstream, built.browser(), verified('lou'))), /deactivated/);
    await built.call('POST', '/internal/identity/erasures', await built.serviceToken('users'), {
      user_id: id,
    });
    await until(async () => (await (await links()).countDocuments({ user_id: id })) === 0, 10_000);
    t.equal(noticeOf(page), undefined);
  },
);

import { createFormBrowser, type Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { authorizeUrl, build } from '../../build.ts';
import { alertOf, heading, mailsOf, signedIn } from '../../pages.ts';
import { codeOf, enterCode, enterPassword, withApp } from '../authenticator-app/app.ts';
import { createAuthenticator, optionsOf } from './authenticator.ts';

const built = await build(t, { host: 'localhost' });
const OFFER = 'Signing you in';
/** Nobody is asked, so nobody is present or verified. */
const SILENT = { isUserPresent: false, isUserVerified: false };

/** A browser whose script has said that it creates passkeys by itself. */
const capable = () => createFormBrowser(built.base, { cookie: 'gatehouse_creates_passkeys=yes' });
const silentPasskey = (page: Page) => createAuthenticator(built.base).create(page, SILENT);
const count = async (id: string) =>
  (await built.database()).collection('passkeys').countDocuments({ user_id: id });

t.test(
  'a browser creates a passkey after a sign-in with a password, and its owner gets a mail',
  async (t) => {
    const visitor = capable();
    const page = await enterPassword(visitor, 'ann', authorizeUrl());
    t.equal(heading(page), OFFER);
    t.match(optionsOf(page), { authenticatorSelection: { userVerification: 'preferred' } } as object);
    const authenticator = createAuthenticator(built.base, { isSynced: true });
    const next = await visitor.submit(page, { passkey: authenticator.create(page, SILENT) });
    t.match(heading(next), /Allow/, 'and goes on');
    t.equal(await count(built.people.ann.id), 1);
    await until(
      async () => (await mailsOf(built)).some((mail) => mail.includes('A passkey was added')),
      5000,
    );
    for (const [deviation, end] of [
      [SILENT, 'Sign in'],
      [{}, 'Profile'],
    ] as const) {
      const other = built.browser();
      const signIn = await other.get('/account');
      const passkey = authenticator.get(signIn, deviation);
      t.equal(
        heading(await other.submit(signIn, { passkey }, 'name="passkey"')),
        end,
        'it verifies its user',
      );
    }
  },
);

t.test('a browser that creates none, or none that is right, goes on', async (t) => {
  const id = await built.createPerson('without');
  for (const spoiled of [
    () => '',
    () => '{}',
    (page: Page) => createAuthenticator('https://evil.example').create(page, SILENT),
  ]) {
    const visitor = capable();
    const page = await enterPassword(visitor, 'without');
    t.equal(heading(await visitor.submit(page, { passkey: spoiled(page) })), 'Profile');
  }
  t.equal(heading(await enterPassword(built.browser(), 'without')), 'Profile', 'no page where it cannot');
  t.equal(await count(id), 0);
});

t.test('the page for a passkey that is asked for takes none without a person', async (t) => {
  await built.createPerson('asked');
  const visitor = await signedIn(built, 'asked');
  const add = await visitor.get('/account/passkeys/add');
  const sent = { name: 'Phone', passkey: silentPasskey(add) };
  t.match(alertOf(await visitor.submit(add, sent, 'name="passkey"')), /could not be verified/);
});

t.test('it takes the second factor, if there is one', async (t) => {
  const { id, secret } = await withApp(built, 'two-factors');
  const visitor = capable();
  const code = await enterPassword(visitor, 'two-factors');
  const path = `/sign-in/${code.url.pathname.split('/')[2]}/after/passkey`;
  t.equal((await visitor.get(path)).status, 400, 'not before it');
  const page = await enterCode(visitor, code, codeOf(secret), { remember: 'yes' });
  t.equal(heading(page), OFFER);
  t.equal(heading(await visitor.submit(page, { passkey: silentPasskey(page) })), 'Profile');
  t.equal(await count(id), 1);
});

t.test('it is for the browser and the sign-in, while that is fresh', async (t) => {
  const id = await built.createPerson('late');
  const visitor = capable();
  const page = await enterPassword(visitor, 'late');
  t.equal((await capable().get(page.url.pathname)).status, 400);

  const interactions = (await built.database()).collection('oidc_interactions');
  const interaction = await interactions.findOne({ payload: /"login":/ }, { sort: { expires_at: -1 } });
  const payload = JSON.parse(String(interaction?.payload));
  payload.result.login.ts -= 301;
  await interactions.updateOne(
    { _id: interaction?._id as never },
    { $set: { payload: JSON.stringify(payload) } },
  );
  t.equal(heading(await visitor.submit(page, { passkey: silentPasskey(page) })), 'Profile');
  t.equal(await count(id), 0, 'too late');

  const other = capable();
  const ended = await enterPassword(other, 'late');
  const admin = await built.login('admin');
  await built.call('DELETE', `/api/v1/sessions?user_id=${id}`, admin);
  t.equal((await other.submit(ended, { passkey: silentPasskey(ended) })).status, 400);
  t.equal(await count(id), 0, 'ended');
});

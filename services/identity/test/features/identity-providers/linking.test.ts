import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { authorizeUrl, build, PASSWORD } from '../../build.ts';
import {
  alertOf,
  createAccount,
  heading,
  linkOf,
  linkTo,
  mailsOf,
  noticeOf,
  signedIn,
  usersSwitch,
  valueIn,
} from '../../pages.ts';
import { leave, respond, signInBy, startUpstream, verified } from './upstream.ts';

const upstream = await startUpstream(t);
const built = await build(t, { config: { identityProviders: upstream.settings() } });
upstream.start(built.base);

const links = async () => (await built.database()).collection('linked_identities');
const mailTo = async (subject: RegExp) => (await mailsOf(built)).filter((mail) => subject.test(mail)).length;

/** Somebody with a password and a verified address. */
async function withAccount(username: string) {
  const visitor = built.browser();
  const email = `${username}@elsewhere.example`;
  await createAccount(visitor, '/account', { username, email });
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  return { visitor, email };
}

t.test('an account with the verified address is linked once its owner has signed in to it', async (t) => {
  await withAccount('ada');
  const visitor = built.browser();
  const asked = await signInBy(upstream, visitor, verified('ada'));
  t.match([asked.status, heading(asked)], [200, 'Sign in']);
  t.match(asked.html, /role="status">.*Sign in to connect Acme/s);
  t.equal(await (await links()).countDocuments({ subject: 'ada' }), 0, 'not by the address alone');
  const wrong = await visitor.submit(asked, { username: 'ada', password: 'wrong' });
  t.match(wrong.html, /Sign in to connect Acme/, 'as long as it is asked');
  const page = await visitor.submit(wrong, { username: 'ada', password: PASSWORD });
  t.equal(valueIn(page, 'username'), 'ada');
  await until(async () => (await mailTo(/Acme was connected to your account/)) === 1, 3000);
  t.equal(valueIn(await signInBy(upstream, built.browser(), verified('ada')), 'username'), 'ada');
});

t.test(
  'nobody else links the identity: not another account, another browser or another sign-in',
  async (t) => {
    await withAccount('blaise');
    const visitor = built.browser();
    const asked = await signInBy(upstream, visitor, verified('blaise'));
    await visitor.submit(asked, { username: 'ann', password: PASSWORD });
    t.equal(await (await links()).countDocuments({ subject: 'blaise' }), 0, 'another account');
    const second = built.browser();
    await signInBy(upstream, second, verified('blaise'));
    const page = await second.get(authorizeUrl());
    t.notMatch(page.html, /connect Acme/);
    await second.submit(page, { username: 'blaise', password: PASSWORD });
    t.equal(await (await links()).countDocuments({ subject: 'blaise' }), 0, 'another sign-in');
  },
);

t.test('who signs in and cannot be connected any more is told so, and goes on', async (t) => {
  await withAccount('cleo');
  const visitor = built.browser();
  const asked = await signInBy(upstream, visitor, verified('cleo'));
  const other = await signedIn(built, 'ann');
  upstream.state.person = verified('cleo');
  const url = await leave(other, await other.get('/account/connected-accounts'), '/connect"');
  t.match(noticeOf(await other.get((await respond(upstream, url)).href)), 'connected');
  const told = await visitor.submit(asked, { username: 'cleo', password: PASSWORD });
  t.equal(heading(told), 'Acme was not connected', told.html);
  const next = await visitor.get(linkOf(told, 'Continue'));
  t.match([heading(next), valueIn(next, 'username')], ['Profile', 'cleo']);
});

t.test('a sign-in that ends before it is complete connects nothing', async (t) => {
  const users = await usersSwitch(t);
  const slow = await build(t, { config: { identityProviders: upstream.settings(), usersUrl: users.url } });
  users.state.target = slow.base;
  upstream.start(slow.base);
  const email = 'drew@elsewhere.example';
  const owner = slow.browser();
  await createAccount(owner, '/account', { username: 'drew', email });
  await owner.submit(await owner.get(await linkTo(slow, email)), {});
  const thief = slow.browser();
  const asked = await signInBy(upstream, thief, verified('drew'));
  t.match(asked.html, /connect Acme/);
  const token = await slow.login('drew');
  const page = await users.whileHeld(
    '/password-checks',
    () => thief.submit(asked, { username: 'drew', password: PASSWORD }),
    () => slow.call('DELETE', '/api/v1/sessions', token),
  );
  t.not(heading(page), 'Profile');
  const linked = (await slow.database()).collection('linked_identities');
  t.equal(await linked.countDocuments({ subject: 'drew' }), 0);
  upstream.start(built.base);
});

t.test('an address that the provider has not verified finds nobody', async (t) => {
  const { email } = await withAccount('carl');
  for (const email_verified of [false, 'false', undefined]) {
    const sub = `mallory-${email_verified}`;
    const page = await signInBy(upstream, built.browser(), {
      ...{ sub, email },
      ...(email_verified === undefined ? {} : { email_verified }),
    });
    t.notMatch(page.html, /connect Acme/);
    t.match([heading(page), valueIn(page, 'username')], ['Profile', /^carl-/], 'an account of their own');
    t.match(page.html, /not confirmed|Confirm/i);
  }
  await until(async () => (await mailTo(/Somebody tried to create an account with your address/)) >= 1, 3000);
  const nameless = await signInBy(upstream, built.browser(), { sub: 'nameless' });
  t.match(alertOf(nameless), /did not send an email address/);
});

import t from 'tap';
import { type Built, build, PASSWORD } from '../../build.ts';
import { alertOf, createAccount, heading, linkOf, linkTo, valueIn } from '../../pages.ts';
import { respond, signInBy, startUpstream, verified } from './upstream.ts';

const upstream = await startUpstream(t);
async function withDomain(settings: object = {}) {
  const identityProviders = upstream.settings({ domains: ['acme.example', 'Bücher.example'], ...settings });
  const built = await build(t, { config: { identityProviders } });
  upstream.start(built.base);
  return built;
}
const built = await withDomain({ passwords: false });

/** Enters this on the sign-in page. */
async function enter(at: Built, username: string, password = '') {
  const visitor = at.browser();
  const page = await visitor.submit(await visitor.get('/account'), { username, password });
  return { visitor, page };
}
const emailOf = (username: string) => `${username}@acme.example`;
/** Somebody with a password and a confirmed address of the domain. */
async function member(at: Built, username: string) {
  const visitor = at.browser();
  await createAccount(visitor, '/account', { username, email: emailOf(username) });
  await visitor.submit(await visitor.get(await linkTo(at, emailOf(username))), {});
}

t.test('an address leads to the provider of its domain, whether there is an account or not', async (t) => {
  await member(built, 'yan');
  const seen: string[] = [];
  for (const username of ['yan@acme.example', 'Zoe@ACME.example']) {
    for (const password of ['', PASSWORD]) {
      const { page } = await enter(built, username, password);
      const url = new URL(linkOf(page, 'Continue to Acme'));
      t.equal(url.searchParams.get('login_hint'), username);
      seen.push(`${page.status} ${page.html.replaceAll(/href="[^"]*"/g, '')}`);
    }
  }
  t.equal(new Set(seen).size, 1, 'alike');
  const { page } = await enter(built, 'yan@sub.acme.example', PASSWORD);
  t.match(alertOf(page), /do not match/, 'no other domain');
  const written = await enter(built, 'yan@xn--bcher-kva.example', PASSWORD);
  t.ok(linkOf(written.page, 'Continue to Acme'), 'in any script');
  t.match(page.html, /Leave it empty if your organization signs you in/);
});

t.test('the way there signs in', async (t) => {
  const { visitor, page } = await enter(built, emailOf('walt'));
  upstream.state.person = verified('walt', { email: emailOf('walt') });
  const welcome = await visitor.get((await respond(upstream, linkOf(page, 'Continue to'))).href);
  t.equal(valueIn(welcome, 'email'), emailOf('walt'), welcome.html);
});

t.test('a password of the domain signs nobody in, but once to connect the provider', async (t) => {
  await member(built, 'vic');
  t.match(heading((await enter(built, 'vic', PASSWORD)).page), 'Continue to Acme', 'by the username either');
  t.match(alertOf((await enter(built, 'vic', 'wrong')).page), /do not match/);
  t.strictSame((await built.logIn('vic')).status, 403);
  t.strictSame((await built.logIn('vic', 'wrong')).status, 401);
  const visitor = built.browser();
  const asked = await signInBy(upstream, visitor, verified('vic', { email: emailOf('vic') }));
  t.match(asked.html, /Sign in to connect Acme/);
  await member(built, 'wes');
  const other = await visitor.submit(asked, { username: 'wes', password: PASSWORD });
  t.equal(heading(other), 'Continue to Acme', 'not of another account');
  const connected = await visitor.submit(asked, { username: emailOf('vic'), password: PASSWORD });
  t.equal(valueIn(connected, 'username'), 'vic', connected.html);
  t.match(heading((await enter(built, 'vic', PASSWORD)).page), 'Continue to Acme');
});

t.test('an address of the domain that nobody has confirmed binds nobody', async (t) => {
  await createAccount(built.browser(), '/account', { username: 'mal', email: emailOf('mal') });
  t.equal(heading((await enter(built, 'mal', PASSWORD)).page), 'Profile');
});

t.test('passwords go on unless the setting says otherwise', async (t) => {
  const beside = await withDomain();
  await member(beside, 'una');
  for (const username of ['una', emailOf('una')]) {
    t.equal(heading((await enter(beside, username, PASSWORD)).page), 'Profile', username);
  }
  t.equal(heading((await enter(beside, emailOf('una'))).page), 'Continue to Acme');
  t.equal((await beside.logIn('una')).status, 200);
});

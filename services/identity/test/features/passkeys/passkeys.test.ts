import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, codeFor, NATIVE, PASSWORD, signInAndAllow, WEB } from '../../build.ts';
import { connectCommandLine } from '../../command-line.ts';
import {
  alertOf,
  createAccount,
  heading,
  isSignIn,
  linkOf,
  linkTo,
  mailsOf,
  noticeOf,
  signedIn,
} from '../../pages.ts';
import { refresh, tokensFor } from '../../tokens.ts';
import { createAuthenticator, type Deviation, optionsOf } from './authenticator.ts';

const built = await build(t, { host: 'localhost' });
const { base } = built;
type Visitor = ReturnType<typeof built.browser>;
type Authenticator = ReturnType<typeof createAuthenticator>;

/** In a frame of another site, which our pages never are. */
const FRAMED: Record<string, Deviation> = {
  'in a frame of another site': { crossOrigin: true, topOrigin: 'https://evil.example' },
  'in a frame of a site that is not named': { crossOrigin: true },
  'in a frame of another site, which is said to be ours': { topOrigin: 'https://evil.example' },
};

/** Adds a passkey on the page for it. */
async function add(visitor: Visitor, authenticator: Authenticator, deviation: Deviation = {}) {
  const page = await visitor.get('/account/passkeys/add');
  const passkey = authenticator.create(page, deviation);
  return visitor.submit(page, { name: 'My phone', passkey }, 'name="passkey"');
}

/** Signs in with a passkey in a browser that nobody has signed in to. */
async function signInWith(
  authenticator: Authenticator,
  deviation: Deviation = {},
  visitor = built.browser(),
) {
  const page = await visitor.get('/account/passkeys');
  return visitor.submit(page, { passkey: authenticator.get(page, deviation) }, 'name="passkey"');
}

/** Somebody with a passkey that has been used once. */
async function withPasskey(username: string, options: Parameters<typeof createAuthenticator>[1] = {}) {
  const id = await built.createPerson(username);
  const authenticator = createAuthenticator(base, options);
  const visitor = await signedIn(built, username);
  await add(visitor, authenticator);
  const page = await signInWith(authenticator);
  if (heading(page) !== 'Passkeys') throw new Error(`the passkey does not work: ${page.html}`);
  return { id, authenticator, visitor };
}

t.test('a passkey signs its owner in, and the ID token says how', async (t) => {
  for (const isSynced of [true, false]) {
    const { id, authenticator } = await withPasskey(isSynced ? 'synced' : 'single', { isSynced });
    const visitor = built.browser();
    await signInWith(authenticator, {}, visitor);
    const code = await codeFor(visitor);
    const { body } = await built.form({
      ...{ grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri },
      ...{ client_id: WEB.client_id, client_secret: WEB.client_secret },
    });
    const { sub, acr, amr } = decodeJwt(String(body.id_token));
    t.strictSame([sub, acr, amr], [id, 'phr', [isSynced ? 'swk' : 'hwk', 'user', 'mfa']]);
  }
});

t.test('what is not a fresh signature of the passkey for this page signs nobody in', async (t) => {
  const { authenticator } = await withPasskey('careful');
  const stale = optionsOf(await built.browser().get('/account'));
  const deviations: Record<string, Deviation> = {
    'another origin': { origin: 'https://gatehouse.example' },
    'a subdomain': { origin: base.replace('localhost', 'a.localhost') },
    ...FRAMED,
    'another site': { rpId: 'gatehouse.example' },
    'nobody there': { isUserPresent: false },
    'nobody verified': { isUserVerified: false },
    'a new passkey in place of a use': { type: 'webauthn.create' },
    'a copy that is behind': { counter: 1 },
    'a counter that is set back': { counter: 0 },
    'another user': { userHandle: Buffer.from('usr_someone').toString('base64url') },
    'no user': { userHandle: '' },
    'a forged signature': { isForged: true },
    'the challenge of another browser': { challenge: stale.challenge },
    'a challenge of its own': { challenge: 'AAAA' },
  };
  for (const [name, deviation] of Object.entries(deviations)) {
    const page = await signInWith(authenticator, deviation);
    t.equal(page.status, 401, name);
    t.match(alertOf(page), /This passkey did not work/, name);
  }
  const stranger = createAuthenticator(base);
  t.equal((await signInWith(stranger)).status, 401, 'an unknown passkey');
  t.equal(heading(await signInWith(authenticator)), 'Passkeys', 'it still works');
});

t.test('a response works once, and for the sign-in that it was made for', async (t) => {
  const { authenticator } = await withPasskey('once');
  const visitor = built.browser();
  const first = await visitor.get('/account/passkeys');
  const second = await visitor.get(authorizeUrl());
  const passkey = authenticator.get(first);
  t.equal((await visitor.submit(second, { passkey }, 'name="passkey"')).status, 401, 'in another sign-in');
  const later = authenticator.get(first);
  t.equal(heading(await visitor.submit(first, { passkey: later }, 'name="passkey"')), 'Passkeys');
  const other = built.browser();
  const page = await other.get('/account/passkeys');
  for (const text of [later, '', '{}', 'null', '[1]', 'x', JSON.stringify({ id: { $gt: '' } })]) {
    t.equal((await other.submit(page, { passkey: text }, 'name="passkey"')).status, 401, text.slice(0, 20));
  }
});

t.test('of two uses at once with the same count, one signs in', async (t) => {
  const { authenticator } = await withPasskey('twice');
  const results = await Promise.all(
    Array.from({ length: 4 }, () => signInWith(authenticator, { counter: 9 })),
  );
  t.equal(results.filter((page) => heading(page) === 'Passkeys').length, 1);
});

t.test('a passkey that does not count works again and again', async (t) => {
  const { authenticator } = await withPasskey('countless', { isSynced: true, counts: false });
  for (let i = 0; i < 3; i += 1) t.equal(heading(await signInWith(authenticator)), 'Passkeys');
});

t.test('only what the browser made for this page is added', async (t) => {
  await built.createPerson('adder');
  const visitor = await signedIn(built, 'adder');
  const deviations: Record<string, Deviation> = {
    'another origin': { origin: 'https://gatehouse.example' },
    ...FRAMED,
    'another site': { rpId: 'gatehouse.example' },
    'nobody verified': { isUserVerified: false },
    'a use in place of a new passkey': { type: 'webauthn.get' },
    'a challenge of its own': { challenge: 'AAAA' },
  };
  for (const [name, deviation] of Object.entries(deviations)) {
    const page = await add(visitor, createAuthenticator(base), deviation);
    t.match([page.status, alertOf(page)], [400, /could not be verified/], name);
  }
  const authenticator = createAuthenticator(base);
  const page = await visitor.get('/account/passkeys/add');
  const passkey = authenticator.create(page);
  const named = (name: string) => visitor.submit(page, { name, passkey }, 'name="passkey"');
  t.match(alertOf(await named(' ')), /Enter a name/);
  t.match(alertOf(await named('x'.repeat(61))), /at most 60 characters/);
  t.match(alertOf(await named('my \u202eenohp')), /must not contain invisible characters/);
  t.equal(noticeOf(await named('<b>')), 'The passkey is added. You can sign in with it from now on.');
  t.match(alertOf(await named('again')), /could not be verified/, 'a response works once');
  const known = optionsOf(await visitor.get('/account/passkeys/add')).excludeCredentials ?? [];
  t.strictSame(
    known.map(({ id }) => id),
    [authenticator.id],
  );
  t.match(alertOf(await add(visitor, authenticator)), /already been added/);
  const other = await signedIn(built, 'ann');
  t.match(alertOf(await add(other, authenticator)), /already been added/, 'to another account');
});

t.test('an account has twenty passkeys at most, however fast they come', async (t) => {
  await built.createPerson('collector');
  const visitor = await signedIn(built, 'collector');
  const pages = await Promise.all(Array.from({ length: 24 }, () => add(visitor, createAuthenticator(base))));
  t.equal(pages.filter((page) => noticeOf(page) !== undefined).length, 20);
  const page = await visitor.get('/account/passkeys');
  t.match(page.html, 'You have as many passkeys as an account can have');
});

/** Makes the latest sign-in older than five minutes. */
async function age(): Promise<void> {
  const sessions = (await built.database()).collection('oidc_sessions');
  const [session] = await sessions.find({}).sort({ expires_at: -1 }).limit(1).toArray();
  const payload = JSON.parse(String(session?.payload));
  payload.loginTs = Math.floor(Date.now() / 1000) - 301;
  await sessions.updateOne({ _id: session?._id as never }, { $set: { payload: JSON.stringify(payload) } });
}

t.test('a passkey is added by somebody who has just signed in, and nobody else', async (t) => {
  await built.createPerson('idle');
  const visitor = await signedIn(built, 'idle');
  const page = await visitor.get('/account/passkeys/add');
  await age();
  const passkey = createAuthenticator(base).create(page);
  const refused = await visitor.submit(page, { name: 'x', passkey }, 'name="passkey"');
  t.ok(isSignIn(refused), 'the form came too late');
  const again = await visitor.get('/account/passkeys/add');
  t.match([isSignIn(again), heading(again)], [true, 'Confirm that it is you']);
  const added = await visitor.submit(again, { username: 'idle', password: PASSWORD });
  t.equal(added.url.pathname, '/account/passkeys/add', 'and then it is there');
});

t.test('a passkey is renamed and removed by its owner, who is told', async (t) => {
  const { id, visitor, authenticator } = await withPasskey('owner');
  const mallory = await signedIn(built, 'ann');
  const page = await visitor.get('/account/passkeys');
  t.match(alertOf(await visitor.submit(page, { name: '' }, '/rename"')), /Enter a name/);
  t.equal(noticeOf(await visitor.submit(page, { name: 'Tablet' }, '/rename"')), 'The new name is saved.');
  const remove = linkOf(await visitor.get('/account/passkeys'), 'Remove');
  t.equal((await mallory.get(remove)).status, 404);
  const removed = await visitor.confirm(await visitor.get('/account/passkeys'), remove);
  t.equal(noticeOf(removed), 'The passkey is removed.');
  t.equal((await signInWith(authenticator)).status, 401);
  const token = await built.login('admin');
  const { body } = await built.call('GET', `/api/v1/audit?filter[subject]=${id}`, token);
  const actions = (body.data as { action: string }[]).map(({ action }) => action);
  for (const action of ['passkey.added', 'passkey.removed']) t.ok(actions.includes(action), action);
});

t.test('a passkey is removed by somebody who has just signed in, and nobody else', async (t) => {
  await built.createPerson('remover');
  const authenticator = createAuthenticator(base);
  const visitor = await signedIn(built, 'remover');
  const remove = linkOf(await add(visitor, authenticator), 'Remove');
  const question = await visitor.get(remove);
  await age();
  t.ok(isSignIn(await visitor.submit(question, {}, 'confirmation')), 'the form came too late');
  const asked = await visitor.get(remove);
  t.match([isSignIn(asked), heading(asked)], [true, 'Confirm that it is you']);
  t.equal(heading(await signInWith(authenticator)), 'Passkeys', 'it is still there');
});

t.test('the sessions that a removed passkey began end, except the one in which it is removed', async (t) => {
  for (const by of ['password', 'passkey', 'admin']) {
    const { id, visitor, authenticator } = await withPasskey(`loser-${by}`);
    const [finder, own] = [built.browser(), built.browser()];
    for (const it of [finder, own]) await signInWith(authenticator, {}, it);
    const { refresh_token } = await tokensFor(built, { browser: finder });
    const left = built.browser();
    await signInWith(authenticator, {}, left);
    const more = { scope: 'openid offline_access' };
    const native = await tokensFor(built, { browser: left, client: NATIVE, more });
    const commandLine = await connectCommandLine(built, left);
    await left.submit(await left.get('/account'), {}, '/account/sign-out');
    const kept = await refresh(built, native.refresh_token, NATIVE);
    t.equal(kept.status, 200, `${by}: a sign-out leaves it`);
    t.equal(await commandLine.call(), 200);
    const remove = linkOf(await visitor.get('/account/passkeys'), 'Remove');
    if (by === 'admin') {
      const path = `/api/v1/factors/${remove.split('/').at(-2)}?user_id=${id}`;
      t.equal((await built.call('DELETE', path, await built.login('admin'))).status, 204);
    } else {
      const remover = by === 'passkey' ? own : visitor;
      t.match(noticeOf(await remover.confirm(await remover.get('/account/passkeys'), remove)), 'removed');
    }
    t.ok(isSignIn(await finder.get('/account')), by);
    t.equal((await refresh(built, refresh_token)).status, 400, `${by}: the tokens`);
    t.equal(await commandLine.call(), 401, `${by}: the command line`);
    const successor = String(kept.body.refresh_token);
    t.equal((await refresh(built, successor, NATIVE)).status, 400, `${by}: what a sign-out left`);
    t.equal(isSignIn(await own.get('/account')), by !== 'passkey', by);
    t.ok(isSignIn(await own.get('/account/passkeys/add')), 'one that remains is not fresh');
    t.notOk(isSignIn(await visitor.get('/account/passkeys/add')), 'one by password goes on');
  }
});

t.test('whoever signs in to remove a passkey is back on the list of them', async (t) => {
  const { authenticator } = await withPasskey('returner');
  const visitor = built.browser();
  const page = await visitor.get('/account/passkeys/pky_1/remove');
  t.equal(heading(page), 'Sign in');
  const list = await visitor.submit(page, { passkey: authenticator.get(page) }, 'name="passkey"');
  t.equal(heading(list), 'Passkeys');
});

t.test('whoever restores an earlier address removes the passkeys of the thief', async (t) => {
  const visitor = built.browser();
  const email = 'victim@example.org';
  await createAccount(visitor, '/account', { username: 'victim', email });
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const authenticator = createAuthenticator(base);
  await add(visitor, authenticator);
  await until(async () => (await mailsOf(built)).some((mail) => /A passkey was added/.test(mail)), 2000);
  const change = { email: 'thief@example.org', current_password: PASSWORD };
  await visitor.submit(await visitor.get('/account'), change, 'name="username"');
  const owner = built.browser();
  const undone = await owner.submit(await owner.get(await linkTo(built, email)), {});
  t.equal(heading(undone), 'Check your mail');
  t.equal((await signInWith(authenticator)).status, 401);
});

t.test('an inactive account is not signed in to, and a deleted one has no passkeys', async (t) => {
  const { id, authenticator } = await withPasskey('leaver');
  const token = await built.login('admin');
  t.equal((await built.call('PUT', `/v1/users/${id}/status`, token, { status: 'inactive' })).status, 204);
  t.equal((await signInWith(authenticator)).status, 401);
  const passkeys = (await built.database()).collection('passkeys');
  t.equal(await passkeys.countDocuments({ user_id: id }), 1);
  const users = await built.serviceToken('users');
  await built.call('POST', '/internal/identity/erasures', users, { user_id: id });
  await until(async () => (await passkeys.countDocuments({ user_id: id })) === 0, 10_000);
});

t.test('a passkey that is added while an earlier address is restored does not stay', async (t) => {
  const visitor = built.browser();
  const email = 'raced@example.org';
  await createAccount(visitor, '/account', { username: 'raced', email });
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const change = { email: 'other@example.org', current_password: PASSWORD };
  await visitor.submit(await visitor.get('/account'), change, 'name="username"');
  const owner = built.browser();
  const undo = await owner.get(await linkTo(built, email));
  const forms = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const page = await visitor.get('/account/passkeys/add');
      const authenticator = createAuthenticator(base);
      return { page, authenticator, passkey: authenticator.create(page) };
    }),
  );
  const pauses = forms.map((_, i) => new Promise((resolve) => setTimeout(resolve, i * 3)));
  const adding = forms.map(async ({ page, passkey }, i) => {
    await pauses[i];
    return visitor.submit(page, { name: 'x', passkey }, 'name="passkey"');
  });
  await Promise.all([...adding, owner.submit(undo, {})]);
  const passkeys = (await built.database()).collection('passkeys');
  const known = forms.map(({ authenticator }) => authenticator.id);
  t.equal(await passkeys.countDocuments({ credential_id: { $in: known } }), 0);
});

t.test('the pages allow scripts of ours only where there is one', async (t) => {
  const visitor = await signedIn(built, 'ann');
  const policy = async (path: string, by = visitor) =>
    (await by.get(path)).headers.get('content-security-policy');
  t.match(await policy('/account', built.browser()), "script-src 'self';");
  t.match(await policy('/account/passkeys/add'), "script-src 'self';");
  t.notMatch(await policy('/account/passkeys'), 'script-src');
  const page = await built.browser().get('/account');
  const script = /<script defer src="([^"]+)">/.exec(page.html)?.[1] ?? '';
  const { headers } = await fetch(new URL(script, base));
  t.match(headers.get('content-type'), 'text/javascript');
  t.match(headers.get('cache-control'), 'immutable');
  await signInAndAllow(built.browser(), '/account');
});

t.test('where the address of the deployment is an IP address, there are none', async (t) => {
  const { browser } = await build(t);
  const page = await browser().get('/account');
  t.notMatch(page.html, /passkey/);
});

t.test('passkeys that do not work are limited by address', async (t) => {
  const limited = await build(t, { host: 'localhost' });
  const visitor = limited.browser();
  let page = await visitor.get('/account');
  let failures = 0;
  for (; page.status !== 429 && failures < 70; failures += 1)
    page = await visitor.submit(page, { passkey: 'x' }, 'name="passkey"');
  t.match([failures, alertOf(page)], [61, /Too many attempts/]);
});

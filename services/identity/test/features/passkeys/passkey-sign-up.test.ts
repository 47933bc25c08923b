import { decodeJwt } from 'jose';
import t from 'tap';
import { build, codeFor, WEB } from '../../build.ts';
import { alertOf, heading, isSignIn, linkOf, noticeOf, signedIn } from '../../pages.ts';
import { createAuthenticator, type Deviation, optionsOf } from './authenticator.ts';

const built = await build(t, { host: 'localhost' });
type Visitor = ReturnType<typeof built.browser>;

async function openSignUp(visitor: Visitor) {
  return visitor.get(linkOf(await visitor.get('/account'), 'Create an account'));
}

let count = 0;
const newPerson = () => {
  count += 1;
  return { username: `keyed${count}`, email: `keyed${count}@example.org`, name: '' };
};

/** Creates an account with a passkey. */
async function signUp(deviation: Deviation = {}, fields: Record<string, string> = {}) {
  const visitor = built.browser();
  const authenticator = createAuthenticator(built.base);
  const form = await openSignUp(visitor);
  const passkey = authenticator.create(form, deviation);
  const page = await visitor.submit(form, { ...newPerson(), passkey, ...fields }, 'name="passkey"');
  return { visitor, authenticator, form, passkey, page };
}

t.test('an account is created with a passkey and no password, and signed in to with it', async (t) => {
  const { visitor, authenticator, page, form } = await signUp();
  t.equal(heading(page), 'Profile');
  const other = built.browser();
  const signIn = await other.get('/account/passkeys');
  const again = await other.submit(signIn, { passkey: authenticator.get(signIn) }, 'name="passkey"');
  t.equal(heading(again), 'Passkeys');
  const code = await codeFor(other, { claims: JSON.stringify({ id_token: { amr: null } }) });
  const { body } = await built.form({
    ...{ grant_type: 'authorization_code', code, redirect_uri: WEB.redirect_uri },
    ...{ client_id: WEB.client_id, client_secret: WEB.client_secret },
  });
  const { sub, amr } = decodeJwt(String(body.id_token));
  t.strictSame(amr, ['hwk', 'user', 'mfa']);
  const handle = Buffer.from(optionsOf(form).user?.id ?? '', 'base64url').toString();
  t.equal(sub, handle, 'the passkey names the account');
  const id = /passkeys\/(pky_\w+)\/rename/.exec(again.html)?.[1];
  await built.call('DELETE', `/api/v1/factors/${id}?user_id=${sub}`, await built.login('admin'));
  t.ok(isSignIn(await visitor.get('/account')), 'the first session ends with the passkey');
});

t.test('a passkey that is not for this account, page and browser creates none', async (t) => {
  const stale = optionsOf(await openSignUp(built.browser()));
  const cases: [string, Deviation, Record<string, string>][] = [
    ['another origin', { origin: 'https://gatehouse.example' }, {}],
    ['another site', { rpId: 'gatehouse.example' }, {}],
    ['nobody verified', { isUserVerified: false }, {}],
    ['a use in place of a new one', { type: 'webauthn.get' }, {}],
    ['the challenge of another browser', { challenge: stale.challenge }, {}],
    ['another account', {}, { passkey_user: built.people.ann.id }],
    ['no account', {}, { passkey_user: '' }],
    ['no passkey', {}, { passkey: '{}' }],
  ];
  for (const [name, deviation, fields] of cases) {
    const { page, visitor } = await signUp(deviation, fields);
    t.equal(page.status, 400, name);
    t.equal(heading(page), 'Create an account', name);
    t.equal(heading(await visitor.get('/account')), 'Sign in', name);
  }
});

t.test('a passkey is used for one account', async (t) => {
  const { visitor, form, passkey } = await signUp();
  const again = await visitor.submit(form, { ...newPerson(), passkey }, 'name="passkey"');
  t.not(heading(again), 'Profile');
});

t.test('a passkey of an account that cannot be created is forgotten here and in the browser', async (t) => {
  const { page, authenticator } = await signUp({}, { username: 'ann' });
  t.equal(page.status, 409);
  t.match(alertOf(page), /username/);
  t.match(page.html, `data-unknown="${authenticator.id}"`);
  const passkeys = await (await built.database()).collection('passkeys').countDocuments({
    credential_id: authenticator.id,
  });
  t.equal(passkeys, 0);
});

t.test('an account without a password keeps its only passkey, and may set a password', async (t) => {
  const { visitor, page } = await signUp();
  const username = /name="username"[^>]* value="([^"]*)"/.exec(page.html)?.[1] ?? '';
  t.notMatch(page.html, 'name="current_password"');
  const list = await visitor.get('/account/passkeys');
  t.match(list.html, 'Nothing else signs you in');
  const [, id = ''] = /passkeys\/(pky_\w+)\/rename/.exec(list.html) ?? [];
  const remove = `/account/passkeys/${id}/remove`;
  const refused = await visitor.submit(await visitor.get(remove), {}, 'name="confirmation"');
  t.equal(refused.status, 409, 'by its address, too');
  const password = await visitor.get('/account/password');
  t.notMatch(password.html, 'name="current_password"');
  const set = await visitor.submit(password, { new_password: 'a long one for the tests' }, 'new_password');
  t.match(noticeOf(set), /new password is saved/);
  t.equal(
    heading(await (await signedIn(built, username, 'a long one for the tests')).get('/account')),
    'Profile',
  );
  t.equal((await visitor.get(remove)).status, 200);
});

t.test('a password is removed where a passkey is left, by somebody who has just signed in', async (t) => {
  const { visitor, authenticator, page } = await signUp();
  const username = /name="username"[^>]* value="([^"]*)"/.exec(page.html)?.[1] ?? '';
  await visitor.submit(
    await visitor.get('/account/password'),
    { new_password: 'a long one for the tests' },
    'new_password',
  );
  const elsewhere = await signedIn(built, username, 'a long one for the tests');
  const question = await visitor.get('/account/password/remove');
  t.equal(heading(question), 'Remove your password?');
  const removed = await visitor.submit(question, {}, 'name="confirmation"');
  t.match(noticeOf(removed), /password is removed/);
  t.equal(heading(await elsewhere.get('/account')), 'Sign in', 'other sessions end');
  const wrong = await built.browser().submit(await built.browser().get('/account'), {
    ...{ username, password: 'a long one for the tests' },
  });
  t.not(wrong.status, 200);
  const other = built.browser();
  const signIn = await other.get('/account/passkeys');
  t.equal(
    heading(await other.submit(signIn, { passkey: authenticator.get(signIn) }, 'name="passkey"')),
    'Passkeys',
  );
  const ann = await signedIn(built, 'ann');
  t.equal(
    (await ann.submit(await ann.get('/account/password/remove'), {}, 'name="confirmation"')).status,
    409,
    'the only way in stays',
  );
});

t.test('of two removals at once, one leaves the other way to sign in', async (t) => {
  const confirmation = 'name="confirmation"';
  for (let round = 0; round < 3; round++) {
    const { visitor } = await signUp();
    const password = { new_password: 'a long one for the tests' };
    await visitor.submit(await visitor.get('/account/password'), password, 'new_password');
    const list = await visitor.get('/account/passkeys');
    const questions = [
      await visitor.get(linkOf(list, 'Remove')),
      await visitor.get('/account/password/remove'),
    ];
    const removals = questions.map((question) => visitor.submit(question, {}, confirmation));
    const statuses = (await Promise.all(removals)).map(({ status }) => status);
    t.strictSame(statuses.sort(), [200, 409]);
  }
});

t.test('the password of an account that was made with one is checked as before', async (t) => {
  const visitor = built.browser();
  const form = await openSignUp(visitor);
  const person = newPerson();
  const short = await visitor.submit(form, { ...person, password: 'short' });
  t.equal(short.status, 400);
  t.notMatch(short.html, 'data-unknown');
  const none = await visitor.submit(form, { ...person, password: '' });
  t.equal(none.status, 400, 'an account without any way to sign in');
  t.equal(heading(await visitor.submit(form, { ...person, password: 'correct horse battery' })), 'Profile');
  t.equal(heading(await (await signedIn(built, person.username)).get('/account')), 'Profile');
});

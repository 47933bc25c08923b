import t from 'tap';
import { build } from '../../build.ts';
import { heading, isSignIn, linkOf, noticeOf, usersSwitch } from '../../pages.ts';
import { createAuthenticator } from './authenticator.ts';

const users = await usersSwitch(t);
const built = await build(t, { host: 'localhost', config: { usersUrl: users.url } });
users.state.target = built.base;
const PAGE = '/account/password';

/** Somebody without a password, signed in with a passkey in two browsers. */
async function withoutPassword(username: string) {
  const visitor = built.browser();
  const authenticator = createAuthenticator(built.base);
  const form = await visitor.get(linkOf(await visitor.get('/account'), 'Create an account'));
  const passkey = authenticator.create(form);
  const email = `${username}@example.org`;
  await visitor.submit(form, { username, email, passkey }, 'name="passkey"');
  const other = built.browser();
  const signIn = await other.get('/account');
  await other.submit(signIn, { passkey: authenticator.get(signIn) }, 'name="passkey"');
  return { visitor, other };
}

/** Sets a password; `meanwhile` happens between the request that asks whether there is one and that which sets it. */
async function setPassword(
  visitor: ReturnType<typeof built.browser>,
  password: string,
  meanwhile: () => Promise<unknown>,
) {
  const page = await visitor.get(PAGE);
  let set: Promise<unknown> | undefined;
  const response = await users.whileHeld(
    '/password',
    () => visitor.submit(page, { new_password: password }, 'new_password'),
    async () => {
      set = users.whileHeld('/password', async () => {}, meanwhile);
    },
  );
  await set;
  return response;
}

t.test('of two who set the first password at once, one does', async (t) => {
  const { visitor, other } = await withoutPassword('twice');
  const form = await other.get(PAGE);
  const second = await setPassword(visitor, 'the second password', async () => {
    const first = await other.submit(form, { new_password: 'the first password' }, 'new_password');
    t.match(noticeOf(first), /Your new password is saved/);
  });
  t.equal(second.status, 403);
  t.equal((await built.logIn('twice', 'the first password')).status, 200);
  t.equal((await built.logIn('twice', 'the second password')).status, 401);
});

t.test('a session that is ended meanwhile leaves no password', async (t) => {
  const admin = await built.login('admin');
  const { visitor } = await withoutPassword('ended');
  const id = String(
    (await (await built.database()).collection('passkeys').findOne({}, { sort: { _id: -1 } }))?.user_id,
  );
  const response = await setPassword(visitor, 'the first password', async () => {
    await built.call('DELETE', `/api/v1/sessions?user_id=${id}`, admin);
  });
  t.equal(response.status, 403);
  t.ok(isSignIn(await visitor.get('/account')));
  t.equal((await built.logIn('ended', 'the first password')).status, 401);
  t.not(heading(response), 'Password');
});

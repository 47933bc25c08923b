import t from 'tap';
import { build, codeFor, PASSWORD, signInAndAllow, WEB } from '../../../build.ts';
import { createAccount, heading, linkTo, send, valueIn } from '../../../pages.ts';

const built = await build(t);
const { browser, call, form, links, login, logIn } = built;

/** Somebody with a confirmed address, signed in. */
async function person(username: string) {
  const visitor = browser();
  const email = `${username}@example.org`;
  await createAccount(visitor, '/account', { username, email });
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const { body } = await logIn(username);
  return { visitor, email, path: `/v1/users/${body.user_id}` };
}

const shownAddress = async (visitor: ReturnType<typeof browser>) =>
  valueIn(await visitor.get('/account'), 'email');

t.test('a stolen account comes back by the link to its old address', async (t) => {
  const { visitor, email, path } = await person('tia');
  const code = await codeFor(visitor, {}, 'tia');
  const tokens = await form({ grant_type: 'authorization_code', code, ...WEB });
  const application = String(tokens.body.access_token);
  const bad = { email: 'thief@example.org', current_password: PASSWORD };
  t.equal((await call('PUT', path, application, bad)).status, 403, 'an application cannot change it');

  const token = await login('tia');
  t.equal((await call('PUT', path, token, bad)).status, 200, 'whoever knows the password can');
  const undo = await linkTo(built, email);

  // Whoever has the password makes the account their own, as well as anybody can.
  const thief = browser();
  await signInAndAllow(thief, '/account', 'tia', PASSWORD);
  await thief.submit(await thief.get('/account'), {}, 'id="send-link-again"');
  await thief.submit(await thief.get(await linkTo(built, bad.email)), {});
  const more = { email: 'thief2@example.org', current_password: PASSWORD };
  await thief.submit(await thief.get('/account'), more, 'name="username"');
  const passwords = { current_password: PASSWORD, new_password: 'all mine from now on' };
  await thief.submit(await thief.get('/account/password'), passwords, 'current_password');
  t.equal(await shownAddress(thief), more.email);
  const thiefToken = await login('tia', passwords.new_password);

  const owner = browser();
  const page = await owner.get(undo);
  t.equal(heading(page), 'Restore your email address');
  const foreign = { token: new URL(undo).searchParams.get('token') ?? '' };
  t.equal((await send(built, 'POST', '/account/undo-email-change', { fields: foreign })).status, 403, 'CSRF');
  const undone = await owner.submit(page, {});
  t.equal(heading(undone), 'Check your mail');
  t.match((await thief.get('/account')).url.pathname, /^\/sign-in\//, 'his session is over');
  t.equal((await call('GET', path, thiefToken)).status, 401, 'that token, too');
  t.equal((await logIn('tia', passwords.new_password)).status, 401, 'and his password');
  t.equal((await browser().get(undo)).status, 400, 'the link works once');

  const choose = await owner.get(await linkTo(built, email));
  t.equal(heading(choose), 'Choose a new password', 'of which only who reads the mail has the link');
  const done = await owner.submit(choose, { new_password: 'tia has a new one' });
  t.equal(heading(done), 'Your new password is saved');
  await signInAndAllow(owner, '/account', email, 'tia has a new one');
  t.equal(await shownAddress(owner), email, 'it is confirmed: she signs in with it');
  t.notOk(
    links.some(({ link }) => /undo-email-change/.test(link)),
    'nothing takes it back again',
  );
});

t.test('no mails that a thief asks for keep the owner from a new password', async (t) => {
  const { visitor: thief, email } = await person('vic');
  const forgotten = async () => {
    const visitor = browser();
    return visitor.submit(await visitor.get('/account/forgotten-password'), { login: 'vic' });
  };
  const stolen = { email: 'vics-thief@example.org', current_password: PASSWORD };
  await thief.submit(await thief.get('/account'), stolen, 'name="username"');
  const undo = await linkTo(built, email);
  for (let mails = 1; mails < 3; mails += 1) {
    await linkTo(built, stolen.email);
    await thief.submit(await thief.get('/account'), {}, 'id="send-link-again"');
  }
  await thief.submit(await thief.get(await linkTo(built, stolen.email)), {});
  for (let mails = 0; mails < 4; mails += 1) await forgotten();

  const owner = browser();
  const undone = await owner.submit(await owner.get(undo), {});
  t.equal(heading(undone), 'Check your mail');
  t.equal(
    heading(await owner.get(await linkTo(built, email))),
    'Choose a new password',
    'and closes the page',
  );
  await forgotten();
  const link = await linkTo(built, email);
  t.equal(heading(await owner.get(link)), 'Choose a new password');
});

t.test(
  'an address belongs to the account that proves it, and not to the first that entered it',
  async (t) => {
    const email = 'uma@example.org';
    const thief = browser();
    await createAccount(thief, '/account', { username: 'squatter', email });
    const toStranger = await linkTo(built, email);

    const uma = browser();
    const page = await createAccount(uma, '/account', { username: 'uma', email });
    t.equal(page.url.pathname, '/account', 'an address that nobody has confirmed is free');
    const link = await linkTo(built, email);

    const clicked = await uma.get(toStranger);
    t.match([clicked.status, heading(clicked)], [403, 'This link is for another account']);
    const forced = await uma.submit(await uma.get('/account'), {}, 'id="send-link-again"');
    const csrf = /name="csrf" value="([^"]+)"/.exec(forced.html)?.[1] ?? '';
    const fields = { csrf, token: new URL(toStranger).searchParams.get('token') ?? '' };
    const sent = await send(built, 'POST', '/account/verify-email', { browser: uma, fields });
    t.equal(sent.status, 400, 'nor by a form');
    t.match((await thief.get('/account')).html, 'Not confirmed yet');
    t.match((await browser().get(toStranger)).url.pathname, /^\/sign-in\//, 'nor without a sign-in');

    const again = await linkTo(built, email);
    t.not(again, link);
    t.equal(heading(await uma.submit(await uma.get(again), {})), 'Your email address is confirmed');
    t.equal(await shownAddress(thief), '', 'the other account has lost it');
    t.equal((await thief.get(toStranger)).status, 400);
    await signInAndAllow(browser(), '/account', email, PASSWORD);

    const form = await thief.submit(
      await thief.get('/account'),
      { email, current_password: PASSWORD },
      'name="username"',
    );
    t.equal(form.status, 409, 'a confirmed one is taken');
  },
);

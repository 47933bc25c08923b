import t from 'tap';
import { authorizeUrl, build, PASSWORD } from '../../../build.ts';
import {
  alertOf,
  createAccount,
  heading,
  linkOf,
  linkTo,
  mailsOf,
  send,
  UNDO,
  usersSwitch,
} from '../../../pages.ts';
import { refresh, tokensFor, untilDead } from '../../../tokens.ts';

const FORGOTTEN = '/account/forgotten-password';
const ANN = 'ann@example.org';

t.test('a forgotten password', async (t) => {
  const users = await usersSwitch(t);
  const built = await build(t, { config: { usersUrl: users.url } });
  users.state.target = built.base;
  const { browser, call, links } = built;
  const database = await built.database();
  const forgetAttempts = () => database.collection('sign_in_counters').deleteMany({});

  async function ask(login: string) {
    const visitor = browser();
    const started = performance.now();
    const page = await visitor.submit(await visitor.get(FORGOTTEN), { login });
    return { page, took: performance.now() - started };
  }

  t.test('the same response for every login; mail goes only to a confirmed address', async (t) => {
    await createAccount(browser(), authorizeUrl(), { username: 'una', email: 'una@example.org' });
    await linkTo(built, 'una@example.org');
    const responses = new Set<string>();
    const fastest = { known: Number.POSITIVE_INFINITY, unknown: Number.POSITIVE_INFINITY };
    for (let round = 0; round < 3; round += 1) {
      for (const login of ['ann', 'nobody', 'una', 'una@example.org', 'nobody@example.org']) {
        if (round > 0 && login !== 'ann' && login !== 'nobody') continue;
        const { page, took } = await ask(login);
        t.equal(page.status, 200);
        responses.add(page.html);
        const kind = login === 'ann' ? 'known' : 'unknown';
        fastest[kind] = Math.min(fastest[kind], took);
      }
    }
    t.equal(responses.size, 1, 'the same to the last letter');
    t.ok(Math.abs(fastest.known - fastest.unknown) < 25, 'and as fast');
    for (let i = 0; i < 3; i += 1) await linkTo(built, ANN);
    const mails = await mailsOf(built);
    t.equal(mails.filter((mail) => mail.startsWith('To: una@')).length, 1, 'the one about the address');
    t.notOk(mails.some((mail) => mail.startsWith('To: nobody')));
    t.notOk(mails.some((mail) => mail.includes(PASSWORD)));
  });

  t.test('no more than three mails an hour go to one person', async (t) => {
    const visitor = browser();
    await createAccount(visitor, authorizeUrl(), { username: 'many', email: 'many@example.org' });
    const link = await linkTo(built, 'many@example.org');
    await visitor.submit(await visitor.get(link), {});
    for (let i = 0; i < 5; i += 1) await ask('many');
    for (let i = 0; i < 3; i += 1) await linkTo(built, 'many@example.org');
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.notOk(links.some(({ to }) => to === 'many@example.org'));
    await forgetAttempts();
  });

  t.test('the link sets a new password once, and ends what was before', async (t) => {
    await forgetAttempts();
    const before = browser();
    const { access_token: token, refresh_token } = await tokensFor(built, { browser: before });
    const path = `/v1/users/${built.people.ann.id}`;
    t.equal((await call('GET', path, token)).status, 200);

    await ask(ANN);
    const link = await linkTo(built, ANN);
    const visitor = browser();
    for (let i = 0; i < 2; i += 1) {
      const shown = await visitor.get(link);
      t.equal(heading(shown), 'Choose a new password', 'to look at it does not use it up');
    }
    const short = await visitor.submit(await visitor.get(link), { new_password: 'short' });
    t.equal(short.status, 400);
    t.match(alertOf(short), /8 to 256 characters/);
    t.match(short.html, 'id="new_password-problem"');
    const common = await visitor.submit(short, { new_password: 'Password1' });
    t.equal(common.status, 400);
    t.match(alertOf(common), /The new password is a common password/);
    const own = await visitor.submit(short, { new_password: ANN.toUpperCase() });
    t.match(alertOf(own), /The new password is the username or the email address/);
    t.equal(heading(await visitor.get(link)), 'Choose a new password', 'the mailed link still works');

    users.state.down = true;
    const away = await visitor.submit(short, { new_password: 'a better one than before' });
    t.equal(away.status, 503);
    users.state.down = false;

    const done = await visitor.submit(short, { new_password: 'a better one than before' });
    t.equal(heading(done), 'Your new password is saved');
    t.ok((await untilDead(built, token)) < 1000, 'tokens are dead within a second');
    t.match((await before.get('/account')).url.pathname, /^\/sign-in\//, 'sessions, too');
    t.match(await refresh(built, refresh_token), { status: 400, body: { error: 'invalid_grant' } });

    const used = await browser().get(link);
    t.equal(used.status, 400);
    t.equal(heading(used), 'This link no longer works');
    t.equal(linkOf(used, 'Request a new link'), FORGOTTEN);
    const again = await visitor.submit(short, { new_password: 'and another one' });
    t.equal(again.status, 400);
    const signIn = await browser().get(authorizeUrl());
    t.equal((await visitor.submit(signIn, { username: 'ann', password: PASSWORD })).status, 400);
    const fresh = browser();
    const page = await fresh.get('/account');
    t.equal((await fresh.submit(page, { username: 'ann', password: PASSWORD })).status, 401);
    const account = await fresh.submit(page, { username: 'ann', password: 'a better one than before' });
    t.equal(account.url.pathname, '/account');
  });

  t.test('a link of which the time is over, and an earlier one', async (t) => {
    await forgetAttempts();
    await ask('admin');
    const first = await linkTo(built, 'admin@example.org');
    await ask('admin');
    const second = await linkTo(built, 'admin@example.org');
    t.equal((await browser().get(first)).status, 400);
    t.equal((await browser().get(second)).status, 200);
    await database
      .collection('one_time_links')
      .updateMany({}, { $set: { expires_at: new Date(Date.now() - 1) } });
    t.equal((await browser().get(second)).status, 400);
  });

  t.test('one of two concurrent submissions changes the password', async (t) => {
    await ask('admin');
    const link = await linkTo(built, 'admin@example.org');
    const visitor = browser();
    const page = await visitor.get(link);
    const pages = await Promise.all(
      ['first new password', 'second new password'].map((it) => visitor.submit(page, { new_password: it })),
    );
    t.same(pages.map(({ status }) => status).sort(), [200, 400]);
  });

  t.test('too many requests from one address: the page says so', async (t) => {
    let { page } = await ask('someone');
    for (let i = 0; i < 25 && page.status === 200; i += 1) ({ page } = await ask('someone'));
    t.equal(page.status, 429);
    t.match(alertOf(page), /^Too many requests Please wait \d+/);
    t.ok(Number(page.headers.get('retry-after')) > 0);
    t.match(page.html, 'value="someone"');
  });

  t.test('without the token of our page there is no mail', async (t) => {
    await forgetAttempts();
    const fields = { login: ANN };
    t.equal((await send(built, 'POST', FORGOTTEN, { fields })).status, 403);
    t.notOk(links.some(({ to, link }) => to === ANN && !UNDO.test(link)));
  });
});

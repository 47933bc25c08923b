import { hash } from 'node:crypto';
import t from 'tap';
import { build, PASSWORD } from '../../build.ts';
import { alertOf, heading, isSignIn, linkTo, mailsOf, newPerson } from '../../pages.ts';
import { enterPassword, setUpApp, withApp } from '../authenticator-app/app.ts';
import { createAuthenticator } from '../passkeys/authenticator.ts';

const built = await build(t, { host: 'localhost', checkResponses: true });
const { browser, call } = built;
const database = await built.database();
const LINKS = '/api/v1/factors/set-up-links';
const NEXT = 'another horse battery';

async function createLink(userId: string): Promise<string> {
  const { status, body } = await call('POST', LINKS, await built.login('admin'), { user_id: userId });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return String(body.url);
}

t.test('a link of an admin lets somebody set up their sign-in again', async (t) => {
  const visitor = await newPerson(built, 'stranded');
  await visitor.submit(await visitor.get(await linkTo(built, 'stranded@example.org')), {});
  const id = String((await built.logIn('stranded')).body.user_id);
  await setUpApp(visitor);
  const authenticator = createAuthenticator(built.base);
  const add = await visitor.get('/account/passkeys/add');
  await visitor.submit(add, { name: 'Of somebody', passkey: authenticator.create(add) }, 'name="passkey"');
  const before = Date.now();
  const created = await call('POST', LINKS, await built.login('admin'), { user_id: id });
  const link = String(created.body.url);
  const hours = (Date.parse(String(created.body.expires_at)) - before) / 3600_000;
  t.ok(hours > 23.9 && hours < 24.1, `${hours}`);
  t.strictSame(Object.keys(created.body).sort(), ['expires_at', 'url'], 'nothing of a factor');
  const token = new URL(link).searchParams.get('token') ?? '';
  const stored = await database.collection('one_time_links').findOne({ purpose: 'set_up_sign_in' });
  t.equal(stored?.token_hash, hash('sha256', token, 'base64url'), 'of which only the hash is stored');
  await t.resolves(
    (async () => {
      for (let i = 0; i < 100; i += 1) {
        const mail = (await mailsOf(built)).find((it) => /An admin created a link/.test(it));
        if (mail !== undefined) return t.notMatch(mail, token, 'the mail is about the link, and has it not');
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error('no mail');
    })(),
  );

  const guest = browser();
  for (let i = 0; i < 2; i += 1) {
    const page = await guest.get(link);
    t.equal(heading(page), 'Set up your sign-in again');
    t.match(page.html, /passkeys, its connected accounts, and its authenticator app/, 'it says what is lost');
  }
  t.notOk(isSignIn(await visitor.get('/account')), 'to look at it changes nothing');
  const short = await guest.submit(await guest.get(link), { new_password: 'short' });
  t.match(alertOf(short), /8 to 256 characters/);
  t.notOk(isSignIn(await visitor.get('/account')), 'nor does a password that is none');
  const done = await guest.submit(short, { new_password: NEXT });
  t.equal(heading(done), 'Your new password is saved');
  t.ok(isSignIn(await guest.get('/account')), 'it signs nobody in');
  t.ok(isSignIn(await visitor.get('/account')), 'sessions have ended');
  const factors = await call('GET', `/api/v1/factors?user_id=${id}`, await built.login('admin'));
  t.strictSame(factors.body.data, []);
  const page = await guest.get('/account');
  const refused = await guest.submit(page, { passkey: authenticator.get(page) }, 'name="passkey"');
  t.equal(refused.status, 401, 'the passkey signs nobody in');
  t.equal((await built.logIn('stranded', PASSWORD)).status, 401);
  t.equal(
    heading(await enterPassword(browser(), 'stranded', '/account', NEXT)),
    'Profile',
    'no code is asked for',
  );
  t.equal((await browser().get(link)).status, 400, 'it works once');
  const entries = await database
    .collection('audit_log')
    .find({ subject: id, action: /^set_up_link/ })
    .sort({ _id: 1 })
    .toArray();
  t.strictSame(
    entries.map(({ action, actor }) => [action, actor]),
    [
      ['set_up_link.created', built.people.admin.id],
      ['set_up_link.used', id],
    ],
  );
  t.notMatch(JSON.stringify(entries), token);
});

t.test('who may create one, and for whom', async (t) => {
  const { id } = await withApp(built, 'guarded');
  const admin = await built.login('admin');
  const inactive = await built.createPerson('inactive');
  await call('PUT', `/v2/users/${inactive}/status`, admin, { status: 'inactive' });
  for (const [name, token, body, status] of [
    ['nobody', undefined, { user_id: id }, 401],
    ['somebody else', await built.login('ann'), { user_id: id }, 403],
    ['the person', await built.login('ann'), { user_id: built.people.ann.id }, 403],
    ['a machine', await built.machineToken(), { user_id: id }, 403],
    ['an admin for themself', admin, { user_id: built.people.admin.id }, 403],
    ['for nobody', admin, { user_id: 'usr_nobody' }, 404],
    ['for an inactive account', admin, { user_id: inactive }, 409],
    ['without a user', admin, {}, 400],
    ['with more', admin, { user_id: id, url: 'https://evil.example' }, 400],
  ] as const) {
    t.equal((await call('POST', LINKS, token, body)).status, status, name);
  }
  t.equal(await database.collection('one_time_links').countDocuments({ user_id: id }), 0);
});

/** What makes a link useless. */
const VOIDS: Record<string, (id: string, username: string) => Promise<unknown>> = {
  'a day': (id) =>
    database.collection('one_time_links').updateMany({ user_id: id }, { $set: { expires_at: new Date() } }),
  'another link': createLink,
  'a new password': async (id) =>
    call('PUT', `/v1/users/${id}/password`, await built.machineToken(), { new_password: NEXT }),
  'a closed account': async (id) =>
    call('PUT', `/v2/users/${id}/status`, await built.login('admin'), { status: 'inactive' }),
};
t.test('links that no longer work', async (t) => {
  for (const [i, [name, end]] of Object.entries(VOIDS).entries()) {
    const username = `voided${i}`;
    const id = await built.createPerson(username);
    const link = await createLink(id);
    t.equal((await browser().get(link)).status, 200, 'also without a confirmed address');
    await end(id, username);
    t.equal((await browser().get(link)).status, 400, name);
    const token = new URL(link).searchParams.get('token');
    t.equal((await browser().get(`/account/new-password?token=${token}`)).status, 400, 'nor elsewhere');
  }
});

import { hash } from 'node:crypto';
import type { FormBrowser } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build, PASSWORD } from '../../../build.ts';
import { heading, isSignIn, linkTo, newPerson, send, signedIn, UNDO } from '../../../pages.ts';
import { codeOf, enterCode, enterPassword, forgetCodes, setUpApp } from '../../authenticator-app/app.ts';
import { createAuthenticator } from '../../passkeys/authenticator.ts';

const built = await build(t, { host: 'localhost' });
const { browser, call } = built;
const database = await built.database();
const counters = database.collection('sign_in_counters');
const DAYS = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Somebody with a confirmed address, signed in. */
async function person(username: string) {
  const visitor = await newPerson(built, username);
  const email = `${username}@example.org`;
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const id = String((await built.logIn(username)).body.user_id);
  return { username, visitor, email, id };
}
type Person = Awaited<ReturnType<typeof person>>;

/** The link in the last mail about this change. */
async function undoLink({ email, id }: Person, change: string): Promise<string> {
  const stored = database.collection('one_time_links');
  for (let i = 0; i < 100; i += 1) {
    const [newest] = await stored.find({ user_id: id, change }).sort({ expires_at: -1 }).toArray();
    const isIt = (link: string) =>
      hash('sha256', new URL(link).searchParams.get('token') ?? '', 'base64url') === newest?.token_hash;
    const found = built.links.find(({ to, link }) => to === email && isIt(link));
    if (found !== undefined) return found.link;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no mail about ${change} came to ${email}`);
}

async function addPasskey(visitor: FormBrowser, name: string) {
  const authenticator = createAuthenticator(built.base);
  const page = await visitor.get('/account/passkeys/add');
  const added = await visitor.submit(page, { name, passkey: authenticator.create(page) }, 'name="passkey"');
  if (heading(added) !== 'Passkeys') throw new Error(added.html);
  return authenticator;
}

async function signsIn(authenticator: ReturnType<typeof createAuthenticator>): Promise<boolean> {
  const visitor = browser();
  const page = await visitor.get('/account');
  return !isSignIn(await visitor.submit(page, { passkey: authenticator.get(page) }, 'name="passkey"'));
}

/** As if what is in the collection had been there for longer than changes can be undone. */
const age = (collection: string, userId: string, id: 'user_id' | '_id' = 'user_id') =>
  database
    .collection<{ _id: string }>(collection)
    .updateMany({ [id]: userId }, { $set: { created_at: DAYS(4) } });

async function undo(link: string) {
  const visitor = browser();
  const page = await visitor.get(link);
  return { page, done: await visitor.submit(page, {}), visitor };
}

/** Changes by a thief who is signed in, and what must be so when the owner has undone them. */
const CHANGES: Record<
  string,
  { change(it: Person): Promise<unknown>; undone(it: Person, changed: unknown, t: Tap): Promise<unknown> }
> = {
  passkey_added: {
    change: async ({ visitor }) => addPasskey(visitor, 'Of the thief'),
    undone: async (_it, thief, t) => t.notOk(await signsIn(thief as never), 'the passkey is gone'),
  },
  passkey_removed: {
    async change({ visitor, id }) {
      const own = await addPasskey(visitor, 'Own');
      await age('passkeys', id);
      const list = await visitor.get('/account/passkeys');
      const path = /href="(\/account\/passkeys\/pky_[^"]+\/remove)"/.exec(list.html)?.[1] ?? '';
      await visitor.submit(await visitor.get(path), { confirmation: 'yes' }, '/remove');
      if (await signsIn(own)) throw new Error('the passkey was not removed');
      return own;
    },
    undone: async (_it, own, t) => t.ok(await signsIn(own as never), 'the passkey works again'),
  },
  app_added: {
    change: async ({ visitor }) => setUpApp(visitor),
    undone: async ({ id }, _app, t) => t.equal(await factorsOf(id), ''),
  },
  app_removed: {
    async change(it) {
      const { visitor, id } = it;
      const { secret } = await setUpApp(visitor);
      await age('authenticator_apps', id, '_id');
      await visitor.submit(
        await visitor.get('/account/authenticator-app/remove'),
        { confirmation: 'yes' },
        '/remove',
      );
      if ((await factorsOf(id)) !== '') throw new Error('the app was not removed');
      // The thief takes its place, so that the owner's cannot come back.
      await setUpApp(visitor);
      return secret;
    },
    async undone(it, secret, t) {
      const visitor = browser();
      const page = await enterPassword(visitor, it.username, '/account', 'chosen anew by mail');
      t.equal(heading(page), 'Enter a code');
      await forgetCodes(built, it.id);
      t.equal(heading(await enterCode(visitor, page, codeOf(String(secret)))), 'Profile', 'by the own app');
    },
  },
  recovery_codes_renewed: {
    async change({ visitor, id }) {
      const { secret } = await setUpApp(visitor);
      await age('authenticator_apps', id, '_id');
      await visitor.submit(
        await visitor.get('/account/recovery-codes/renew'),
        { confirmation: 'yes' },
        '/renew',
      );
      return secret;
    },
    async undone(it, _secret, t) {
      t.equal(await factorsOf(it.id), 'authenticator_app', 'the app stays');
      const app = await database
        .collection<{ _id: string; recovery_codes?: string[] }>('authenticator_apps')
        .findOne({ _id: it.id });
      t.strictSame(app?.recovery_codes, [], 'the codes that the thief has seen do not');
    },
  },
  password_changed: {
    async change({ visitor }) {
      const passwords = { current_password: PASSWORD, new_password: 'the thief knows it' };
      await visitor.submit(await visitor.get('/account/password'), passwords, 'current_password');
    },
    undone: async ({ username }, _, t) =>
      t.equal((await built.logIn(username, 'the thief knows it')).status, 401),
  },
};
type Tap = Pick<typeof t, 'ok' | 'notOk' | 'equal' | 'strictSame'>;

async function factorsOf(id: string): Promise<string> {
  const { body } = await call('GET', `/api/v1/factors?user_id=${id}`, await built.login('admin'));
  return (body.data as { type: string }[]).map(({ type }) => type).join();
}

for (const [kind, { change, undone }] of Object.entries(CHANGES)) {
  t.test(`a link in the mail undoes it: ${kind}`, async (t) => {
    const it = await person(kind);
    const changed = await change(it);
    const link = await undoLink(it, kind);
    const stored = await database.collection('one_time_links').find({ user_id: it.id }).toArray();
    t.notMatch(JSON.stringify(stored), new URL(link).searchParams.get('token') ?? '', 'hashed at rest');
    const thief = it.visitor;
    const looked = browser();
    for (let i = 0; i < 2; i += 1) t.equal(heading(await looked.get(link)), 'Was this not you?');
    t.notOk(isSignIn(await thief.get('/account')), 'to look at it changes nothing');
    const fields = { token: new URL(link).searchParams.get('token') ?? '' };
    t.equal((await send(built, 'POST', '/account/undo-change', { fields })).status, 403, 'CSRF');
    const { done, visitor } = await undo(link);
    t.equal(heading(done), 'Check your mail');
    t.ok(isSignIn(await thief.get('/account')), 'the session of the thief is over');
    t.ok(isSignIn(await visitor.get('/account')), 'and the link signs nobody in');
    t.equal((await built.logIn(it.username)).status, 401, 'nor does the password that was there before');
    t.equal((await browser().get(link)).status, 400, 'it works once');
    const form = await visitor.get(await linkTo(built, it.email));
    const saved = await visitor.submit(form, { new_password: 'chosen anew by mail' });
    t.equal(heading(saved), 'Your new password is saved');
    await undone(it, changed, t);
    const entry = await database.collection('audit_log').findOne({ subject: it.id, action: 'change.undone' });
    t.match(entry, { details: { change: kind } });
    await counters.deleteMany({});
  });
}

t.test('everything that was added lately goes, and nothing that was removed before', async (t) => {
  const it = await person('several');
  const old = await addPasskey(it.visitor, 'Old');
  await age('passkeys', it.id);
  const first = await addPasskey(it.visitor, 'First of the thief');
  const second = await addPasskey(it.visitor, 'Second of the thief');
  const list = await it.visitor.get('/account/passkeys');
  // The owner removes one of the thief's by hand: undoing what came later does not bring it back.
  const paths = [...list.html.matchAll(/href="(\/account\/passkeys\/pky_[^"]+\/remove)"/g)].map(
    ([, path]) => path,
  );
  await it.visitor.submit(await it.visitor.get(paths[1] ?? ''), { confirmation: 'yes' }, '/remove');
  t.notOk(await signsIn(first));
  await setUpApp(it.visitor);
  await undo(await undoLink(it, 'app_added'));
  t.strictSame([await signsIn(old), await signsIn(first), await signsIn(second)], [true, false, false]);
  await counters.deleteMany({});
});

t.test('of several uses at once, on two replicas, one undoes the change', async (t) => {
  const it = await person('race');
  await addPasskey(it.visitor, 'Of the thief');
  const link = await undoLink(it, 'passkey_added');
  const other = await built.replica();
  const visitor = browser();
  const page = await visitor.get(link);
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
  const cookie = [...visitor.cookies('/account')].map(([name, value]) => `${name}=${value}`).join('; ');
  const body = new URLSearchParams({ csrf, token: new URL(link).searchParams.get('token') ?? '' }).toString();
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' };
  const statuses = await Promise.all(
    [built.base, other, built.base, other].map(
      async (base) => (await fetch(`${base}/account/undo-change`, { method: 'POST', headers, body })).status,
    ),
  );
  t.strictSame(statuses.sort(), [200, 400, 400, 400]);
});

/** Links that undo nothing, as ends of a story whose beginning is the addition of a passkey. */
const REFUSED: Record<string, (it: Person) => Promise<unknown>> = {
  'after 72 hours': ({ id }) =>
    database.collection('one_time_links').updateMany({ user_id: id }, { $set: { expires_at: DAYS(0) } }),
  'from a mailbox that is not that of the account any more': async ({ visitor, email }) => {
    const changes = { email: `new-${email}`, current_password: PASSWORD };
    await visitor.submit(await visitor.get('/account'), changes, 'name="username"');
  },
  'of an account that an admin has closed': async ({ id }) =>
    call('PUT', `/v2/users/${id}/status`, await built.login('admin'), { status: 'inactive' }),
  'of one that an admin has closed and opened again': async ({ id }) => {
    for (const status of ['inactive', 'active']) await asAdmin('PUT', `/v2/users/${id}/status`, { status });
  },
  'of one that got its password from an admin': ({ id }) =>
    asAdmin('PUT', `/v1/users/${id}/password`, { new_password: 'given by an admin' }),
  'of one that was set up again with a link of an admin': async ({ id }) => {
    const { url } = await asAdmin('POST', '/api/v1/factors/set-up-links', { user_id: id });
    const visitor = browser();
    await visitor.submit(await visitor.get(String(url)), { new_password: 'chosen by the owner' });
  },
};
async function asAdmin(method: string, path: string, sent: object) {
  const { status, body } = await call(method, path, await built.login('admin'), sent);
  if (status >= 300) throw new Error(JSON.stringify(body));
  return body;
}
t.test('links that undo nothing', async (t) => {
  for (const [i, [name, end]] of Object.entries(REFUSED).entries()) {
    const it = await person(`refused${i}`);
    await addPasskey(it.visitor, 'Phone');
    const link = await undoLink(it, 'passkey_added');
    await end(it);
    const page = await browser().get(link);
    t.equal(page.status, 400, name);
    t.equal(heading(page), 'This link no longer works', name);
    t.match(page.html, /address of your account was changed/, name);
    await counters.deleteMany({});
  }
  t.equal((await browser().get('/account/undo-change?token=x')).status, 400);
});

t.test('links to the address of a thief take nothing back from the owner', async (t) => {
  const it = await person('victim');
  const mine = 'victims-thief@example.org';
  const thief = await signedIn(built, 'victim');
  await thief.submit(
    await thief.get('/account'),
    { email: mine, current_password: PASSWORD },
    'name="username"',
  );
  const restore = await linkTo(built, it.email);
  await thief.submit(await thief.get(await linkTo(built, mine)), {});
  await addPasskey(thief, 'Of the thief');
  const link = await linkTo(built, mine, (url) => UNDO.test(url));
  await undo(restore);
  t.equal((await browser().get(link)).status, 400);
});

t.test('what was removed is forgotten after 72 hours, and with the account', async (t) => {
  const it = await person('forgotten');
  await setUpApp(it.visitor);
  await it.visitor.submit(
    await it.visitor.get('/account/authenticator-app/remove'),
    { confirmation: 'yes' },
    '/remove',
  );
  const removed = database.collection('removed_sign_in_methods');
  const [kept] = await removed.find({ user_id: it.id }).toArray();
  const hours = (kept?.expires_at.getTime() - Date.now()) / 3600_000;
  t.ok(hours > 71.9 && hours <= 72, `${hours}`);
  const users = await built.serviceToken('users');
  await call('POST', '/internal/identity/erasures', users, { user_id: it.id });
  await until(async () => (await removed.countDocuments({ user_id: it.id })) === 0, 20_000);
});

import type { Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { createFactorRecoveryStore } from '../../../src/features/factor-recovery/factor-recovery-store.ts';
import { build, PASSWORD } from '../../build.ts';
import { heading, isSignIn, linkOf, linkTo, mailsOf, newPerson, send } from '../../pages.ts';
import { codeOf, enterCode, enterPassword, forgetCodes, setUpApp } from '../authenticator-app/app.ts';
import { createAuthenticator } from '../passkeys/authenticator.ts';

const built = await build(t, { host: 'localhost' });
const { browser } = built;
const database = await built.database();
const recoveries = database.collection<{ _id: string; ready_at?: Date }>('factor_recoveries');
const apps = database.collection<{ _id: string }>('authenticator_apps');
const LOST = 'Lost your app and your recovery codes?';
const OVER = 'This link no longer works';
const ago = (hours: number) => new Date(Date.now() - hours * 3600_000);

/** Somebody with a confirmed address and an app, who is signed in. */
async function person(username: string) {
  const visitor = await newPerson(built, username);
  const email = `${username}@example.org`;
  await visitor.submit(await visitor.get(await linkTo(built, email)), {});
  const id = String((await built.logIn(username)).body.user_id);
  const { secret } = await setUpApp(visitor);
  await forgetCodes(built, id);
  return { username, visitor, email, id, secret };
}
type Person = Awaited<ReturnType<typeof person>>;

/** The page that somebody reaches who has entered the password. */
async function lostPage({ username }: Person) {
  const visitor = browser();
  const page = await visitor.get(linkOf(await enterPassword(visitor, username), LOST));
  return { visitor, page };
}

async function begin(it: Person) {
  const { visitor, page } = await lostPage(it);
  const begun = await visitor.submit(page, {});
  // Sent twice, it begins once.
  await visitor.submit(page, {});
  return { begun, stop: await linkTo(built, it.email) };
}

/** As if the time were over: the last mail comes with the next run, which another process would do as well. */
async function passTime({ id, email }: Person): Promise<string> {
  await recoveries.updateOne({ _id: id }, { $set: { ready_at: ago(0), due_at: ago(0) } });
  await built.replica();
  return linkTo(built, email, (link) => /factor-recovery\/remove/.test(link));
}

const submitLink = async (link: string, fields: Record<string, string> = {}): Promise<Page> => {
  const visitor = browser();
  return visitor.submit(await visitor.get(link), fields);
};
const hasApp = async ({ id }: Person) => (await apps.countDocuments({ _id: id })) === 1;
const isUnderWay = async ({ id }: Person) => (await recoveries.countDocuments({ _id: id })) === 1;
const actionsOf = async ({ id }: Person) =>
  (
    await database
      .collection('audit_log')
      .find({ subject: id, action: /recovery\./ })
      .sort({ _id: 1 })
      .toArray()
  ).map(({ action }) => action);

t.test('after the waiting time, the link in the last mail removes the second factors', async (t) => {
  const it = await person('lost');
  const { begun } = await begin(it);
  t.match(begun.html, /We send a link to the email address of the account on/);
  t.match((await mailsOf(built)).join(), /said that its authenticator app and its recovery codes are lost/);
  t.equal(
    (await mailsOf(built)).filter((mail) => /codes are lost/.test(mail)).length,
    1,
    'one mail, however often',
  );
  const [stored] = await recoveries.find({ _id: it.id }).toArray();
  const hours = (Number(stored?.ready_at) - Date.now()) / 3600_000;
  t.ok(hours > 71.9 && hours <= 72, `${hours}`);
  await recoveries.updateOne({ _id: it.id }, { $set: { due_at: ago(1) } });
  const replica = await built.replica();
  t.match(await linkTo(built, it.email), /factor-recovery\/stop/, 'a mail before the end');
  t.match((await mailsOf(built)).join(), /can soon be removed/);
  t.ok(await hasApp(it));

  const link = await passTime(it);
  t.equal(
    (await mailsOf(built)).filter((mail) => /Remove the app and/.test(mail)).length,
    1,
    'of three replicas',
  );
  const onReplica = await fetch(link.replace(built.base, replica));
  t.match(await onReplica.text(), /Remove the app and the recovery codes\?/);
  t.ok(await hasApp(it), 'to look at it changes nothing');
  t.equal((await submitLink(link, { confirmation: 'no' })).status, 400);
  const fields = { token: new URL(link).searchParams.get('token') ?? '', confirmation: 'yes' };
  t.equal((await send(built, 'POST', '/account/factor-recovery/remove', { fields })).status, 403, 'CSRF');
  t.ok(await hasApp(it));
  const shown = [browser(), browser()];
  const pages = await Promise.all(
    shown.map(async (other) => other.submit(await other.get(link), { confirmation: 'yes' })),
  );
  t.strictSame(pages.map(({ status }) => status).sort(), [200, 400], 'of two at once, one');
  t.notOk(await hasApp(it));
  t.ok(isSignIn(await (shown[0] as (typeof shown)[0]).get('/account')), 'it signs nobody in');
  t.equal(heading(await browser().get(link)), OVER);
  t.equal(heading(await enterPassword(browser(), 'lost')), 'Profile', 'the password alone does');
  t.strictSame(await actionsOf(it), ['factor_recovery.requested', 'factor_recovery.finished']);
  const undo = await linkTo(built, it.email, (url) => /undo-change/.test(url));
  t.ok(undo, 'and the mail about it undoes it');
});

/** What ends a recovery, and whether the link that would remove the factors has been sent by then. */
const STOPS: Record<string, (it: Person & { stop: string }) => Promise<unknown>> = {
  'the link in the mail': async ({ stop }) => {
    t.equal(heading(await browser().get(stop)), 'Stop the recovery?');
    t.equal(heading(await submitLink(stop)), 'The recovery is stopped');
  },
  'a sign-in with a code': async ({ username, secret }) => {
    const visitor = browser();
    const page = await enterCode(visitor, await enterPassword(visitor, username), codeOf(secret));
    t.equal(heading(page), 'Profile');
  },
  'a login with a code at the API': async ({ username, secret }) => {
    const login = { username, password: PASSWORD, code: codeOf(secret) };
    t.equal((await built.call('POST', '/api/v1/auth/login', undefined, login)).status, 200);
  },
  'a sign-in with a passkey': async ({ visitor }) => {
    const authenticator = createAuthenticator(built.base);
    const add = await visitor.get('/account/passkeys/add');
    await visitor.submit(add, { name: 'Key', passkey: authenticator.create(add) }, 'name="passkey"');
    const guest = browser();
    const page = await guest.get('/account');
    t.equal(
      heading(await guest.submit(page, { passkey: authenticator.get(page) }, 'name="passkey"')),
      'Profile',
    );
  },
  'a new password': async ({ visitor }) => {
    const passwords = { current_password: PASSWORD, new_password: 'another horse battery' };
    await visitor.submit(await visitor.get('/account/password'), passwords, 'current_password');
  },
};
t.test('what stops it', async (t) => {
  for (const [i, [name, stopBy]] of Object.entries(STOPS).entries()) {
    const it = await person(`stopped${i}`);
    const { stop } = await begin(it);
    const last = await passTime(it);
    t.equal(heading(await browser().get(last)), 'Remove the app and the recovery codes?', name);
    await stopBy({ ...it, stop });
    t.equal(heading(await browser().get(last)), OVER, name);
    t.equal((await submitLink(stop).catch(() => ({ status: 400 }))).status, 400, name);
    t.ok(await hasApp(it), name);
    if (name !== 'a new password') t.notOk(await isUnderWay(it), name);
    await database.collection('sign_in_counters').deleteMany({});
  }
});

t.test('nobody begins it, or learns of it, without the password', async (t) => {
  const it = await person('quiet');
  await begin(it);
  const visitor = browser();
  const signIn = await visitor.get('/account');
  for (const method of ['GET', 'POST']) {
    const path = `${signIn.url.pathname}/second-factor/lost`;
    const response = await send(built, method, path, {
      browser: visitor,
      ...(method === 'POST' ? { fields: {} } : {}),
    });
    t.ok(response.status >= 400, method);
    t.notMatch(response.html, /quiet|We send a link/);
  }
  const wrong = async (username: string) => {
    const page = await visitor.submit(await visitor.get('/account'), {
      username,
      password: 'not the password',
    });
    return page.html
      .replaceAll(/(?:name="csrf" value|data-options|action|href)="[^"]*"/g, '')
      .replaceAll(username, '');
  };
  t.equal(
    await wrong('quiet'),
    await wrong('nobody'),
    'a wrong password says the same, whether it runs or not',
  );
});

t.test('an account without a confirmed address is told to ask an admin', async (t) => {
  const id = await built.createPerson('addressless');
  const visitor = browser();
  await enterPassword(visitor, 'addressless');
  await setUpApp(visitor);
  const { page } = await lostPage({ username: 'addressless' } as Person);
  t.match(page.html, /has no confirmed email address. Ask an admin/);
  t.notMatch(page.html, /<form/);
  t.equal(await recoveries.countDocuments({ _id: id }), 0);
});

t.test('with a waiting time of 0 there is none', async (t) => {
  const off = await build(t, { config: { recoveryWaitHours: 0 } });
  await off.createPerson('off');
  const visitor = off.browser();
  await enterPassword(visitor, 'off');
  await setUpApp(visitor);
  const guest = off.browser();
  const page = await enterPassword(guest, 'off');
  t.equal(heading(page), 'Enter a code');
  t.notMatch(page.html, LOST);
  t.equal((await guest.get(`${page.url.pathname}/lost`)).status, 404);
});

t.test('the store: of many that begin or take at once, one does, and others void it', async (t) => {
  const store = createFactorRecoveryStore(await built.database());
  const readyAt = new Date(Date.now() + 3600_000);
  const it = { userId: 'usr_many', email: 'a@a.org', epoch: 1, readyAt, dueAt: ago(0), expiresAt: readyAt };
  const begun = await Promise.all(Array.from({ length: 8 }, () => store.begin(it)));
  t.equal(begun.filter(Boolean).length, 1);
  const taken = await Promise.all(Array.from({ length: 8 }, () => store.takeDue(() => null)));
  t.ok(taken.filter((found) => found?.userId === 'usr_many').length <= 1);
  t.equal(await store.begin({ ...it, epoch: 2 }), true, 'after a new password it begins anew');
  await store.remove('usr_many');
  await until(async () => (await recoveries.countDocuments({ _id: 'usr_many' })) === 0, 1000);
});

t.test('a link that was sent to another address removes and stops nothing', async (t) => {
  const it = await person('moved');
  const { stop } = await begin(it);
  const remove = await passTime(it);
  // As if the account had had another address, and a recovery of its own, when the mails were sent.
  const links = database.collection('one_time_links');
  await links.updateMany({ user_id: it.id }, { $set: { email: 'moved-thief@example.org' } });
  for (const link of [stop, remove]) t.equal(heading(await browser().get(link)), OVER);
  t.ok((await hasApp(it)) && (await isUnderWay(it)));
});

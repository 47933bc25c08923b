import { randomBytes } from 'node:crypto';
import type { Page } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import decodeQR from 'qr/decode.js';
import t from 'tap';
import { createRemovedMethods } from '../../../src/core/sessions/removed-methods.ts';
import { createAuthenticatorAppStore } from '../../../src/features/authenticator-app/authenticator-app-store.ts';
import { createAuthenticatorApps } from '../../../src/features/authenticator-app/authenticator-apps.ts';
import { sealedAuthenticatorApps } from '../../../src/features/authenticator-app/resealing.ts';
import { keysCommand } from '../../../src/keys/keys-command.ts';
import { build, PASSWORD } from '../../build.ts';
import {
  alertOf,
  heading,
  isSignIn,
  linkTo,
  mailsOf,
  newPerson,
  noticeOf,
  signedIn,
  valueIn,
} from '../../pages.ts';
import {
  codeOf,
  codesOn,
  enterCode,
  enterPassword,
  forgetCodes,
  keyOn,
  setUpApp,
  withApp,
  wrongCode,
} from './app.ts';

const masterKey = randomBytes(32);
const log = recordingLogger('trace');
const built = await build(t, { masterKey, logger: log.logger });
const SET_UP = '/account/authenticator-app/set-up';

/** What a phone reads in the QR code of the page. */
function scan({ html }: Page): URL {
  const [, size = '', path = ''] =
    /viewBox="0 0 (\d+) \1"[^>]* role="img"[\s\S]*?<path d="([^"]+)"/.exec(html) ?? [];
  const scale = 4;
  const width = Number(size) * scale;
  const data = new Uint8Array(width * width * 3).fill(255);
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h/g)) {
    for (let dy = 0; dy < scale; dy += 1) {
      const from = ((Number(y) * scale + dy) * width + Number(x) * scale) * 3;
      data.fill(0, from, from + scale * 3);
    }
  }
  return new URL(decodeQR({ width, height: width, data }));
}

/** Makes every session of the account one that was signed in to six minutes ago. */
async function age(userId: string): Promise<void> {
  const sessions = (await built.database()).collection<{ _id: string; payload: string }>('oidc_sessions');
  for await (const { _id, payload } of sessions.find({ account_id: userId })) {
    const aged = { ...JSON.parse(payload), loginTs: Math.floor(Date.now() / 1000) - 360 };
    await sessions.updateOne({ _id }, { $set: { payload: JSON.stringify(aged) } });
  }
}

/** A person with a confirmed address, to which mails go. */
async function withAddress(username: string) {
  const visitor = await newPerson(built, username);
  await visitor.submit(await visitor.get(await linkTo(built, `${username}@example.org`)), {}, 'name="token"');
  return { visitor, id: String((await built.logIn(username)).body.user_id) };
}
const hasMail = (text: string | RegExp) => async () =>
  (await mailsOf(built)).some((mail) => mail.match(text) !== null);

t.test('an app is set up by a QR code or a key, once its first code is right', async (t) => {
  await built.createPerson('setter');
  const visitor = await signedIn(built, 'setter');
  const page = await visitor.get(SET_UP);
  const secret = keyOn(page);
  t.equal(Buffer.from(secret).length, 32, '160 bits (RFC 4226 §4)');
  t.match(page.headers.get('cache-control'), 'no-store');
  t.notMatch(page.headers.get('content-security-policy'), 'script-src');
  const uri = scan(page);
  t.match(uri.href, /^otpauth:\/\/totp\/Gatehouse:setter\?/);
  t.match(Object.fromEntries(uri.searchParams), {
    secret,
    issuer: 'Gatehouse',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
  const wrong = await visitor.submit(page, { code: wrongCode(secret) }, 'name="code"');
  t.equal(wrong.status, 400);
  t.equal(keyOn(wrong), secret, 'the same key is offered again');
  t.match((await visitor.get('/account/security')).html, 'Set up an authenticator app');
  const done = await visitor.submit(
    wrong,
    { code: ` ${codeOf(secret).replace(/^.../, '$& ')}` },
    'name="code"',
  );
  t.equal(heading(done), 'Your recovery codes');
  t.match(done.headers.get('cache-control'), 'no-store');
  const codes = codesOn(done);
  t.equal(new Set(codes).size, 10);
  const file = await visitor.submit(done, {}, 'recovery-codes/download');
  t.equal(file.html, `${codes.join('\n')}\n`);
  t.match(file.headers.get('content-disposition'), /^attachment;/);
  t.match(
    [file.headers.get('content-type'), file.headers.get('cache-control')],
    ['text/plain; charset=utf-8', 'no-store'],
  );
  const echo = await visitor.submit(
    done,
    { codes: '<script>alert(1)</script> x' },
    'recovery-codes/download',
  );
  t.equal(echo.html, '\n', 'it sends back codes only');
  const overview = await visitor.get('/account/security');
  for (const code of codes) t.notMatch(overview.html, code);
  t.match(overview.html, 'You have 10 recovery codes left');
  const second = await visitor.submit(wrong, { code: codeOf(secret) }, 'name="code"');
  t.match([second.status, alertOf(second)], [409, /already has an authenticator app/]);
});

t.test('a key is for the session in which it was shown, and for a sign-in of the last minutes', async (t) => {
  const id = await built.createPerson('careful');
  const visitor = await signedIn(built, 'careful');
  const page = await visitor.get(SET_UP);
  const other = await signedIn(built, 'careful');
  const sealed = /name="set_up" value="([^"]+)"/.exec(page.html)?.[1] ?? '';
  t.notMatch(Buffer.from(sealed, 'base64url').toString('latin1'), keyOn(page));
  for (const set_up of [sealed, '', 'AAAA']) {
    const refused = await other.submit(
      await other.get(SET_UP),
      { set_up, code: codeOf(keyOn(page)) },
      'name="code"',
    );
    t.match([refused.status, alertOf(refused)], [400, /open for too long/]);
  }
  await age(id);
  t.ok(isSignIn(await visitor.submit(page, { code: codeOf(keyOn(page)) }, 'name="code"')));
  t.ok(isSignIn(await visitor.get(SET_UP)));
  t.equal(heading(await visitor.get('/account/security')), 'Security');
});

t.test('secrets and codes are in no log, no mail and no plain document', async (t) => {
  const person = await withApp(built, 'secretive');
  const visitor = built.browser();
  await enterCode(visitor, await enterPassword(visitor, 'secretive'), codeOf(person.secret));
  const { db } = await built.database();
  const stored: unknown[] = [];
  for (const { name } of (await db?.listCollections().toArray()) ?? []) {
    stored.push(await db?.collection(name).find().toArray());
  }
  const places = [log.text(), JSON.stringify(stored), (await mailsOf(built)).join()];
  t.ok(places.every((text) => text.length > 1000 || text === places[2]));
  for (const secret of [
    person.secret,
    ...person.codes,
    ...person.codes.map((it) => it.replaceAll('-', '')),
  ]) {
    for (const text of places) t.notOk(text.includes(secret));
  }
});

t.test('changes ask first, take a fresh sign-in, and are mailed and audited', async (t) => {
  const { visitor, id } = await withAddress('changer');
  const { secret, codes } = await setUpApp(visitor);
  await until(hasMail('An authenticator app was set up'), 2000);
  const renewed = await visitor.confirm(await visitor.get('/account/security'), '/recovery-codes/renew');
  t.equal(heading(renewed), 'Your recovery codes');
  t.strictSame(
    codesOn(renewed).filter((code) => codes.includes(code)),
    [],
  );
  await until(hasMail('You have new recovery codes'), 2000);
  const guest = built.browser();
  const page = await enterPassword(guest, 'changer');
  const old = await guest.submit(page, { recovery_code: codes[0] ?? '' }, 'name="recovery_code"');
  t.equal(old.status, 401, 'the old codes no longer work');
  await guest.submit(page, { recovery_code: codesOn(renewed)[0] ?? '' }, 'name="recovery_code"');
  await until(hasMail(/A recovery code was used[\s\S]*You have 9 left/), 2000);
  await age(id);
  for (const path of ['/account/authenticator-app/remove', '/account/recovery-codes/renew']) {
    t.ok(isSignIn(await visitor.get(path)), path);
  }
  await forgetCodes(built, id);
  const again = await enterPassword(visitor, 'changer', '/account/authenticator-app/remove');
  const question = await enterCode(visitor, again, codeOf(secret));
  t.equal(heading(question), 'Remove the authenticator app?');
  const removed = await visitor.submit(question, {}, 'name="confirmation"');
  t.match(noticeOf(removed), /The authenticator app is removed/);
  await until(hasMail('The authenticator app was removed'), 2000);
  t.equal(heading(await enterPassword(built.browser(), 'changer')), 'Profile');
  const log = (await built.database()).collection('audit_log');
  const entries = await log
    .find({ subject: id, action: /app|recovery/ })
    .sort({ _id: 1 })
    .toArray();
  t.strictSame(
    entries.map(({ action, actor }) => [action, actor]),
    [
      'authenticator_app.added',
      'recovery_codes.renewed',
      'recovery_code.used',
      'authenticator_app.removed',
    ].map((it) => [it, id]),
  );
});

t.test('a sign-in from before the app was set up, with the password alone, does not change it', async (t) => {
  await built.createPerson('early');
  const thief = await signedIn(built, 'early');
  const token = await built.login('early');
  const visitor = await signedIn(built, 'early');
  await setUpApp(visitor);
  for (const path of ['/account/authenticator-app/remove', '/account/recovery-codes/renew', SET_UP]) {
    t.ok(isSignIn(await thief.get(path)), path);
    t.notOk(isSignIn(await visitor.get(path)), 'whoever has set it up has proved a code');
  }
  const { data } = (await built.call('GET', '/api/v1/factors', token)).body;
  const [{ id: app } = { id: '' }] = data as { id: string }[];
  t.equal((await built.call('DELETE', `/api/v1/factors/${app}`, token)).status, 403);
  const page = await visitor.get('/account/authenticator-app/remove');
  await visitor.submit(page, {}, 'name="confirmation"');
  t.strictSame((await built.call('GET', '/api/v1/factors', token)).body.data, []);
});

t.test(
  'whoever restores an earlier address removes an app of the last days, but not an older one',
  async (t) => {
    for (const [username, days] of [
      ['robbed', 0],
      ['owner', 7],
    ] as const) {
      const { visitor, id } = await withAddress(username);
      await setUpApp(visitor);
      const apps = (await built.database()).collection<{ _id: string }>('authenticator_apps');
      await apps.updateOne({ _id: id }, { $set: { created_at: new Date(Date.now() - days * 86_400_000) } });
      const change = { email: `${username}-2@example.org`, current_password: PASSWORD };
      await visitor.submit(await visitor.get('/account'), change, 'name="username"');
      const owner = built.browser();
      const link = await linkTo(built, `${username}@example.org`);
      t.equal(heading(await owner.submit(await owner.get(link), {})), 'Check your mail');
      t.equal(await apps.countDocuments({ _id: id }), days === 0 ? 0 : 1, username);
    }
  },
);

t.test('a deleted account leaves no app', async (t) => {
  const { id } = await withApp(built, 'leaver');
  const users = await built.serviceToken('users');
  await built.call('POST', '/internal/identity/erasures', users, { user_id: id });
  const apps = (await built.database()).collection<{ _id: string }>('authenticator_apps');
  await until(async () => (await apps.countDocuments({ _id: id })) === 0, 10_000);
  t.pass();
});

t.test('after the master key has been replaced, the app still works', async (t) => {
  const person = await withApp(built, 'lasting');
  const next = randomBytes(32);
  const lines: string[] = [];
  const command = (masterKeys: [Buffer, ...Buffer[]]) =>
    keysCommand({
      ...{ task: 'reseal', mongodbUri: built.config.mongodbUri, masterKeys },
      sealed: [sealedAuthenticatorApps],
      write: (line) => void lines.push(line),
    });
  t.equal(await command([next, masterKey]), 0);
  t.match(lines[1], /^All \d+ secrets of authenticator apps are sealed under it, too\.$/);
  t.equal(await command([next]), 0, 'the old key is needed no longer');
  const database = await built.database();
  const store = createAuthenticatorAppStore(database, createRemovedMethods(database));
  const apps = createAuthenticatorApps({ store, masterKeys: [next] });
  const app = await apps.find(person.id);
  if (app === undefined) throw new Error('the app is gone');
  t.equal(await apps.verifyCode(app, codeOf(person.secret)), true);
  t.equal(await apps.verifyCode(app, codeOf(person.secret)), false);
});

t.test('what is dangerous takes a fresh sign-in with all factors', async (t) => {
  const { id, username, secret } = await withApp(built, 'warily');
  const visitor = built.browser();
  await enterCode(visitor, await enterPassword(visitor, username), codeOf(secret));
  const email = 'warily@other.example';
  const profile = await visitor.get('/account');
  t.notMatch(profile.html, 'current_password', 'the password alone is not enough');
  await age(id);
  t.ok(isSignIn(await visitor.submit(profile, { email, current_password: PASSWORD }, 'name="email"')));
  const stored = async () => valueIn(await visitor.get('/account'), 'email');
  t.not(await stored(), email);
  t.equal(valueIn(await visitor.submit(profile, { name: 'Care' }, 'name="email"'), 'name'), 'Care');
  t.ok(isSignIn(await visitor.get('/account/applications/end-credentials')));
  await forgetCodes(built, id);
  const again = built.browser();
  await enterCode(again, await enterPassword(again, username), codeOf(secret));
  await again.submit(await again.get('/account'), { email }, 'name="email"');
  t.equal(await stored(), email);
});

import { randomBytes } from 'node:crypto';

import { formsOf } from '@gatehouse/testing/form-browser';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { rotateSigningKeys } from '../src/keys/key-rotation.ts';
import { createSigningKeyStore } from '../src/keys/signing-key-store.ts';
import { createSigningKeySealer } from '../src/keys/signing-keys.ts';
import { authorizeUrl, build, codeFor, MACHINE, PASSWORD, signInAndAllow, WEB } from './build.ts';
import { send } from './pages.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const built = await build(t, { masterKey: oldKey });

t.test('the master key is replaced: browsers stay signed in, and forms on their pages work', async (t) => {
  const person = built.browser();
  const page = await signInAndAllow(person, '/account');
  const form = formsOf(page.html).find(({ fields }) => 'username' in fields);
  const replicas = {
    'accepts the new one': await built.replica({ masterKeys: [oldKey, newKey] }),
    'uses the new one': await built.replica({ masterKeys: [newKey, oldKey] }),
  };
  for (const [label, base] of Object.entries(replicas)) {
    const at = { ...built, base };
    const account = await send(at, 'GET', '/account', { browser: person });
    t.equal(account.status, 200, label);
    const renewed = account.headers.getSetCookie();
    t.equal(renewed.length, label === 'uses the new one' ? 2 : 0, 'signed anew');
    t.ok(
      renewed.every((line) => /\.sig=.*; expires=/.test(line)),
      'for longer than the browser is open',
    );
    const fields = { ...form?.fields, name: label };
    const saved = await send(at, 'POST', form?.action ?? '', { browser: person, fields });
    t.equal(saved.status, 303, label);
  }
  await t.rejects(built.replica({ masterKeys: [newKey] }), /sealed under another master key/);
});

t.test(
  'a revocation lives until what it ends has expired, also after the lifetime was lowered',
  async (t) => {
    const lower = { ...built.config.lifetimes, accessToken: 60 };
    const base = await built.replica({ masterKeys: [oldKey], lifetimes: lower });
    const token = await built.machineToken();
    const { jti, exp = 0 } = decodeJwt(token);
    const revoked = await fetch(`${base}/oauth2/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token, ...MACHINE }),
    });
    t.equal(revoked.status, 200);
    const database = await built.database();
    const entry = await database.collection('revocations').findOne({ ref: jti });
    t.ok(entry?.expires_at.getTime() >= exp * 1000, `${entry?.expires_at.toISOString()}`);
  },
);

t.test('removals from an application are known at every replica within a second', async (t) => {
  const base = await built.replica({ masterKeys: [oldKey] });
  const admin = await built.login('admin');
  const manage = async (method: string, path: string, body?: unknown) => {
    const reply = await built.call(method, `/api/v1/applications${path}`, admin, body);
    t.ok(reply.status < 300, `${method} ${path}`);
    return reply.body;
  };
  const other = 'https://elsewhere.example.org/callback';
  const made = await manage('POST', '', {
    name: 'Changing',
    type: 'web',
    redirect_uris: [WEB.redirect_uri, other],
    scopes: ['openid'],
  });
  const [client_id, client_secret] = [String(made.client_id), String(made.client_secret)];
  const ofOther = { client_id, redirect_uri: other, scope: 'openid' };
  const authorize = () => send({ ...built, base }, 'GET', authorizeUrl(ofOther));
  const tokenError = async (code = 'unknown') => {
    const body = { grant_type: 'authorization_code', code, client_id, client_secret, redirect_uri: other };
    const response = await fetch(`${base}/oauth2/token`, { method: 'POST', body: new URLSearchParams(body) });
    return ((await response.json()) as { error?: string }).error;
  };
  /** The milliseconds until it holds, with the replica's cache being warm before. */
  const millisecondsUntil = async (holds: () => Promise<boolean>, change: () => Promise<unknown>) => {
    t.notOk(await holds());
    await change();
    const begun = performance.now();
    await until(holds, 10_000);
    return performance.now() - begun;
  };
  t.equal((await authorize()).status, 303);
  const person = built.browser();
  const asked = await person.get(authorizeUrl(ofOther));
  const code = await codeFor(built.browser(), ofOther);

  const uriGone = await millisecondsUntil(
    async () => (await authorize()).status === 400,
    () => manage('PATCH', `/${client_id}`, { redirect_uris: [WEB.redirect_uri] }),
  );
  t.ok(uriGone < 1000, `a redirect URI: ${uriGone} ms`);
  const page = await person.submit(asked, { username: 'ann', password: PASSWORD });
  t.equal(page.status, 400, 'also for somebody who was signing in');
  t.equal(await tokenError(code), 'invalid_grant', 'and for a code that it has got already');

  const { data } = await manage('GET', `/${client_id}/secrets`);
  const [secret] = data as { id: string }[];
  const secretGone = await millisecondsUntil(
    async () => (await tokenError()) === 'invalid_client',
    () => manage('DELETE', `/${client_id}/secrets/${secret?.id}`),
  );
  t.ok(secretGone < 1000, `a secret: ${secretGone} ms`);
});

t.test('a retired signing key verifies until what it has signed has expired, also after that', async (t) => {
  const token = await built.machineToken();
  const database = await built.database();
  await rotateSigningKeys(createSigningKeyStore(database), createSigningKeySealer([oldKey]));
  const rings = database.collection<{ _id: string; keys: { state: string }[] }>('key_rings');
  const retiredHoursAgo = (algorithm: string, hours: number) =>
    rings.updateOne(
      { _id: algorithm },
      {
        $set: { 'keys.$[previous].retired_at': new Date(Date.now() - hours * 3_600_000) },
        $inc: { version: 1 },
      },
      { arrayFilters: [{ 'previous.state': 'previous' }] },
    );
  const isPublished = async (algorithm: string) =>
    (await rings.findOne({ _id: algorithm }))?.keys.some(({ state }) => state === 'previous');
  // As if tokens had lived for a day at the time.
  await retiredHoursAgo('ES256', 23);
  await retiredHoursAgo('RS256', 25);
  const base = await built.replica({
    masterKeys: [oldKey],
    lifetimes: { ...built.config.lifetimes, accessToken: 60 },
  });
  await until(async () => !(await isPublished('RS256')), 10_000);
  t.equal(await isPublished('ES256'), true);
  const status = await fetch(`${base}/api/v1/auth/status`, {
    headers: { authorization: `Bearer ${token}` },
  });
  t.match(await status.json(), { authenticated: true });
});

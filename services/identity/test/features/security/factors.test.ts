import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import t from 'tap';
import { DASHBOARD_CLIENT } from '../../../src/core/oidc/clients/client-metadata.ts';
import { LOGIN_CLIENT } from '../../../src/features/login/logins.ts';
import { build, MACHINE, PASSWORD } from '../../build.ts';
import { heading } from '../../pages.ts';
import { signerOf } from '../../tokens.ts';
import { codeOf, enterPassword, withApp, wrongCode } from '../authenticator-app/app.ts';
import { createAuthenticator } from '../passkeys/authenticator.ts';

const masterKey = randomBytes(32);
const built = await build(t, { host: 'localhost', checkResponses: true, masterKey });
const { call } = built;

const logIn = (username: string, more: object = {}) =>
  call('POST', '/api/v1/auth/login', undefined, { username, password: PASSWORD, ...more });

t.test(
  'a login at the API needs a code of an account that has an app, and nothing steps around it',
  async (t) => {
    const person = await withApp(built, 'program');
    const missing = await logIn('program');
    t.match(missing, {
      status: 403,
      body: { error: 'mfa_required', message: /send a code of its authenticator app/ },
    });
    t.strictSame((await logIn('program', { code: '' })).body.error, 'mfa_required');
    t.match(await logIn('program', { password: 'wrong', code: codeOf(person.secret) }), {
      status: 401,
      body: { error: 'The username or the password is not right.' },
    });
    t.match(await logIn('nobody', { code: codeOf(person.secret) }), {
      status: 401,
      body: { error: 'The username or the password is not right.' },
    });
    t.match(await logIn('program', { code: wrongCode(person.secret) }), {
      status: 401,
      body: { error: 'The code is not right.' },
    });
    for (const code of [1, null, { $gt: '' }]) t.equal((await logIn('program', { code })).status, 400);
    const { status, body } = await logIn('program', { code: codeOf(person.secret) });
    t.equal(status, 200, 'the code was not used up with a wrong password');
    t.equal((await logIn('program', { code: codeOf(person.secret) })).status, 401, 'but now it is');
    t.equal((await call('POST', '/api/v1/auth/refresh', String(body.token))).status, 200);
    t.equal((await logIn('program', { code: person.codes[9] })).status, 200, 'a recovery code');
    t.equal((await logIn('program', { code: person.codes[9] })).status, 401);
    t.equal((await logIn('ann', { code: '123456' })).status, 200, 'without an app there is nothing to check');
  },
);

t.test('people see and remove their own factors, and admins those of others', async (t) => {
  const person = await withApp(built, 'listed');
  const add = await person.visitor.get('/account/passkeys/add');
  const authenticator = createAuthenticator(built.base);
  const passkey = authenticator.create(add);
  await person.visitor.submit(add, { name: 'My key', passkey }, 'name="passkey"');
  const guest = built.browser();
  const asked = await enterPassword(guest, 'listed');
  t.match(
    asked.html,
    /name="passkey"[\s\S]*name="authenticator_app"[\s\S]*name="recovery_code"/,
    'in this order',
  );
  const used = await guest.submit(asked, { passkey: authenticator.get(asked) }, 'name="passkey"');
  t.equal(heading(used), 'Profile', 'a passkey needs no code');
  const without = await withApp(built, 'keyless');
  t.notMatch((await enterPassword(built.browser(), without.username)).html, 'name="passkey"');
  const admin = await built.login('admin');
  const of = `?user_id=${person.id}`;
  const listed = await call('GET', `/api/v1/factors${of}`, admin);
  t.match(listed, {
    status: 200,
    body: {
      data: [
        { type: 'passkey', name: 'My key', last_used_at: String },
        { type: 'authenticator_app', name: null, recovery_codes_left: 10 },
      ],
    },
  });
  const rows = listed.body.data as { id: string }[];
  t.strictSame(
    rows.map((row) => Object.keys(row).sort().join()),
    ['created_at,id,last_used_at,name,type', 'created_at,id,last_used_at,name,recovery_codes_left,type'],
    'nothing else is told',
  );
  const own = String((await logIn('listed', { code: codeOf(person.secret) })).body.token);
  t.strictSame((await call('GET', '/api/v1/factors', own)).body.data, [
    rows[0],
    {
      ...rows[1],
      last_used_at: ((await call('GET', '/api/v1/factors', own)).body.data as { last_used_at: string }[])[1]
        ?.last_used_at,
    },
  ]);
  const [{ id: key } = { id: '' }, { id: app } = { id: '' }] = rows;
  const ann = await built.login('ann');
  for (const token of [ann, await built.machineToken(MACHINE)]) {
    t.equal((await call('GET', `/api/v1/factors${of}`, token)).status, 403);
    t.equal((await call('DELETE', `/api/v1/factors/${app}${of}`, token)).status, 403);
  }
  t.equal((await call('DELETE', `/api/v1/factors/${app}`, ann)).status, 404, 'of somebody else');
  t.equal((await call('GET', '/api/v1/factors?user_id=usr_nobody', admin)).status, 404);
  t.equal((await call('GET', '/api/v1/factors')).status, 401);
  t.equal((await call('DELETE', `/api/v1/factors/${key}`, own)).status, 204);
  t.equal((await call('DELETE', `/api/v1/factors/${app}${of}`, admin)).status, 204);
  t.equal((await call('DELETE', `/api/v1/factors/${app}${of}`, admin)).status, 404);
  t.strictSame((await call('GET', '/api/v1/factors', own)).body.data, []);
  t.equal((await logIn('listed')).status, 200, 'the password alone signs in');
  const log = (await built.database()).collection('audit_log');
  const entries = await log
    .find({ subject: person.id, action: /removed/ })
    .sort({ _id: 1 })
    .toArray();
  t.strictSame(
    entries.map(({ action, actor }) => [action, actor]),
    [
      ['passkey.removed', person.id],
      ['authenticator_app.removed', built.people.admin.id],
    ],
  );
});

t.test('people remove their own with the token of a fresh login only', async (t) => {
  const person = await withApp(built, 'stale');
  const { body } = await logIn('stale', { code: codeOf(person.secret) });
  const [{ id } = { id: '' }] = (await call('GET', '/api/v1/factors', String(body.token))).body.data as {
    id: string;
  }[];
  const { epoch, gid } = decodeJwt(String(body.token));
  const sign = await signerOf(await built.database(), { masterKey, issuer: built.base });
  const removeWith = async (seconds: number, clientId = LOGIN_CLIENT) => {
    const { token } = await sign({
      ...{ subject: person.id, clientId, audience: `${built.base}/api`, lifetime: 3600 },
      scope: 'openid manage:apps',
      claims: { gid, roles: ['user'], epoch, auth_time: Math.floor(Date.now() / 1000) - seconds },
    });
    return call('DELETE', `/api/v1/factors/${id}`, token);
  };
  t.match(await removeWith(301), {
    status: 403,
    body: { error: { message: /of the last five minutes/ } },
  });
  t.equal(
    (await removeWith(0, DASHBOARD_CLIENT)).status,
    403,
    'a sign-in in a remembered browser has no code',
  );
  t.equal((await removeWith(290)).status, 204);
});

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@gatehouse/testing/processes';
import { exportJWK, generateKeyPair } from 'jose';
import t from 'tap';
import { build, PASSWORD, signInAndAllow } from '../../build.ts';
import { heading, linkTo } from '../../pages.ts';

const built = await build(t);
const { browser, call, createApplication, outbox, people } = built;
const counters = (await built.database()).collection('sign_in_counters');
let password = PASSWORD;

/** The subjects of the mails that have come to ann since it was called last, `count` of them. */
const read = new Set<string>();
/** The text of the last of them. */
let latest = '';
async function subjects(count: number): Promise<string[]> {
  const mails: string[] = [];
  const look = async () => {
    for (const file of (await readdir(outbox)).filter((name) => !name.startsWith('.')).sort()) {
      if (read.has(file)) continue;
      read.add(file);
      const mail = await readFile(join(outbox, file), 'utf8');
      if (!mail.startsWith('To: ann@example.org')) continue;
      mails.push(/^Subject: (.*) – Gatehouse$/m.exec(mail)?.[1] ?? mail);
      latest = mail;
    }
    return mails.length >= count;
  };
  await until(look, 5000);
  // One too many would be found here or by the next call.
  if (count === 0) await new Promise((resolve) => setTimeout(resolve, 100));
  await look();
  await counters.deleteMany({});
  return mails.sort();
}

async function login(userAgent: string): Promise<string> {
  const response = await fetch(`${built.base}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({ username: 'ann', password }),
  });
  return String(((await response.json()) as { token: string }).token);
}

const WHAT_ENDED = /no longer work\. Their members, .+ have ended, too\. Your webhooks are paused\./;
const NEW_DEVICE = 'A sign-in from a new device';
const CHANGED = 'Your password has been changed';
const CREDENTIAL = 'A new API credential was created';

t.test('the first sign-in from a device causes a mail', async (t) => {
  const visitor = browser();
  await signInAndAllow(visitor, '/account');
  t.same(await subjects(1), [NEW_DEVICE]);
  for (const login of ['ann', 'ann@example.org']) {
    await visitor.submit(await visitor.get('/account'), {}, '/account/sign-out');
    await signInAndAllow(visitor, '/account', login);
  }
  t.same(await subjects(0), [], 'the same browser is known, whatever was typed');
  await login('curl/8.5.0');
  t.same(await subjects(1), [NEW_DEVICE]);
  await login('curl/8.6.0');
  t.same(await subjects(0), [], 'so is a program');
  await login('a-script/1');
  await signInAndAllow(browser(), '/account');
  t.same(await subjects(2), [NEW_DEVICE, NEW_DEVICE]);
});

t.test('people get a mail when they are offered an application, and when theirs is given away', async (t) => {
  const admin = await built.login('admin');
  const draft = { name: 'Given', type: 'machine', scopes: ['read:data'] };
  const { client_id } = await createApplication(admin, draft);
  const give = (to: string) => call('POST', `/api/v1/applications/${client_id}/transfer`, admin, { to });
  const offered = await give('ann@example.org');
  t.equal(offered.status, 202);
  t.same(await subjects(1), ['An application is offered to you']);
  const accept = `/api/v1/transfers/${offered.body.id}/accept`;
  t.match(await call('POST', accept, await login('curl/8.5.0')), {
    status: 200,
    body: { owner: people.ann.id },
  });
  t.match(await give(people.admin.id), { status: 200, body: { owner: people.admin.id } });
  t.same(await subjects(1), ['Your application has a new owner']);
  await call('DELETE', `/api/v1/applications/${client_id}`, admin);
});

t.test('each new credential of an application causes a mail to its owner', async (t) => {
  const token = await login('curl/8.5.0');
  const admin = await built.login('admin');
  const root = '/api/v1/applications';
  const draft = { name: 'Tool', type: 'machine', scopes: ['read:data'] };
  const path = `${root}/${(await createApplication(token, draft)).client_id}`;
  const publicKey = await exportJWK((await generateKeyPair('ES256')).publicKey);
  const jwks = { keys: [{ ...publicKey, kid: 'k', alg: 'ES256' }] };
  t.same(await subjects(1), [CREDENTIAL], 'the first secret');
  const key = { name: 'Key', scopes: ['read:data'] };
  let keyPath = '';
  for (const [name, action, count] of [
    ['a second secret', () => call('POST', `${path}/secrets`, token), 1],
    ['a key', () => call('POST', `${path}/api-keys`, token, key), 1],
    ['a key from an admin', () => call('POST', `${path}/api-keys`, admin, key), 1],
    ['a rotated key', () => call('POST', `${keyPath}/rotate`, token, { overlap_seconds: 60 }), 1],
    ['public keys', () => call('PATCH', path, token, { jwks }), 1],
    ['another name', () => call('PATCH', path, token, { name: 'Tools' }), 0],
    ['public keys from the start', () => call('POST', root, token, { ...draft, jwks }), 1],
    ['the removal of a key', () => call('DELETE', keyPath, token), 0],
  ] as const) {
    const { status, headers } = await action();
    t.ok(status < 300, name);
    if (name === 'a key') keyPath = String(headers.get('location'));
    t.same(
      await subjects(count),
      Array.from({ length: count }, () => CREDENTIAL),
      name,
    );
    if (name === 'a key') t.match(latest, '“Tool” got an API key, “Key”.');
    if (name === 'a key from an admin') t.match(latest, 'The credential was made by admin, an admin.');
    if (name === 'a rotated key') t.match(latest, 'an API key in place of another, “Key”.');
  }
  for (let i = 0; i < 6; i += 1) await call('POST', `${path}/api-keys`, token, key);
  t.equal((await subjects(6)).length, 6, 'however many there are');
});

t.test('an end of credentials and a revocation of all access each cause a mail', async (t) => {
  const REVOKED = 'All access to your account has been revoked';
  const revocations = `/api/v1/users/${people.ann.id}/revocations`;
  const visitor = browser();
  await signInAndAllow(visitor, '/account');
  await subjects(1);
  const endCredentials = async () => {
    const page = await visitor.get('/account/applications/end-credentials');
    return visitor.submit(page, { confirmation: 'ann' }, 'name="confirmation"');
  };
  for (const [name, act, subject, says] of [
    [
      'by the person, of the credentials',
      endCredentials,
      'All secrets and keys of your applications have ended',
      /UTC, from the address 127/,
    ],
    [
      'by the person',
      async () => call('POST', revocations, await login('curl/8.5.0'), {}),
      REVOKED,
      /UTC, from the address 127/,
    ],
    [
      'by an admin',
      async () => call('POST', revocations, await built.login('admin'), {}),
      REVOKED,
      /UTC\. You/,
    ],
  ] as const) {
    t.ok((await act()).status < 300, name);
    t.same(await subjects(1), [subject], name);
    t.match(latest, says, name);
  }
});

t.test(
  'a member who is removed, and the owner of an application that a member leaves, get a mail',
  async (t) => {
    const token = await login('curl/8.5.0');
    const admin = await built.login('admin');
    const shared = async (owner: string, member: string, user: string) => {
      const draft = { name: 'Shared', type: 'machine', scopes: ['read:data'] };
      const { client_id: id } = await createApplication(owner, draft);
      await call('POST', `/api/v1/applications/${id}/members`, owner, { user, role: 'viewer' });
      await call('POST', `/api/v1/memberships/${id}/accept`, member);
      await subjects(owner === token ? 2 : 1);
      return id;
    };
    const ofAdmin = await shared(admin, token, 'ann');
    await call('DELETE', `/api/v1/applications/${ofAdmin}/members/${people.ann.id}`, admin);
    t.same(await subjects(1), ['You are no longer a member of an application']);
    await call('DELETE', `/api/v1/memberships/${await shared(token, admin, 'admin')}`, admin);
    t.same(await subjects(1), ['A member left your application']);
    t.match(latest, 'admin left the application');
  },
);

t.test('each new password causes a mail, and remaining credentials can be ended', async (t) => {
  const visitor = browser();
  await signInAndAllow(visitor, '/account');
  t.same(await subjects(1), [NEW_DEVICE]);
  const next = () => `${PASSWORD} ${Math.random()}`;
  const passwordPath = `/v1/users/${people.ann.id}/password`;
  const machine = await built.machineToken();
  const ofOwn = async () => {
    const new_password = next();
    const body = { new_password, current_password: password };
    const reply = await call('PUT', passwordPath, await login('curl/8.5.0'), body);
    password = new_password;
    return reply;
  };
  const ofMachine = () => {
    password = next();
    return call('PUT', passwordPath, machine, { new_password: password });
  };
  const ofMachineInUpdate = () => {
    password = next();
    return call('PUT', `/v2/users/${people.ann.id}`, machine, { password });
  };
  const then = String.raw`was changed or removed on \d+ \w+ \d{4} at \d\d:\d\d UTC`;
  for (const [name, change, occasion] of [
    ['by the person, at the API', ofOwn, `${then}, from the address 127.0.0.1[.]`],
    ['by a machine', ofMachine, `${then}[.]`],
    ['together with other fields', ofMachineInUpdate, `${then}[.]`],
  ] as const) {
    t.ok((await change()).status < 300, name);
    t.same(await subjects(1), [CHANGED], name);
    t.match(latest, new RegExp(occasion), name);
  }

  await signInAndAllow(visitor, '/account', 'ann', password);
  const token = await login('curl/8.5.0');
  const tool = { name: 'Left behind', type: 'machine', scopes: ['read:data'] };
  const credentials = await createApplication(token, tool);
  const ofTool = () => built.json({ grant_type: 'client_credentials', ...credentials });
  const path = `/api/v1/applications/${credentials.client_id}`;
  const made = await call('POST', `${path}/api-keys`, token, { name: 'Nightly', scopes: ['read:data'] });
  const statusOf = async (credential: unknown) =>
    (await call('GET', '/api/v1/auth/status', String(credential))).status;
  await subjects(2);
  const shown = await visitor.get('/account/applications');
  for (const text of ['Your own applications', 'Left behind', 'Nightly', 'never used'])
    t.match(shown.html, text);

  await t.test('on the page of the password', async (t) => {
    const page = await visitor.get('/account/password');
    t.notMatch(page.html, 'Did somebody else know your password?');
    t.equal(await statusOf(made.body.api_key), 200);
    await ofTool();
    const isUsed = async () => (await visitor.get('/account/applications')).html.includes('last used on');
    await until(isUsed, 5000);
    const fields = { current_password: password, new_password: next() };
    const saved = await visitor.submit(page, fields, 'new_password');
    password = fields.new_password;
    t.same(await subjects(1), [CHANGED]);
    const access = (await ofTool()).body.access_token;
    t.same([await statusOf(access), await statusOf(made.body.api_key)], [200, 200], 'these still work');
    const ended = await visitor.confirm(saved, 'end-credentials', { confirmation: 'ann' });
    t.match(ended.html, WHAT_ENDED);
    t.same([await statusOf(access), await statusOf(made.body.api_key)], [401, 401]);
    t.equal((await ofTool()).status, 401);
    t.match(ended.html, 'Left behind', 'the applications stay');
    t.notMatch(ended.html, 'end-credentials');
  });

  await t.test('after a recovery', async (t) => {
    const token = await login('curl/8.5.0');
    const secret = await call('POST', `${path}/secrets`, token);
    credentials.client_secret = String(secret.body.client_secret);
    await subjects(1);
    const forgetful = browser();
    await forgetful.submit(await forgetful.get('/account/forgotten-password'), { login: 'ann' });
    const link = await linkTo(built, 'ann@example.org');
    await subjects(1);
    password = next();
    const done = await forgetful.submit(await forgetful.get(link), { new_password: password });
    t.equal(heading(done), 'Your new password is saved');
    t.match(done.html, /Your registration tokens, .+ have ended, .+ The members, .+ stay\./);
    t.same(await subjects(2), ['A link for a new password was used', CHANGED]);
    const access = (await ofTool()).body.access_token;
    t.equal(await statusOf(access), 200);
    const question = await forgetful.submit(done, {}, 'end-credentials');
    t.equal(heading(question), 'End all secrets and keys?');
    t.match(
      question.html,
      /Their members, your registration tokens, .+ end, too\. Your webhooks are paused\./,
    );
    t.match(question.html, 'href="/account/applications/revoke-access"');
    const refused = await forgetful.submit(question, { confirmation: 'bob' }, 'end-credentials');
    t.match(refused, { status: 400, html: /The name does not match/ });
    t.equal(await statusOf(access), 200, 'nothing has ended yet');
    const ended = await forgetful.submit(question, { confirmation: 'ann' }, 'end-credentials');
    t.equal(heading(ended), 'The secrets and keys have ended');
    t.match(ended.html, WHAT_ENDED);
    t.equal(await statusOf(access), 401);
    t.equal((await ofTool()).status, 401);
    t.equal((await forgetful.submit(done, {}, 'end-credentials')).status, 400, 'once');
  });
});

t.test('an end of all sign-ins forgets the devices, but for the one in which it was done', async (t) => {
  const admin = await built.login('admin');
  const status = (value: string) =>
    call('PUT', `/v1/users/${people.ann.id}/status`, admin, { status: value });
  const [thief, owner] = [browser(), browser()];
  const signIn = async (visitor: typeof thief) => {
    await visitor.submit(await visitor.get('/account'), { username: 'ann', password });
    const isNew = (await subjects(0)).includes(NEW_DEVICE);
    await visitor.submit(await visitor.get('/account'), {}, '/account/sign-out');
    return isNew;
  };
  for (const [name, end] of [
    ['nothing', async () => {}],
    ['all sessions', async () => call('DELETE', '/api/v1/sessions', await login('curl/8.5.0'))],
    ['all access', () => call('POST', `/api/v1/users/${people.ann.id}/revocations`, admin)],
    ['a deactivation', async () => [await status('inactive'), await status('active')]],
  ] as const) {
    await signIn(thief);
    await end();
    t.equal(await signIn(thief), name !== 'nothing', name);
  }
  await owner.submit(await owner.get('/account'), { username: 'ann', password });
  const fields = { current_password: password, new_password: `${password} again` };
  await owner.submit(await owner.get('/account/password'), fields, '/account/password');
  password = fields.new_password;
  await owner.submit(await owner.get('/account'), {}, '/account/sign-out');
  await subjects(0);
  t.same([await signIn(thief), await signIn(owner)], [true, false], 'a new password');
});

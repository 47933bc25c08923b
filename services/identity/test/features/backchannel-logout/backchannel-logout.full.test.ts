import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import t, { type Test } from 'tap';
import { clientSecretOf, newApplication } from '../../../src/core/applications/application.ts';
import { createApplicationStore } from '../../../src/core/applications/store/application-store.ts';
import { createLogoutJobs, LOGOUTS } from '../../../src/features/backchannel-logout/logout-jobs.ts';
import { authorizeUrl, type Built, build, PASSWORD, signInAndAllow } from '../../build.ts';
import { linkTo } from '../../pages.ts';

type Person = { id: string; email: string; browser: ReturnType<Built['browser']> };

const REDIRECT_URI = 'https://listening.example.org/callback';

/** An application that listens, on loopback: the applications API takes only https and host names. */
async function setUp(
  t: Test,
  options: {
    networks?: string[];
    host?: string;
    consentEpoch?: number;
    attempts?: number;
    status?: number;
  } = {},
) {
  const { networks = ['10.0.0.0/8', '127.0.0.1'], host = '127.0.0.1', consentEpoch = 0 } = options;
  const mongodbUri = await testDatabase(t);
  const heard: string[] = [];
  /** What it answers, one after the other; the last for good. 0 is nothing at all. */
  const reply = { statuses: [options.status ?? 200] };
  const seen = { connections: 0 };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      heard.push(new URLSearchParams(body).get('logout_token') ?? '');
      const status = reply.statuses.length > 1 ? reply.statuses.shift() : reply.statuses[0];
      if (status) response.writeHead(status).end();
    });
  }).listen(0, '127.0.0.1');
  server.on('connection', () => {
    seen.connections += 1;
  });
  await once(server, 'listening');
  t.teardown(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;

  const { store, connection } = await startTestDatabase(t, {
    uri: mongodbUri,
    define: (connection) => ({
      applications: createApplicationStore(connection, new LRUCache({ max: 10 })),
      logouts: createLogoutJobs(connection),
    }),
  });
  if (options.attempts !== undefined) {
    const logout = { clientId: 'app_listening', accountId: 'usr_1', sid: 'sid_1', consentEpoch };
    await store.logouts.add(logout, 'usr_owner');
    const claimed = { 'job.holder': 'att_killed', 'job.attempts': options.attempts };
    await connection.collection(LOGOUTS).updateMany({}, { $set: claimed });
  }
  const secret = 'the-secret-of-the-listening-application';
  const listening = newApplication(
    {
      id: 'app_listening',
      name: 'Listening',
      type: 'web',
      owner: null,
      scopes: ['openid'],
      redirectUris: [REDIRECT_URI],
      backchannelLogoutUri: `http://${host}:${port}/signed-out`,
    },
    clientSecretOf(secret),
  );
  await store.applications.insertIfAbsent({ ...listening, consentEpoch });
  const built = await build(t, { mongodbUri, config: { logoutNetworks: networks } });
  const browser = built.browser();
  const request = { client_id: 'app_listening', redirect_uri: REDIRECT_URI, scope: 'openid' };
  const signIn = async (username = 'ann', in_ = browser) => {
    const page = await signInAndAllow(in_, authorizeUrl(request), username);
    const { status, body } = await built.json({
      grant_type: 'authorization_code',
      client_id: 'app_listening',
      client_secret: secret,
      redirect_uri: REDIRECT_URI,
      code: page.url.searchParams.get('code'),
    });
    t.equal(status, 200, JSON.stringify(body));
    return { idToken: String(body.id_token), sid: decodeJwt(String(body.id_token)).sid };
  };
  return { ...built, newBrowser: built.browser, browser, heard, response: reply, seen, signIn };
}

t.test('an application with a logout URI is notified of a sign-out', async (t) => {
  const { base, people, browser, heard, signIn } = await setUp(t);
  const keys = createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));
  /** OpenID Connect Back-Channel Logout §2.4. */
  async function check(sid: unknown): Promise<void> {
    await until(() => heard.length > 0, 5000);
    const { payload, protectedHeader } = await jwtVerify(heard.pop() ?? '', keys, {
      issuer: base,
      audience: 'app_listening',
    });
    t.equal(protectedHeader.typ, 'logout+jwt');
    t.match(payload, {
      sub: people.ann.id,
      sid,
      jti: String,
      iat: Number,
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
    t.notOk('nonce' in payload);
    t.same(heard, [], 'once');
  }

  const first = await signIn();
  t.type(first.sid, 'string');
  await browser.submit(await browser.get('/account'), {}, '/account/sign-out');
  await check(first.sid);

  const second = await signIn();
  t.not(second.sid, first.sid);
  const page = await browser.get(`/oauth2/logout?id_token_hint=${second.idToken}`);
  await browser.submit(page, { logout: 'yes' });
  await check(second.sid);
});

t.test('it is notified only of its own people, whoever owned it before', async (t) => {
  for (const consentEpoch of [0, 1]) {
    const { browser, heard, signIn } = await setUp(t, { consentEpoch });
    const { sid } = await signIn();
    await browser.submit(await browser.get('/oauth2/logout?client_id=app_listening'), {});
    await until(() => heard.length > 0, 3000).catch(() => {});
    t.match(heard.map(decodeJwt), [{ sid }], `after ${consentEpoch} transfers`);
    t.equal((await browser.get('/account')).url.pathname, '/account', 'and stays signed in');
  }
});

t.test('an application that does not respond keeps nobody signed in', async (t) => {
  const { browser, heard, response: reply, signIn } = await setUp(t);
  reply.statuses = [500];
  await signIn();
  const page = await browser.submit(await browser.get('/account'), {}, '/account/sign-out');
  t.equal(page.url.pathname, '/account/signed-out');
  await until(() => heard.length > 0, 5000);
  t.match((await browser.get('/account')).url.pathname, /^\/sign-in\//);
});

t.test(
  'a sign-out waits for no application, so that its time tells nothing of whom it reaches',
  async (t) => {
    const { browser, heard, response: reply, signIn } = await setUp(t);
    reply.statuses = [0];
    for (const [path, body, action] of [
      ['/oauth2/logout', { logout: 'yes' }, undefined],
      ['/account', {}, '/account/sign-out'],
    ] as const) {
      await signIn();
      const page = await browser.get(path);
      const began = performance.now();
      await browser.submit(page, body, action);
      t.ok(performance.now() - began < 1500, `${path}: ${performance.now() - began} ms`);
      await until(() => heard.pop() !== undefined, 5000);
    }
  },
);

t.test('nobody makes us connect to our neighbours, unless the operator allows their network', async (t) => {
  for (const [networks, host, expected] of [
    [['10.0.0.0/8', '127.0.0.2', '::2'], 'localhost', 0],
    [['10.0.0.0/8', '127.0.0.2', '::2'], '127.0.0.1', 0],
    [['10.0.0.0/8', '127.0.0.2', '::2'], '[::ffff:127.0.0.1]', 0],
    [['10.0.0.0/8', '127.0.0.2', '::2'], '0.0.0.0', 0],
    [['127.0.0.0/8', '::1'], 'localhost', 1],
  ] as [string[], string, number][]) {
    const { browser, heard, seen, signIn } = await setUp(t, { networks, host });
    await signIn();
    const page = await browser.submit(await browser.get('/oauth2/logout'), { logout: 'yes' });
    t.equal(page.url.pathname, '/oauth2/logout/success');
    if (expected > 0) await until(() => heard.length > 0, 5000);
    else await sleep(500);
    const found = [heard.length, seen.connections];
    t.same(found, [expected, expected], `${host}, allowed: ${networks}`);
  }
});

t.test('every end of a session notifies the application, once', async (t) => {
  const built = await setUp(t);
  const { call, heard, signIn } = built;
  const admin = await built.login('admin');
  const next = { new_password: `${PASSWORD} 2` };
  const causes: [string, (person: Person) => Promise<unknown>][] = [
    [
      'another account in the same browser',
      ({ browser }) =>
        signInAndAllow(browser, authorizeUrl({ prompt: 'login', another_account: 'yes' }), 'admin'),
    ],
    ['DELETE /api/v1/sessions', ({ id }) => call('DELETE', `/api/v1/sessions?user_id=${id}`, admin)],
    ['a password change by the API', ({ id }) => call('PUT', `/v1/users/${id}/password`, admin, next)],
    [
      'a password change on the page',
      async ({ browser }) => {
        const fields = { current_password: PASSWORD, ...next };
        await browser.submit(await browser.get('/account/password'), fields, 'new_password');
      },
    ],
    [
      'recovery',
      async ({ email }) => {
        const other = built.newBrowser();
        await other.submit(await other.get('/account/forgotten-password'), { login: email });
        await other.submit(await other.get(await linkTo(built, email)), { new_password: next.new_password });
      },
    ],
    ['deactivation', ({ id }) => call('PUT', `/v1/users/${id}/status`, admin, { status: 'inactive' })],
    ['deletion', ({ id }) => call('DELETE', `/v1/users/${id}`, admin)],
  ];
  for (const [index, [name, cause]] of causes.entries()) {
    // Only addresses that are confirmed get links.
    const username = name === 'recovery' ? 'ann' : `person${index}`;
    const email = `${username}@example.org`;
    const created = await call('POST', '/v1/users', admin, { username, email, password: PASSWORD });
    const id = String(created.body.id ?? built.people.ann.id);
    const person = { id, email, browser: built.newBrowser() };
    const { sid } = await signIn(username, person.browser);
    await cause(person);
    await until(() => heard.length > 0, 5000);
    await sleep(200);
    t.match(heard.splice(0).map(decodeJwt), [{ sub: person.id, sid }], name);
  }
});

t.test('nobody waits for an application that does not answer, and it is asked again', async (t) => {
  const { browser, heard, response: reply, signIn } = await setUp(t);
  await signIn();
  reply.statuses = [0, 500, 200];
  const begin = Date.now();
  const page = await browser.submit(await browser.get('/oauth2/logout'), { logout: 'yes' });
  t.equal(page.url.pathname, '/oauth2/logout/success');
  t.ok(Date.now() - begin < 2000, 'oidc-provider gives it 2.5 s');
  await until(() => heard.length === 3, 20_000);
  t.equal(new Set(heard.map((token) => decodeJwt(token).jti)).size, 3, 'with a token for each attempt');
  await sleep(1500);
  t.equal(heard.length, 3, 'and not after it has answered');
});

t.test('what a process that was killed had to deliver is delivered after the next start', async (t) => {
  for (const interrupted of [
    { attempts: 1, status: 200 },
    { attempts: 3, status: 500 },
  ]) {
    const { heard, database } = await setUp(t, interrupted);
    await until(() => heard.length > 0, 10_000);
    t.match(heard.map(decodeJwt), [{ sid: 'sid_1' }]);
    const jobs = (await database()).collection(LOGOUTS);
    await until(async () => (await jobs.countDocuments({ job: null })) === 1, 5000);
    t.ok(await jobs.findOne({ expires_at: { $lte: new Date() } }), 'and forgotten');
  }
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@gatehouse/kit/logger';
import { createDatabase } from '@gatehouse/mongo/database';
import { until } from '@gatehouse/testing/processes';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import t, { type Test } from 'tap';
import { hashSecret, newApplication } from '../../src/applications/application.ts';
import { createApplicationStore } from '../../src/applications/application-store.ts';
import { authorizeUrl, build, signInAndAllow } from '../build.ts';

const REDIRECT_URI = 'https://listening.example.org/callback';

/** An application that listens, on loopback: the applications API takes only https and host names. */
async function setUp(t: Test, options: { networks?: string[]; host?: string } = {}) {
  const { networks = ['10.0.0.0/8', '127.0.0.1'], host = '127.0.0.1' } = options;
  const mongodbUri = await testDatabase(t);
  const heard: string[] = [];
  const answer = { status: 200 };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      heard.push(new URLSearchParams(body).get('logout_token') ?? '');
      response.writeHead(answer.status).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as AddressInfo;

  const logger = createLogger({ name: 'test', level: 'fatal', readable: false });
  const database = createDatabase({ uri: mongodbUri, name: 'identity', logger });
  const applications = createApplicationStore(database.connection, new LRUCache({ max: 10 }));
  await database.start();
  t.teardown(() => database.stop());
  const now = new Date();
  const secret = 'the-secret-of-the-listening-application';
  await applications.insertIfAbsent(
    newApplication(
      {
        id: 'app_listening',
        name: 'Listening',
        type: 'web',
        owner: null,
        scopes: ['openid'],
        redirectUris: [REDIRECT_URI],
        backchannelLogoutUri: `http://${host}:${port}/signed-out`,
      },
      { id: 'sec_1', hash: hashSecret(secret), createdAt: now, expiresAt: null, lastUse: null },
    ),
  );
  const built = await build(t, { mongodbUri, config: { logoutNetworks: networks } });
  const browser = built.browser();
  const request = { client_id: 'app_listening', redirect_uri: REDIRECT_URI, scope: 'openid' };
  const signIn = async () => {
    const page = await signInAndAllow(browser, authorizeUrl(request));
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
  return { ...built, browser, heard, answer, signIn };
}

t.test('an application that listens is told of a sign-out', async (t) => {
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

t.test('that it does not answer keeps nobody signed in', async (t) => {
  const { browser, heard, answer, signIn } = await setUp(t);
  answer.status = 500;
  await signIn();
  const page = await browser.submit(await browser.get('/account'), {}, '/account/sign-out');
  t.equal(page.url.pathname, '/account/signed-out');
  await until(() => heard.length > 0, 5000);
  t.match((await browser.get('/account')).url.pathname, /^\/sign-in\//);
});

t.test('nobody makes us call our neighbours, unless the operator allows their network', async (t) => {
  for (const [networks, host, expected] of [
    [['10.0.0.0/8', '127.0.0.2', '::2'], 'localhost', 0],
    [['127.0.0.0/8'], 'localhost', 1],
  ] as [string[], string, number][]) {
    const { browser, heard, signIn } = await setUp(t, { networks, host });
    await signIn();
    // The page comes when every application has answered, or has been given up.
    const page = await browser.submit(await browser.get('/oauth2/logout'), { logout: 'yes' });
    t.equal(page.url.pathname, '/oauth2/logout/success');
    t.equal(heard.length, expected, `${host}, allowed: ${networks}`);
  }
});

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { listen } from '@gatehouse/testing/listen';
import t from 'tap';
import { authorizeUrl, build, NATIVE, SPA, signInAndAllow, WEB } from '../../build.ts';
import { type Caller, callers } from '../../callers.ts';
import { heading, isSignIn, signedIn } from '../../pages.ts';
import { pkce, refresh, statusesOf, tokensFor, untilDead } from '../../tokens.ts';

/** The site of an application that describes itself, until it is away. */
let isAway = false;
const site = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  if (isAway) response.writeHead(503).end();
  else response.end(JSON.stringify({ client_id: agent, client_name: 'Agent', redirect_uris: [CALLBACK] }));
});
const CALLBACK = 'http://127.0.0.1:49152/callback';
const agent = `http://127.0.0.1:${await listen(t, site)}/agent.json`;

const masterKey = randomBytes(32);
const built = await build(t, {
  masterKey,
  checkResponses: true,
  config: {
    freshSignIn: 'on',
    clientMetadata: 'on',
    clientMetadataScopes: ['openid', 'profile'],
    clientMetadataNetworks: ['127.0.0.0/8'],
  },
});
const { call } = built;
const CONSENTS = '/api/v1/consents';
const id = await built.createPerson('ben');
const tokens = await callers(built, { masterKey, person: 'ben' });
const own = tokens['the person'];
const admin = tokens['an admin'];
const of = `?user_id=${id}`;
type Consent = { client_id: string; name: string; allowed_since: string } & Record<string, unknown>;
const consents = async (query = of, token = admin) =>
  (await call('GET', CONSENTS + query, token)).body.data as Consent[];

t.test('a person, and an admin, see what applications may do', async (t) => {
  const before = Date.now();
  await tokensFor(built, { username: 'ben', more: { scope: 'openid profile' } });
  await tokensFor(built, { username: 'ben', client: SPA, more: { scope: 'openid read:data' } });
  const listed = await consents();
  t.same(
    listed.map(({ allowed_since, ...it }) => it),
    [
      {
        ...{ client_id: SPA.client_id, name: 'Spa' },
        hosts: ['spa.example.org'],
        scopes: ['openid', 'read:data'],
      },
      {
        ...{ client_id: WEB.client_id, name: 'Web of Examples' },
        ...{ hosts: ['web.example.org'], scopes: ['openid', 'profile'] },
      },
    ],
  );
  const [since = 0] = listed.map((it) => Date.parse(it.allowed_since));
  t.ok(since > before - 1000 && since <= Date.now());
  t.same(await consents('', own), listed, 'the same as the person');
  t.same(
    (await consents('')).map(({ client_id }) => client_id),
    [NATIVE.client_id],
    'only when named',
  );
});

/** What each of them gets: the list of somebody, and the end of what that somebody has not allowed. */
const MATRIX: Record<Caller, [list: number, end: number]> = {
  nobody: [401, 401],
  'the person': [200, 404],
  'somebody else': [403, 403],
  'an editor': [403, 403],
  'an admin': [200, 404],
  'an admin who signed in six minutes ago': [200, 401],
  'an application of an admin': [403, 403],
  'a machine': [403, 403],
};
for (const [name, [list, end]] of Object.entries(MATRIX) as [Caller, [number, number]][]) {
  t.test(`consents: ${name}`, async (t) => {
    const token = tokens[name];
    t.equal((await call('GET', CONSENTS + of, token)).status, list);
    t.equal((await call('DELETE', `${CONSENTS}/${NATIVE.client_id}${of}`, token)).status, end);
    if (end < 404) t.equal((await call('DELETE', `${CONSENTS}/${WEB.client_id}${of}`, token)).status, end);
    t.equal((await consents()).length, 2, 'nothing has ended');
  });
}

t.test('what is not there', async (t) => {
  const nobody = '?user_id=usr_nobody';
  const visitor = await signedIn(built, 'ben');
  for (const [method, path, status] of [
    ['GET', nobody, 404],
    ['DELETE', `/${WEB.client_id}${nobody}`, 404],
    ['DELETE', `/app_nothing${of}`, 404],
    ['DELETE', `/gatehouse-account${of}`, 404],
    ['DELETE', of, 405],
  ] as const) {
    t.equal((await call(method, CONSENTS + path, admin)).status, status, `${method} ${path}`);
  }
  t.notOk(isSignIn(await visitor.get('/account')), 'our own pages are no application');
});

t.test('what an admin ends stops working for one person at one application', async (t) => {
  const browser = built.browser();
  const ended = await tokensFor(built, { browser, username: 'ben', more: { scope: 'openid read:data' } });
  const elsewhere = await tokensFor(built, { browser, username: 'ben', client: SPA });
  const other = await tokensFor(built, { username: 'ann' });
  t.equal((await call('DELETE', `${CONSENTS}/${WEB.client_id}${of}`, admin)).status, 204);
  await untilDead(built, ended.access_token);
  t.match(await refresh(built, ended.refresh_token), { status: 400, body: { error: 'invalid_grant' } });
  t.equal((await call('GET', '/userinfo', elsewhere.access_token)).status, 200, 'another application');
  t.same(await statusesOf(built, other.access_token), [200, 200], 'another person');
  t.notOk((await consents()).some(({ client_id }) => client_id === WEB.client_id));
  t.equal((await call('DELETE', `${CONSENTS}/${WEB.client_id}${of}`, admin)).status, 404);
  const asked = await browser.get(authorizeUrl({ scope: 'openid' }));
  t.equal(heading(asked), 'Allow this application to use your account?', 'the person is asked again');
  const log = `/api/v1/audit?filter[subject]=${id}&filter[action]=grant.revoked`;
  t.match((await call('GET', log, admin)).body.data, [
    { actor: built.people.admin.id, client: WEB.client_id, details: { by: 'gatehouse-login' } },
  ]);
});

t.test('ending one’s own takes a fresh sign-in as well', async (t) => {
  const stale = tokens['an admin who signed in six minutes ago'];
  t.equal((await call('DELETE', `${CONSENTS}/${NATIVE.client_id}`, stale)).status, 401);
  t.equal((await call('DELETE', `${CONSENTS}/${NATIVE.client_id}`, admin)).status, 204);
  t.same(await consents(''), []);
});

t.test('an application of which nothing can be known any more is listed and ended as well', async (t) => {
  const url = authorizeUrl({
    ...{ client_id: agent, redirect_uri: CALLBACK, scope: 'openid' },
    ...pkce().challenge,
  });
  const page = await signInAndAllow(built.browser(), url, 'ben');
  t.ok(page.url.searchParams.has('code'), page.html);
  isAway = true;
  // One that has not had the document of the application yet.
  const replica = await built.replica();
  const headers = { authorization: `Bearer ${admin}` };
  for (const name of ['Agent', agent]) {
    const response = await fetch(`${replica}${CONSENTS}${of}`, { headers });
    const { data } = (await response.json()) as { data: Consent[] };
    t.match(data, [{ client_id: agent, name }, { client_id: SPA.client_id }]);
    await (await built.database()).collection('client_metadata_documents').deleteMany({});
  }
  const path = `${CONSENTS}/${encodeURIComponent(agent)}${of}`;
  t.equal((await call('DELETE', path, admin)).status, 204);
  t.same(
    (await consents()).map(({ client_id }) => client_id),
    [SPA.client_id],
  );
});

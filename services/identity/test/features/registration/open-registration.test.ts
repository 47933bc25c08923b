import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { DEVICE_CODE_GRANT } from '../../../src/core/applications/application.ts';
import { MAX_UNUSED } from '../../../src/features/registration/expiry.ts';
import { authorizeUrl, build } from '../../build.ts';
import { heading, signedIn } from '../../pages.ts';
import { stranger } from '../../stranger.ts';
import { pkce, refresh, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true, config: { openRegistration: 'on' } });
const { base, call, people } = built;
const REGISTER = '/oauth2/register';
const LOOPBACK = 'http://127.0.0.1:49152/callback';
const EDITOR = 'cursor://anysphere.cursor-mcp/oauth/callback';
const DAY_MS = 86_400_000;
const send = stranger(base);
const database = await built.database();
const collection = (name: string) => database.collection<{ _id: string }>(name);

type Registered = { client_id: string; registration_access_token: string };
let addresses = 0;
/** Registers a client from an address of its own. */
async function register(more: object = {}, address?: string) {
  addresses += 1;
  const body = JSON.stringify({ client_name: 'Agent', redirect_uris: [LOOPBACK], ...more });
  const { status, text } = await send(address ?? `127.0.1.${addresses}`, 'POST', REGISTER, body, {
    'content-type': 'application/json',
  });
  return { ...(JSON.parse(text) as Registered & { error_description?: string }), status };
}
const exists = async (id: string) => (await collection('applications').countDocuments({ _id: id })) > 0;

t.test('a client registers without a token, and people are told that nobody has checked it', async (t) => {
  const registered = await client.dynamicClientRegistration(
    new URL(base),
    { client_name: 'Agent', redirect_uris: [LOOPBACK], scope: 'openid read:profile read:data write:users' },
    client.None(),
    { execute: [client.allowInsecureRequests] },
  );
  const { client_id, scope, token_endpoint_auth_method, client_secret } = registered.clientMetadata();
  t.match(
    { scope, token_endpoint_auth_method, client_secret },
    { scope: 'openid read:profile', token_endpoint_auth_method: 'none', client_secret: undefined },
  );
  const verifier = client.randomPKCECodeVerifier();
  const { pathname, search } = client.buildAuthorizationUrl(registered, {
    ...{ redirect_uri: LOOPBACK, scope: 'openid', state: 'state', code_challenge_method: 'S256' },
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
  });
  const visitor = await signedIn(built, 'ann');
  const page = await visitor.get(pathname + search);
  t.equal(heading(page), 'Allow this application to use your account?');
  t.match(page.html, /has registered itself. Nobody here has checked who is behind it/);
  t.match(page.html, /A program on this device gets access/);
  const { url } = await visitor.submit(page, { decision: 'allow' });
  const checks = { pkceCodeVerifier: verifier, expectedState: 'state' };
  const { access_token } = await client.authorizationCodeGrant(registered, url, checks);
  t.match(decodeJwt(access_token), { client_id, sub: people.ann.id, scope: 'openid' });
  const silently = authorizeUrl({
    ...{ client_id, redirect_uri: LOOPBACK, scope: 'openid', prompt: 'none' },
    ...(await pkce()).challenge,
  });
  const isSent = async () => {
    const { status, headers } = await send('127.0.2.1', 'GET', silently);
    return status === 303 && /error=login_required/.test(String(headers.location));
  };
  await until(isSent, 10_000);
  const { client_id: unknown } = await register();
  const shown = await send('127.0.2.1', 'GET', silently.replace(client_id, unknown));
  t.match([shown.status, shown.headers.location], [400, undefined], 'nobody has (RFC 9700 §4.11.2)');
  const refused = await send(
    '127.0.2.1',
    'GET',
    `${silently.replace(client_id, unknown)}&resource=https://mcp.example.com/`,
  );
  t.match(
    refused.text,
    /gets no tokens for https:\/\/mcp\.example\.com\/: the owner of this API has to register/,
    'with the next step',
  );
});

t.test('it is less than one that is registered with a token, and stays so', async (t) => {
  const ann = await built.login('ann');
  t.equal((await call('POST', REGISTER, ann, {})).status, 401, 'a token that is none of ours');
  const picture =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const first = await register({ logo_uri: picture, scope: undefined });
  t.match(first, { status: 201, scope: 'openid profile email read:profile', logo_uri: undefined });
  const path = `${REGISTER}/${first.client_id}`;
  const own = { client_id: first.client_id, client_name: 'Agent', redirect_uris: [LOOPBACK] };
  for (const [wrong, reason] of [
    [{ grant_types: ['client_credentials'], redirect_uris: [] }, /must not be none/],
    [{ grant_types: [DEVICE_CODE_GRANT], redirect_uris: [] }, /must contain a grant that begins/],
    [{ scope: 'read:data' }, /scope: Choose/],
    [{ tos_uri: `https://agent.example.org/${'x'.repeat(7000)}` }, /longer than 6144/],
    [{ redirect_uris: ['http://agent.example.org/'] }, /must use https/],
  ] as const) {
    const refused = await register(wrong);
    t.match([refused.status, refused.error_description], [400, reason]);
    const changed = await call('PUT', path, first.registration_access_token, { ...own, ...wrong });
    t.match([changed.status, changed.body.error_description], [400, reason]);
  }
  const changed = await call('PUT', path, first.registration_access_token, {
    ...own,
    client_name: 'Renamed',
  });
  t.match(changed, { status: 200, body: { client_name: 'Renamed' } });
  const admin = await built.login('admin');
  const list = await call('GET', `/api/v1/audit?filter[client]=${first.client_id}`, admin);
  t.same(list.body.data, [], 'what strangers do to a client that nobody has used is not in the audit log');
  t.match((await call('GET', `/api/v1/applications/${first.client_id}`, admin)).body, { owner: null });
});

/** The metadata that programs send to every server, and the metadata that they get where it differs. */
const SENT_BY_CLIENTS: [name: string, sent: object, got: object][] = [
  [
    'VS Code',
    {
      client_uri: 'https://code.visualstudio.com',
      grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE_GRANT],
      response_types: ['code'],
      redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    { grant_types: ['authorization_code', 'refresh_token'], application_type: 'native' },
  ],
  [
    'Cursor',
    {
      redirect_uris: [
        EDITOR,
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback',
      ],
      token_endpoint_auth_method: 'none',
    },
    { application_type: 'native' },
  ],
  [
    'the SDK for Python',
    {
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
    },
    { token_endpoint_auth_method: 'none', client_secret: undefined },
  ],
  [
    'one that asks for everything',
    {
      grant_types: ['authorization_code', 'implicit', 'client_credentials', 'password', 'urn:example:grant'],
      response_types: ['code', 'token', 'id_token'],
      token_endpoint_auth_method: 'private_key_jwt',
      backchannel_logout_uri: 'https://agent.example.org/logout',
    },
    {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      backchannel_logout_uri: undefined,
    },
  ],
];

t.test('what a client does not get is left out, and the response says so', async (t) => {
  for (const [name, sent, got] of SENT_BY_CLIENTS) {
    const registered = await register(sent);
    t.match(registered, { status: 201, ...got }, name);
    const { client_id, registration_access_token: token } = registered;
    const body = { client_id, redirect_uris: [LOOPBACK], ...sent };
    t.match(await call('PUT', `${REGISTER}/${client_id}`, token, body), { status: 200, body: got }, name);
  }
});

t.test('an editor with a scheme of its own is allowed at each sign-in', async (t) => {
  const { client_id } = await register({ redirect_uris: [EDITOR, LOOPBACK] });
  const visitor = await signedIn(built, 'ann');
  for (const time of ['first', 'second']) {
    const request = { client_id, redirect_uri: EDITOR, scope: 'openid', state: time, ...pkce().challenge };
    const page = await visitor.get(authorizeUrl(request));
    t.equal(heading(page), 'Allow this application to use your account?', time);
    t.match(page.html, /an app on this device/);
    t.match(page.html, /any program can use this name/);
    t.match(page.headers.get('content-security-policy'), /form-action 'self' cursor:;/);
    const { url } = await visitor.submit(page, { decision: 'allow' });
    t.match(
      [url.href, url.searchParams.get('state')],
      [/^cursor:\/\/anysphere.cursor-mcp\/oauth\/callback\?code=/, time],
    );
  }
});

t.test('the metadata has the endpoint only where a client gets in without a token', async (t) => {
  const closed = await built.replica({ openRegistration: 'off' });
  for (const [at, endpoint] of [
    [base, `${base}${REGISTER}`],
    [closed, undefined],
  ] as const) {
    const response = await fetch(`${at}/.well-known/oauth-authorization-server`);
    t.equal(((await response.json()) as Record<string, unknown>).registration_endpoint, endpoint);
  }
});

t.test('one address registers and changes twenty in an hour, or as many as the setting says', async (t) => {
  const at = await built.replica({ openRegistrationsPerHour: 1 });
  const tries = [0, 1].map(() =>
    send('127.0.5.1', 'POST', at + REGISTER, JSON.stringify({ redirect_uris: [LOOPBACK] }), {
      'content-type': 'application/json',
    }),
  );
  t.same((await Promise.all(tries)).map(({ status }) => status).sort(), [201, 429]);
  const statuses: number[] = [];
  for (let i = 0; i < 22; i += 1) statuses.push((await register({}, '127.0.2.1')).status);
  t.same(statuses, [...Array(20).fill(201), 429, 429]);
  t.equal((await register({}, '127.0.2.2')).status, 201);
  const { client_id, registration_access_token: token } = await register({}, '127.0.2.3');
  const change = (address: string) =>
    send(
      address,
      'PUT',
      `${REGISTER}/${client_id}`,
      JSON.stringify({ client_id, redirect_uris: [LOOPBACK] }),
      { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    );
  t.equal((await change('127.0.2.1')).status, 429);
});

t.test(`of those that were never used, ${MAX_UNUSED} stay`, async (t) => {
  const used = await register();
  await tokensFor(built, {
    ...{ client: { client_id: used.client_id, redirect_uri: LOOPBACK }, more: { scope: 'openid' } },
    username: 'admin',
  });
  const isUsed = { _id: used.client_id, last_used_at: { $exists: true, $ne: null } };
  await until(async () => (await collection('applications').countDocuments(isUsed as never)) === 1, 5000);
  const oldest = await register();
  let last = oldest;
  for (let i = 0; i < MAX_UNUSED; i += 1) last = await register({}, `127.0.3.${i % 20}`);
  t.equal(last.status, 201);
  t.notOk(await exists(oldest.client_id), 'the oldest goes');
  t.ok(await exists(last.client_id));
  t.ok(await exists(used.client_id), 'one that was used stays');
  const unused = { owner: null, is_used: false };
  t.equal(await collection('registrations').countDocuments(unused as never), MAX_UNUSED);
});

t.test('registered clients that nobody uses expire, with what was issued to them', async (t) => {
  const ann = await built.login('ann');
  const made = await call('POST', '/api/v1/registration-tokens', ann, {
    ...{ name: 'For tests', scopes: ['openid', 'read:data'], uses: 10 },
  });
  const withToken = async () => {
    const body = { redirect_uris: [LOOPBACK], token_endpoint_auth_method: 'none' };
    return (await call('POST', REGISTER, String(made.body.token), body)).body as Registered;
  };
  const ids: Record<string, string> = {};
  /** Makes it look as if it were so many days old, and had been used so many days ago. */
  async function age(name: string, { client_id: id }: Registered, days: number, usedDays?: number) {
    ids[name] = id;
    const at = (ago: number) => new Date(Date.now() - ago * DAY_MS);
    const use = usedDays === undefined ? {} : { last_used_at: at(usedDays) };
    await collection('applications').updateOne({ _id: id }, { $set: { created_at: at(days), ...use } });
    await collection('registrations').updateOne({ _id: id }, { $set: { check_at: at(0.001) } });
  }
  await age('nobody’s, never used, of today', await register(), 0.9);
  await age('nobody’s, never used', await register(), 1.1);
  await age('nobody’s, used', await register(), 40, 29);
  await age('nobody’s, used long ago', await register(), 40, 31);
  await age('never used, younger', await withToken(), 29);
  await age('never used', await withToken(), 31);
  await age('used', await withToken(), 90, 29);
  const transferred = await withToken();
  await built.createPerson('tom');
  const tom = await built.login('tom');
  const transfer = `/api/v1/applications/${transferred.client_id}/transfer`;
  const offer = await call('POST', transfer, ann, { to: 'tom' });
  t.equal((await call('POST', `/api/v1/transfers/${offer.body.id}/accept`, tom)).status, 200);
  await age('of another owner since', transferred, 90);
  const lost = await withToken();
  const client = { client_id: lost.client_id, redirect_uri: LOOPBACK };
  const tokens = await tokensFor(built, { client, more: { scope: 'openid' } });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await age('used long ago', lost, 90, 31);

  await built.replica({ openRegistration: 'on' });
  await until(async () => !(await exists(ids['used long ago'] ?? '')), 10_000);
  const due = { check_at: { $lte: new Date() } };
  await until(async () => (await collection('registrations').countDocuments(due as never)) === 0, 10_000);
  const left = [];
  for (const [name, id] of Object.entries(ids)) if (await exists(id)) left.push(name);
  t.same(left, [
    'nobody’s, never used, of today',
    'nobody’s, used',
    'never used, younger',
    'used',
    'of another owner since',
  ]);
  t.equal((await call('GET', '/userinfo', tokens.access_token)).status, 401);
  t.equal((await refresh(built, tokens.refresh_token, client)).body.error, 'invalid_client');
  const { challenge } = pkce();
  const { status } = await built.browser().get(authorizeUrl({ ...client, scope: 'openid', ...challenge }));
  t.equal(status, 400);
  const log = await call('GET', `/api/v1/audit?filter[client]=${lost.client_id}`, await built.login('admin'));
  t.match((log.body.data as object[])[0], {
    ...{ action: 'application.deleted', subject: people.ann.id, details: { cause: 'unused' } },
  });
});

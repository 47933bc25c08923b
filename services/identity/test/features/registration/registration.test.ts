import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggedRequest } from '@gatehouse/server/usage/usage-batch';
import { until } from '@gatehouse/testing/processes';
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { MAX_REGISTRATION_TOKENS } from '../../../src/features/registration/registration-token.ts';
import { authorizeUrl, build } from '../../build.ts';
import { heading, mailsOf, signedIn } from '../../pages.ts';
import { pkce, refresh } from '../../tokens.ts';

const log: LoggedRequest[] = [];
const built = await build(t, {
  checkResponses: true,
  events: {
    async publish({ data }) {
      log.push(...((data.log ?? []) as LoggedRequest[]));
    },
  },
});
const { base, call, people } = built;
const ann = await built.login('ann');
const TOKENS = '/api/v1/registration-tokens';
const REGISTER = '/oauth2/register';
const CALLBACK = 'https://client.example.org/callback';
const SCOPES = ['openid', 'profile', 'read:data'];

/** Creates a registration token, and returns its text. */
async function registrationToken(more: object = {}, who = ann): Promise<{ id: string; token: string }> {
  const { status, body } = await call('POST', TOKENS, who, {
    ...{ name: 'For tests', scopes: SCOPES, machines: true, ...more },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as { id: string; token: string };
}
const usesLeft = async (id: string) => (await call('GET', `${TOKENS}/${id}`, ann)).body.uses_left;
const metadata = (more: object = {}) => ({
  ...{ client_name: 'Client of Examples', redirect_uris: [CALLBACK] },
  ...more,
});

t.test('machines register only where the token says so, and its owner gets a mail about it', async (t) => {
  const { token } = await registrationToken({ name: 'Nightly', machines: false });
  const machine = metadata({ grant_types: ['client_credentials'], redirect_uris: [] });
  t.match(await call('POST', REGISTER, token, machine), {
    ...{ status: 400, body: { error: 'invalid_client_metadata', error_description: /allows machines/ } },
  });
  t.equal((await call('POST', REGISTER, token, metadata())).status, 201);
  const isMailed = async () =>
    (await mailsOf(built)).some((mail) => /registration token “Nightly” was created/.test(mail));
  await until(isMailed, 5000);
});

t.test('a client registers itself and signs somebody in, as openid-client has it', async (t) => {
  const { id, token } = await registrationToken();
  const made = await call('POST', REGISTER, token, metadata());
  t.equal(made.status, 201);
  const registered = await client.discovery(
    new URL(base),
    String(made.body.client_id),
    made.body as Partial<client.ClientMetadata>,
    undefined,
    {
      execute: [client.allowInsecureRequests],
    },
  );
  const { client_id, scope, grant_types } = registered.clientMetadata();
  t.match(
    { scope, grant_types },
    { scope: SCOPES.join(' '), grant_types: ['authorization_code', 'refresh_token'] },
  );
  const verifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(registered, {
    ...{ redirect_uri: CALLBACK, scope: 'openid profile read:data', state: 'state' },
    ...{
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    },
  });
  const visitor = await signedIn(built, 'admin');
  const page = await visitor.get(url.pathname + url.search);
  t.match([heading(page), page.html], ['Allow this application to use your account?', /Client of Examples/]);
  const response = (await visitor.submit(page, { decision: 'allow' })).url;
  const checks = { pkceCodeVerifier: verifier, expectedState: 'state' };
  const tokens = await client.authorizationCodeGrant(registered, response, checks);
  t.match(decodeJwt(tokens.access_token), {
    ...{ client_id, sub: people.admin.id, scope: 'openid profile read:data' },
    roles: ['user'],
  });
  const claims = await client.fetchUserInfo(registered, tokens.access_token, people.admin.id);
  t.match(claims, { updated_at: Number, preferred_username: String }, 'as OpenID Connect Core §5.1 has them');
  t.equal((await client.refreshTokenGrant(registered, tokens.refresh_token ?? '')).token_type, 'bearer');
  t.match((await call('GET', `/api/v1/applications/${client_id}`, ann)).body, {
    ...{ name: 'Client of Examples', type: 'web', owner: people.ann.id, trusted: false, scopes: SCOPES },
  });
  t.equal(await usesLeft(id), 0);
  const admin = await built.login('admin');
  const { body } = await call('GET', '/api/v1/audit?filter[action]=application.created', admin);
  const [entry] = body.data as object[];
  t.match(entry, { actor: null, subject: people.ann.id, details: { registration_token: id } });
  const stored = await Promise.all(
    ['registrations', 'registration_tokens', 'applications'].map(async (name) =>
      (await built.database()).collection(name).find().toArray(),
    ),
  );
  t.notMatch(JSON.stringify(stored), token, 'tokens are stored as hashes');
  t.match((await mailsOf(built)).join(), /Client of Examples/, 'the owner is told of the client secret');
});

const { publicKey } = await generateKeyPair('ES256');
const jwk = await exportJWK(publicKey);
const jwks = { keys: [{ ...jwk, kid: await calculateJwkThumbprint(jwk) }] };
const NATIVE = { token_endpoint_auth_method: 'none', redirect_uris: ['http://127.0.0.1:3000/callback'] };
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

t.test('the metadata decides what the client is, and the response says what it has become', async (t) => {
  const { token } = await registrationToken({ uses: 50 });
  const admin = await built.login('admin');
  for (const [name, sent, type, got] of [
    [
      'the defaults',
      {},
      'web',
      { token_endpoint_auth_method: 'client_secret_basic', scope: SCOPES.join(' ') },
    ],
    ['with null', { jwks: null, grant_types: null }, 'web', { response_types: ['code'] }],
    ['without a name', { client_name: undefined }, 'web', { client_name: 'client.example.org' }],
    [
      'the body',
      { token_endpoint_auth_method: 'client_secret_post' },
      'web',
      { token_endpoint_auth_method: 'client_secret_post', client_secret: /^.{43}$/ },
    ],
    ['a website', { token_endpoint_auth_method: 'none' }, 'spa', { client_secret: undefined }],
    ['a program', NATIVE, 'native', { application_type: 'native' }],
    [
      'a native application',
      { application_type: 'native', redirect_uris: ['com.example.app:/callback'] },
      'native',
      { token_endpoint_auth_method: 'none' },
    ],
    [
      'a native application that would keep a secret',
      { application_type: 'native', token_endpoint_auth_method: 'client_secret_post' },
      'native',
      { token_endpoint_auth_method: 'none', client_secret: undefined },
    ],
    [
      'more grants',
      {
        grant_types: ['authorization_code', 'client_credentials', 'implicit'],
        response_types: ['code', 'token'],
      },
      'web',
      { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
    ],
    [
      'a device',
      { grant_types: [DEVICE], redirect_uris: [], token_endpoint_auth_method: 'none' },
      'native',
      { grant_types: ['refresh_token', DEVICE], response_types: [] },
    ],
    [
      'a website that is a device as well',
      { grant_types: ['authorization_code', DEVICE], token_endpoint_auth_method: 'none' },
      'native',
      { grant_types: ['authorization_code', 'refresh_token', DEVICE] },
    ],
    [
      'a machine',
      { grant_types: ['client_credentials'], redirect_uris: [] },
      'machine',
      { scope: 'read:data', redirect_uris: [], response_types: [] },
    ],
    [
      'with keys',
      { token_endpoint_auth_method: 'private_key_jwt', jwks },
      'web',
      { jwks, client_secret: undefined },
    ],
    ['keys for nothing', { jwks, jwks_uri: 'https://client.example.org/jwks' }, 'web', { jwks: undefined }],
    ['more scopes', { scope: 'openid email read:all offline_access' }, 'web', { scope: 'openid' }],
    ['scopes of a resource', { scope: 'dice:roll offline_access' }, 'web', { scope: 'openid' }],
    [
      'the logo of a site',
      { logo_uri: 'https://client.example.org/logo.png' },
      'web',
      { logo_uri: undefined },
    ],
    [
      'a home page that can be linked',
      { client_uri: 'https://client.example.org/' },
      'web',
      { client_uri: 'https://client.example.org/' },
    ],
    ['any other', { client_uri: 'http://client.example.org/' }, 'web', { client_uri: undefined }],
    [
      'further settings',
      {
        ...{ policy_uri: 'https://client.example.org/privacy', id_token_signed_response_alg: 'ES256' },
        ...{ dpop_bound_access_tokens: true, require_pushed_authorization_requests: true },
        ...{ backchannel_logout_uri: 'https://client.example.org/logout', trusted: true, owner: 'usr_1' },
      },
      'web',
      {
        ...{ policy_uri: 'https://client.example.org/privacy', id_token_signed_response_alg: 'ES256' },
        ...{ dpop_bound_access_tokens: true, require_pushed_authorization_requests: true },
        ...{ backchannel_logout_uri: 'https://client.example.org/logout', trusted: undefined },
      },
    ],
  ] as const) {
    const { status, body, headers } = await call('POST', REGISTER, token, metadata(sent));
    t.equal(status, 201, `${name} ${JSON.stringify(body)}`);
    t.match(body, { client_id: /^app_/, client_id_issued_at: Number, ...got }, name);
    t.equal('client_secret' in body, body.client_secret_expires_at === 0, name);
    t.match([headers.get('cache-control'), headers.get('access-control-allow-origin')], ['no-store', '*']);
    const application = await call('GET', `/api/v1/applications/${body.client_id}`, admin);
    t.match(application.body, { type, trusted: false, owner: people.ann.id }, name);
  }
});

t.test('what is wrong has the codes of RFC 7591 §3.2.2, and costs no use of the token', async (t) => {
  const { id, token } = await registrationToken();
  for (const [sent, code, description] of [
    [
      { redirect_uris: ['http://client.example.org/callback'] },
      'invalid_redirect_uri',
      /redirect_uris.0 must use https/,
    ],
    [{ redirect_uris: ['https://*.example.org/'] }, 'invalid_redirect_uri', /wildcard/],
    [{ redirect_uris: [] }, 'invalid_redirect_uri', /redirect_uris: Add at least one/],
    [{ redirect_uris: CALLBACK }, 'invalid_redirect_uri', /must be a list/],
    [{ client_name: 'Bank\u202eknaB' }, 'invalid_client_metadata', /client_name must not contain invisible/],
    [{ scope: 'read:all' }, 'invalid_client_metadata', /scope: Choose at least one scope/],
    [
      { grant_types: ['implicit', 'password'] },
      'invalid_client_metadata',
      /grant_types must contain a grant/,
    ],
    [
      { grant_types: ['refresh_token'], redirect_uris: [] },
      'invalid_client_metadata',
      /must contain a grant/,
    ],
    [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata', /authorization_code, as there are/],
    [{ response_types: ['token'] }, 'invalid_client_metadata', /response_types/],
    [{ token_endpoint_auth_method: 'client_secret_jwt' }, 'invalid_client_metadata', /must be one of/],
    [
      { grant_types: ['client_credentials'], redirect_uris: [], token_endpoint_auth_method: 'none' },
      'invalid_client_metadata',
      /must not be none/,
    ],
    [
      { token_endpoint_auth_method: 'private_key_jwt' },
      'invalid_client_metadata',
      /jwks or jwks_uri is required/,
    ],
    [
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ ...jwk, d: 'AAAA' }] } },
      'invalid_client_metadata',
      /public keys only/,
    ],
    [{ logo_uri: 'data:image/png;base64,AAAA' }, 'invalid_client_metadata', /not a PNG picture/],
    [{ policy_uri: 'javascript:alert(1)' }, 'invalid_client_metadata', /policy_uri must use https/],
    [{ backchannel_logout_uri: 'https://10.0.0.1/logout' }, 'invalid_client_metadata', /backchannel/],
  ] as const) {
    const { status, body } = await call('POST', REGISTER, token, metadata(sent));
    t.match([status, body.error], [400, code], JSON.stringify(sent));
    t.match(body.error_description, description);
  }
  const form = await built.form({ redirect_uris: CALLBACK }, { authorization: `Bearer ${token}` }, REGISTER);
  t.equal(form.status, 415);
  const list = await call('POST', REGISTER, token, []);
  t.match([list.status, list.body.error], [400, 'invalid_client_metadata']);
  t.equal(await usesLeft(id), 1);
});

t.test('without a token that is good, nothing is registered', async (t) => {
  const { token } = await registrationToken();
  const revoked = await registrationToken();
  t.equal((await call('DELETE', `${TOKENS}/${revoked.id}`, ann)).status, 204);
  t.equal((await call('DELETE', `${TOKENS}/${revoked.id}`, ann)).status, 404);
  const expired = await registrationToken();
  const database = await built.database();
  const past = { $set: { expires_at: new Date(Date.now() - 1) } };
  await database.collection('registration_tokens').updateOne({ _id: expired.id as never }, past);
  for (const wrong of [undefined, 'x'.repeat(43), ann, revoked.token, expired.token]) {
    const { status, body, headers } = await call('POST', REGISTER, wrong, metadata());
    t.match([status, body.error], [401, 'invalid_token']);
    const challenge = wrong === undefined ? /^Bearer realm="gatehouse"$/ : /error="invalid_token"/;
    t.match(headers.get('www-authenticate'), challenge);
  }
  const statuses = await Promise.all(
    [0, 1, 2, 3].map(async () => (await call('POST', REGISTER, token, metadata())).status),
  );
  t.same(statuses.sort(), [201, 401, 401, 401], 'of several at once, one registers');
});

t.test('registration tokens are of people, within their role, and end with them', async (t) => {
  const tim = await built.createPerson('tim');
  const who = await built.login('tim');
  const machine = await built.machineToken();
  t.equal((await call('POST', TOKENS, machine, { name: 'x', scopes: ['openid'] })).status, 403);
  for (const wrong of [
    { scopes: ['read:all'] },
    { scopes: [] },
    { name: ' ' },
    { name: 'CI \u202e' },
    { uses: 0 },
    { uses: 101 },
    { x: 1 },
  ]) {
    t.equal((await call('POST', TOKENS, who, { name: 'x', scopes: ['openid'], ...wrong })).status, 400);
  }
  const made = [];
  for (let i = 0; i < MAX_REGISTRATION_TOKENS; i += 1) made.push(await registrationToken({ uses: 2 }, who));
  t.equal((await call('POST', TOKENS, who, { name: 'x', scopes: ['openid'] })).status, 409);
  const [{ id, token } = { id: '', token: '' }] = made;
  t.equal((await call('GET', `${TOKENS}/${id}`, ann)).status, 404, 'of somebody else');
  t.equal((await call('DELETE', `${TOKENS}/${id}`, ann)).status, 404);
  t.match((await call('GET', TOKENS, who)).body.data, { length: MAX_REGISTRATION_TOKENS });
  const admin = await built.login('admin');
  const setStatus = (status: string) => call('PUT', `/v2/users/${tim}`, admin, { status });
  t.equal((await setStatus('inactive')).status, 200);
  t.match((await call('POST', REGISTER, token, metadata())).body, { error: 'invalid_token' });
  t.equal((await setStatus('active')).status, 200);
  t.match((await call('POST', REGISTER, token, metadata())).body, { error: 'invalid_token' }, 'for good');
  t.equal((await call('DELETE', `/v2/users/${tim}`, admin)).status, 204);
  const erasure = { user_id: tim };
  const service = await built.serviceToken('users');
  t.ok((await call('POST', '/internal/identity/erasures', service, erasure)).status < 300);
  const tokens = (await built.database()).collection('registration_tokens');
  await until(async () => (await tokens.countDocuments({ owner: tim })) === 0, 5000);
  const registrations = (await built.database()).collection('registrations');
  await until(async () => (await registrations.countDocuments({ owner: tim })) === 0, 5000);
});

type Registered = {
  client_id: string;
  client_secret: string;
  registration_access_token: string;
  registration_client_uri: string;
};
/** Registers a client, and returns its credentials. */
async function register(more: object = {}, scopes = SCOPES): Promise<Registered> {
  const { token } = await registrationToken({ scopes });
  const { status, body } = await call('POST', REGISTER, token, metadata(more));
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as Registered;
}
const manage = (method: string, { client_id, registration_access_token }: Registered, body?: object) =>
  call(method, `${REGISTER}/${client_id}`, registration_access_token, body);
/** Changes a client, and returns it with its new registration access token. */
async function change(registered: Registered, more: object): Promise<Registered> {
  const { client_id } = registered;
  const { status, body } = await manage('PUT', registered, { client_id, ...metadata(more) });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return { ...registered, ...(body as Registered) };
}

t.test('a client reads, changes and ends its registration (RFC 7592)', async (t) => {
  const policy_uri = 'https://client.example.org/privacy';
  const first = await register({ policy_uri, scope: 'openid profile read:data' });
  t.equal(first.registration_client_uri, `${base}${REGISTER}/${first.client_id}`);
  const read = await manage('GET', first);
  t.equal(read.status, 200);
  const { client_secret, client_secret_expires_at, ...rest } = first as Registered & Record<string, unknown>;
  t.same(read.body, rest, 'as it was registered, without the secret');
  const { client_id } = first;
  const second = await change(first, { client_name: 'Renamed', client_secret, scope: 'read:data read:all' });
  t.match(second, { client_name: 'Renamed', scope: 'read:data', client_id });
  t.notOk(
    (await call('GET', `/api/v1/applications/${client_id}`, ann)).body.policy_uri,
    'left out is removed',
  );
  t.not(second.registration_access_token, first.registration_access_token);
  t.equal((await manage('GET', first)).status, 401, 'the earlier registration access token');
  for (const [wrong, code] of [
    [{ client_id: 'app_other' }, 'invalid_client_metadata'],
    [{ client_id: undefined }, 'invalid_client_metadata'],
    [{ client_secret: 'chosen-by-the-client' }, 'invalid_client_metadata'],
    [{ redirect_uris: ['http://client.example.org/'] }, 'invalid_redirect_uri'],
    [{ token_endpoint_auth_method: 'none' }, 'invalid_client_metadata'],
    [{ token_endpoint_auth_method: 'private_key_jwt', jwks }, 'invalid_client_metadata'],
    [{ grant_types: ['client_credentials'], redirect_uris: [] }, 'invalid_client_metadata'],
    [{ scope: 'read:all' }, 'invalid_client_metadata'],
  ] as const) {
    const { status, body } = await manage('PUT', second, { client_id, ...metadata(wrong) });
    t.match([status, body.error], [400, code], JSON.stringify(wrong));
  }
  t.match((await manage('GET', second)).body, { client_name: 'Renamed' }, 'nothing of that was done');
  const other = await register();
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const sent = method === 'PUT' ? { client_id, ...metadata() } : undefined;
    for (const token of [other.registration_access_token, ann, 'x', undefined]) {
      const { status, body } = await call(method, `${REGISTER}/${client_id}`, token, sent);
      t.match([status, body.error], [401, 'invalid_token'], method);
    }
  }
  t.equal((await call('PUT', `${REGISTER}/${client_id}`, 'x', [])).status, 401, 'before the body is read');
  t.equal((await call('POST', REGISTER, second.registration_access_token, metadata())).status, 401);
  t.equal((await call('PATCH', `${REGISTER}/${client_id}`, second.registration_access_token)).status, 405);
  const races = await Promise.all(
    ['A', 'B', 'C'].map((client_name) => manage('PUT', second, { client_id, ...metadata({ client_name }) })),
  );
  const [won, ...more] = races.filter(({ status }) => status === 200);
  t.match([won?.status, more.length], [200, 0], 'of several changes at once, one has the next token');
  const last = won?.body as Registered;
  t.equal((await manage('DELETE', last)).status, 204);
  t.equal((await manage('GET', last)).status, 401);
  t.equal((await call('GET', `/api/v1/applications/${client_id}`, ann)).status, 404);
  t.equal(
    await (await built.database()).collection('registrations').countDocuments({ _id: client_id as never }),
    0,
  );
  const admin = await built.login('admin');
  const { body } = await call('GET', `/api/v1/audit?filter[client]=${client_id}`, admin);
  const actions = (body.data as { action: string }[]).map(({ action }) => action);
  t.match([actions[0], actions.at(-1)], ['application.deleted', 'application.created']);
  const changes = actions.slice(1, -1);
  t.ok(changes.length >= 2 && changes.every((action) => action === 'application.changed'), changes.join());
});

t.test('a client does not change back what its owner has changed', async (t) => {
  const own = {
    ...{
      client_name: 'Own',
      redirect_uris: [CALLBACK, `${CALLBACK}/2`],
      post_logout_redirect_uris: [CALLBACK],
    },
    backchannel_logout_uri: 'https://own.example.org/logout',
    policy_uri: 'https://own.example.org/policy',
  };
  let registered = await register(own);
  const path = `/api/v1/applications/${registered.client_id}`;
  const before = (await call('GET', path, ann)).body;
  // As the dashboard sends them: with what stays as it is.
  const sent = { name: 'Own', policy_uri: own.policy_uri };
  const changes = {
    ...{ dpop_bound_access_tokens: true, require_pushed_authorization_requests: true },
    ...{ redirect_uris: [CALLBACK], post_logout_redirect_uris: [], backchannel_logout_uri: null },
  };
  t.equal((await call('PATCH', path, ann, { ...sent, ...changes })).status, 200);
  const { updated_at: _, ...owned } = (await call('GET', path, ann)).body;
  t.notSame(owned.redirect_uris, before.redirect_uris);
  registered = await change(registered, own);
  t.match(registered, { redirect_uris: [CALLBACK], dpop_bound_access_tokens: true });
  t.match((await call('GET', path, ann)).body, owned);
  const free = { ...own, client_name: 'Renamed', policy_uri: 'https://own.example.org/other' };
  t.match(await change(registered, free), { client_name: 'Renamed', policy_uri: free.policy_uri });
});

t.test('a client does not put back a public key that its owner has replaced', async (t) => {
  const publicKey = async () => ({ keys: [await exportJWK((await generateKeyPair('ES256')).publicKey)] });
  const [first, second] = [await publicKey(), await publicKey()];
  const own = { token_endpoint_auth_method: 'private_key_jwt', jwks: first };
  const registered = await register(own);
  const path = `/api/v1/applications/${registered.client_id}`;
  t.equal((await call('PATCH', path, ann, { jwks: second })).status, 200);
  const { jwks } = (await call('GET', path, ann)).body;
  await change(registered, own);
  t.same((await call('GET', path, ann)).body.jwks, jwks);
});

t.test('of several changes with one token at once, one is made, and the others change nothing', async (t) => {
  const { token } = await registrationToken({ uses: 8 });
  for (let ms = 0; ms < 8; ms += 1) {
    const registered = (await call('POST', REGISTER, token, metadata())).body as unknown as Registered;
    const change = (name: string) =>
      manage('PUT', registered, {
        ...metadata({ client_name: name, redirect_uris: [`https://${name}.example.org/`] }),
        client_id: registered.client_id,
      });
    const responses = await Promise.all([change('good'), sleep(ms).then(() => change('evil'))]);
    const made = responses
      .filter(({ status }) => status === 200)
      .map(({ body }) => body as unknown as Registered);
    t.equal(
      made.length,
      1,
      `${ms} ms apart: ${JSON.stringify(responses.map(({ status, body }) => [status, body]))}`,
    );
    const [{ client_name: name } = { client_name: '' }] = made as (Registered & { client_name: string })[];
    const now = await manage('GET', made[0] as Registered);
    t.match(now.body, { client_name: name, redirect_uris: [`https://${name}.example.org/`] });
  }
});

t.test('people are asked each time to allow a website that has become a program', async (t) => {
  const visitor = await signedIn(built, 'ann');
  for (const redirect_uri of ['http://127.0.0.1/callback', 'com.example.app:/callback']) {
    const website = await register({ token_endpoint_auth_method: 'none' });
    const program = { token_endpoint_auth_method: 'none', redirect_uris: [redirect_uri] };
    const changed = await change(website, program);
    t.match(changed, { application_type: 'native' }, redirect_uri);
    const { client_id } = changed;
    const authorize = () =>
      visitor.get(authorizeUrl({ client_id, redirect_uri, scope: 'openid', ...pkce().challenge }));
    for (const time of ['first', 'second']) {
      const question = await authorize();
      t.equal(heading(question), 'Allow this application to use your account?', `${redirect_uri}: ${time}`);
      await visitor.submit(question, { decision: 'allow' });
    }
    await change(changed, { token_endpoint_auth_method: 'none' });
    const { body } = await call('GET', `/api/v1/applications/${client_id}`, ann);
    t.equal(body.type, 'native', 'and it stays one');
  }
});

/** The two ways in which the redirect URIs of a registered client change. */
const CHANGES = {
  'by the client': (registered: Registered, redirect_uris: string[]) =>
    change(registered, { token_endpoint_auth_method: 'none', redirect_uris }),
  'by its owner': async (registered: Registered, redirect_uris: string[]) => {
    const path = `/api/v1/applications/${registered.client_id}`;
    t.equal((await call('PATCH', path, ann, { redirect_uris })).status, 200);
    return registered;
  },
};
for (const [by, changeTo] of Object.entries(CHANGES)) {
  t.test(`people are asked again before they are sent to a redirect URI that was added ${by}`, async (t) => {
    const ADDED = 'https://added.example.org/callback';
    const LATER = 'https://later.example.org/callback';
    let registered = await register({ token_endpoint_auth_method: 'none' });
    const { client_id } = registered;
    const visitor = await signedIn(built, 'ann');
    const { code_verifier, challenge } = pkce();
    const authorize = (redirect_uri: string, scope = 'openid read:data') =>
      visitor.get(authorizeUrl({ client_id, redirect_uri, scope, ...challenge }));
    const isAsked = async (...request: Parameters<typeof authorize>) => {
      const page = await authorize(...request);
      return (
        heading(page) === 'Allow this application to use your account?' || !page.url.searchParams.has('code')
      );
    };
    const question = await authorize(CALLBACK);
    t.equal(heading(question), 'Allow this application to use your account?');
    const { url } = await visitor.submit(question, { decision: 'allow' });
    const exchange = { grant_type: 'authorization_code', code_verifier, client_id, redirect_uri: CALLBACK };
    const codeIn = ({ searchParams }: URL) => searchParams.get('code') ?? '';
    const tokens = await built.form({ ...exchange, code: codeIn(url) });
    t.equal(tokens.status, 200);
    t.equal(await isAsked(CALLBACK), false, 'people are not asked twice');
    const pending = codeIn((await authorize(CALLBACK)).url);

    registered = await changeTo(registered, [CALLBACK, ADDED]);
    const silently = authorizeUrl({
      client_id,
      redirect_uri: ADDED,
      scope: 'openid',
      ...challenge,
      prompt: 'none',
    });
    t.equal((await visitor.get(silently)).url.searchParams.get('error'), 'consent_required');
    t.match((await authorize(ADDED)).html, 'added.example.org');
    t.equal(await isAsked(CALLBACK), false, 'nobody is asked about what they know');
    t.equal((await built.form({ ...exchange, code: pending })).status, 200, 'codes that were sent work');
    const refreshed = await refresh(built, String(tokens.body.refresh_token), { client_id });
    t.equal(refreshed.status, 200, 'refresh tokens live on');
    await visitor.submit(await authorize(CALLBACK, 'openid profile'), { decision: 'allow' });
    t.equal(await isAsked(CALLBACK, 'openid profile'), false);
    t.equal(await isAsked(ADDED), true, 'more scopes elsewhere are no consent to it');

    await visitor.submit(await authorize(ADDED), { decision: 'allow' });
    t.same([await isAsked(ADDED), await isAsked(CALLBACK)], [false, false], 'all that were registered then');
    registered = await changeTo(registered, [ADDED]);
    t.equal(await isAsked(ADDED), false, 'fewer redirect URIs need no question');
    t.match((await authorize(CALLBACK)).status, 400, 'one that is no longer registered');
    await visitor.submit(await authorize(ADDED, 'openid profile'), { decision: 'allow' });
    registered = await changeTo(registered, [ADDED, CALLBACK, LATER]);
    t.same(
      await Promise.all([isAsked(ADDED), isAsked(CALLBACK), isAsked(LATER)]),
      [false, true, true],
      'scopes that were allowed while it was not registered do not go there',
    );
  });
}

t.test('a client gives itself no scopes, and ends with its owner', async (t) => {
  const registered = await register({ scope: 'openid' });
  const { client_id } = registered;
  const wider = await change(registered, { scope: 'openid read:data email read:users' });
  t.match(wider, { scope: 'openid' }, 'the owner may have revoked the token that allowed more');
  const application = `/api/v1/applications/${client_id}`;
  t.equal((await call('PATCH', application, ann, { scopes: ['openid', 'email'] })).status, 200);
  const kept = await change(wider, { scope: 'openid email read:users' });
  t.match(kept, { scope: 'openid email' }, 'what its owner gave it');
  const key = { name: 'Key', scopes: ['email'] };
  t.equal((await call('POST', `${application}/api-keys`, ann, key)).status, 201);
  const bound = { client_id, ...metadata({ dpop_bound_access_tokens: true }) };
  const { status, body } = await manage('PUT', kept, bound);
  t.match([status, body.error_description], [400, /API keys/]);

  const tim = await built.createPerson('tom');
  const offered = await call('POST', `${application}/transfer`, ann, { to: 'tom' });
  t.equal(offered.status, 202, JSON.stringify(offered.body));
  t.equal((await manage('GET', kept)).status, 200, 'while it is only offered');
  const who = await built.login('tom');
  const accepted = await call('POST', `/api/v1/transfers/${offered.body.id}/accept`, who);
  t.ok(accepted.status < 300, JSON.stringify(accepted.body));
  t.equal((await call('GET', application, who)).body.owner, tim);
  const assertEnded = async (when: string) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const sent = method === 'PUT' ? { client_id, ...metadata() } : undefined;
      t.equal((await manage(method, kept, sent)).status, 401, `${method} ${when}`);
    }
  };
  await assertEnded('after the transfer');
  t.equal((await call('GET', application, who)).status, 200);
  const back = (await call('POST', `${application}/transfer`, who, { to: 'ann' })).body;
  t.ok((await call('POST', `/api/v1/transfers/${back.id}/accept`, ann)).status < 300);
  await assertEnded('after it was given back');
});

t.test('the owner finds in the request log why a change was refused', async (t) => {
  const registered = await register();
  const wrong = { client_id: registered.client_id, ...metadata({ redirect_uris: ['http://example.org/'] }) };
  t.equal((await manage('PUT', registered, wrong)).status, 400);
  const refused = () => log.find((it) => it.method === 'PUT' && it.client === registered.client_id);
  await until(() => refused() !== undefined, 15_000);
  t.match(refused(), {
    ...{ status: 400, code: 'invalid_redirect_uri', message: /redirect_uris.0 must use https/ },
    path: `${REGISTER}/${registered.client_id}`,
  });
  t.notMatch(JSON.stringify(log), registered.registration_access_token);
});

t.test('requests with wrong registration access tokens are limited by address', async (t) => {
  const limited = await build(t, { rateLimit: 'on' });
  const statuses = new Set<number>();
  for (let i = 0; i < 320; i += 1) {
    statuses.add((await limited.call('GET', `${REGISTER}/app_x`, `wrong${i}`)).status);
  }
  t.same([...statuses], [401, 429]);
});

import { until } from '@gatehouse/testing/processes';
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import { MAX_REGISTRATION_TOKENS } from '../../../src/features/registration/registration-token.ts';
import { build } from '../../build.ts';
import { heading, mailsOf, signedIn } from '../../pages.ts';

const built = await build(t, { checkResponses: true });
const { base, call, people } = built;
const ann = await built.login('ann');
const TOKENS = '/api/v1/registration-tokens';
const REGISTER = '/oauth2/register';
const CALLBACK = 'https://client.example.org/callback';
const SCOPES = ['openid', 'profile', 'read:data'];

/** Creates a registration token, and returns its text. */
async function registrationToken(more: object = {}, who = ann): Promise<{ id: string; token: string }> {
  const { status, body } = await call('POST', TOKENS, who, { name: 'For tests', scopes: SCOPES, ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body as { id: string; token: string };
}
const usesLeft = async (id: string) => (await call('GET', `${TOKENS}/${id}`, ann)).body.uses_left;
const metadata = (more: object = {}) => ({
  ...{ client_name: 'Client of Examples', redirect_uris: [CALLBACK] },
  ...more,
});

t.test('a client registers itself and signs somebody in, as openid-client has it', async (t) => {
  const { id, token } = await registrationToken();
  const registered = await client.dynamicClientRegistration(new URL(base), metadata(), undefined, {
    initialAccessToken: token,
    execute: [client.allowInsecureRequests],
  });
  const { client_id, scope, grant_types } = registered.clientMetadata();
  t.match(
    { scope, grant_types },
    { scope: SCOPES.join(' '), grant_types: ['authorization_code', 'refresh_token'] },
  );
  const verifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(registered, {
    ...{ redirect_uri: CALLBACK, scope: 'openid read:data', state: 'state' },
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
    ...{ client_id, sub: people.admin.id, scope: 'openid read:data' },
    roles: ['user'],
  });
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
      'a device',
      { grant_types: [DEVICE], redirect_uris: [], token_endpoint_auth_method: 'none' },
      'native',
      { grant_types: ['refresh_token', DEVICE], response_types: [] },
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
    [
      'the logo of a site',
      { logo_uri: 'https://client.example.org/logo.png' },
      'web',
      { logo_uri: undefined },
    ],
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
    [{ redirect_uris: [] }, 'invalid_redirect_uri', /redirect_uris Add at least one/],
    [{ redirect_uris: CALLBACK }, 'invalid_redirect_uri', /must be a list/],
    [{ client_name: 'Bank\u202eknaB' }, 'invalid_client_metadata', /client_name must not contain invisible/],
    [{ scope: 'read:all' }, 'invalid_client_metadata', /scope Choose at least one scope/],
    [{ grant_types: ['password'] }, 'invalid_client_metadata', /grant_types must be some of/],
    [{ grant_types: ['implicit'] }, 'invalid_client_metadata', /grant_types must be some of/],
    [
      { grant_types: ['refresh_token'], redirect_uris: [] },
      'invalid_client_metadata',
      /must contain a grant/,
    ],
    [{ grant_types: ['authorization_code', 'client_credentials'] }, 'invalid_client_metadata', /two clients/],
    [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata', /authorization_code, as there are/],
    [{ response_types: ['token'] }, 'invalid_client_metadata', /response_types/],
    [{ response_types: ['code', 'token'] }, 'invalid_client_metadata', /response_types/],
    [{ token_endpoint_auth_method: 'client_secret_jwt' }, 'invalid_client_metadata', /must be one of/],
    [
      { grant_types: ['client_credentials'], redirect_uris: [], token_endpoint_auth_method: 'none' },
      'invalid_client_metadata',
      /must not be none/,
    ],
    [
      { application_type: 'native', token_endpoint_auth_method: 'client_secret_basic' },
      'invalid_client_metadata',
      /cannot keep a secret/,
    ],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata', /jwks is required/],
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
  t.equal((await call('POST', REGISTER, token, metadata())).status, 201);
  t.equal((await call('DELETE', `/v2/users/${tim}`, admin)).status, 204);
  const erasure = { user_id: tim };
  const service = await built.serviceToken('users');
  t.ok((await call('POST', '/internal/identity/erasures', service, erasure)).status < 300);
  const tokens = (await built.database()).collection('registration_tokens');
  await until(async () => (await tokens.countDocuments({ owner: tim })) === 0, 5000);
});

import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import { selfSigned } from '@gatehouse/testing/self-signed';
import { exportJWK, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import t from 'tap';
import { temporaryDir } from '../gatehouse.ts';
import {
  EVERY_SCOPE,
  rejectionOf,
  type Server,
  signInAndAllow,
  signOut,
  startServer,
  untilDead,
} from './set-up.ts';

const CALLBACK = 'https://web.example.org/callback?kept=yes';
const SIGNED_OUT = 'https://web.example.org/signed-out';
const LOCAL = { [oauth.allowInsecureRequests]: true };

/** A platform that gives its jobs tokens, with discovery over HTTPS. */
const { cert, key } = selfSigned();
const { privateKey, publicKey } = await oauth.generateKeyPair('ES256');
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: '1' }] };
const site = createServer({ cert, key }, (request, response) => {
  const isDiscovery = request.url === '/.well-known/openid-configuration';
  const { issuer } = platform;
  response.end(JSON.stringify(isDiscovery ? { issuer, jwks_uri: `${issuer}/keys` } : jwks));
});
const platform = { privateKey, issuer: `https://localhost:${await listen(t, site)}` };
const certificates = join(temporaryDir(t), 'platform.pem');
await writeFile(certificates, cert);

const server = await startServer(t, { NODE_EXTRA_CA_CERTS: certificates });
const { demo } = server;
const issuer = new URL(server.issuer);
const own = new URL(`/v1/users/${demo.user.user_id}`, issuer);

const discover = async (algorithm: 'oidc' | 'oauth2') =>
  oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...LOCAL, algorithm }));
const as = await discover('oidc');

type Party = { client: oauth.Client; authentication: oauth.ClientAuth; redirectUri: string };
type Options = { scope?: string; resource?: string; par?: boolean; dpop?: oauth.DPoPHandle };

/** The authorization code flow with everything that can be checked, the signature of the ID token included. */
async function signIn(party: Party, browser: ReturnType<Server['browser']>, options: Options = {}) {
  const { client, authentication, redirectUri } = party;
  const bound = { ...LOCAL, ...(options.dpop === undefined ? {} : { DPoP: options.dpop }) };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const nonce = oauth.generateRandomNonce();
  const parameters = {
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: options.scope ?? EVERY_SCOPE,
    ...(options.resource === undefined ? {} : { resource: options.resource }),
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    nonce,
  };
  const url = new URL(as.authorization_endpoint ?? '');
  url.search = new URLSearchParams(
    options.par
      ? { client_id: client.client_id, request_uri: await push(party, parameters, bound) }
      : parameters,
  ).toString();
  const callback = await signInAndAllow(browser, url, demo.user);
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    client,
    authentication,
    oauth.validateAuthResponse(as, client, callback, state),
    redirectUri,
    verifier,
    bound,
  );
  const checks = { expectedNonce: nonce, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, checks);
  await oauth.validateApplicationLevelSignature(as, response, LOCAL);
  return { callback, tokens };
}

async function push({ client, authentication }: Party, parameters: Record<string, string>, bound: object) {
  const response = await oauth.pushedAuthorizationRequest(as, client, authentication, parameters, bound);
  return (await oauth.processPushedAuthorizationResponse(as, client, response)).request_uri;
}

async function refresh({ client, authentication }: Party, token: string, dpop?: oauth.DPoPHandle) {
  const options = { ...LOCAL, ...(dpop === undefined ? {} : { DPoP: dpop }) };
  const response = await oauth.refreshTokenGrantRequest(as, client, authentication, token, options);
  const tokens = await oauth.processRefreshTokenResponse(as, client, response);
  await oauth.validateApplicationLevelSignature(as, response, LOCAL);
  return tokens;
}

async function userInfo({ client }: Party, token: string, subject: string, dpop?: oauth.DPoPHandle) {
  const options = { ...LOCAL, ...(dpop === undefined ? {} : { DPoP: dpop }) };
  const response = await oauth.userInfoRequest(as, client, token, options);
  return oauth.processUserInfoResponse(as, client, subject, response);
}

async function introspect({ client, authentication }: Party, token: string) {
  const response = await oauth.introspectionRequest(as, client, authentication, token, LOCAL);
  return oauth.processIntrospectionResponse(as, client, response);
}

async function revoke({ client, authentication }: Party, token: string) {
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, authentication, token, LOCAL),
  );
}

async function clientCredentials(
  { client, authentication }: Omit<Party, 'redirectUri'>,
  scope: string,
  dpop?: oauth.DPoPHandle,
) {
  const options = { ...LOCAL, ...(dpop === undefined ? {} : { DPoP: dpop }) };
  const response = await oauth.clientCredentialsGrantRequest(as, client, authentication, { scope }, options);
  return oauth.processClientCredentialsResponse(as, client, response);
}

/** Who calls with the token, by the library's own check of RFC 9068 (and of the proof, where one is sent). */
async function validated(token: string): Promise<oauth.JWTAccessTokenClaims> {
  const request = new Request(own, { headers: { authorization: `Bearer ${token}` } });
  return oauth.validateJwtAccessToken(as, request, `${server.issuer}/api`, LOCAL);
}

async function webApplication(): Promise<Party> {
  const { client_id, client_secret = '' } = await server.createApplication({
    name: 'Web',
    type: 'web',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [SIGNED_OUT],
    scopes: EVERY_SCOPE.split(' '),
  });
  return {
    client: { client_id },
    authentication: oauth.ClientSecretBasic(client_secret),
    redirectUri: CALLBACK,
  };
}

t.test('the metadata of OpenID Connect Discovery and of RFC 8414', async (t) => {
  t.same(await discover('oauth2'), as);
  for (const name of ['authorize', 'token', 'revoke', 'introspect', 'par', 'logout']) {
    t.ok(Object.values(as).includes(`${server.issuer}/oauth2/${name}`), name);
  }
  t.equal(as.userinfo_endpoint, `${server.issuer}/userinfo`);
  const origin = new URL('https://another.example.org');
  const response = await oauth.discoveryRequest(issuer, LOCAL);
  t.match(await rejectionOf(oauth.processDiscoveryResponse(origin, response)), {
    code: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  });
});

t.test('a web application from sign-in to sign-out', async (t) => {
  const party = await webApplication();
  const browser = server.browser();
  const { callback, tokens } = await signIn(party, browser);
  t.equal(callback.searchParams.get('kept'), 'yes', 'the query of the redirect URI stays');
  t.match(oauth.getValidatedIdTokenClaims(tokens), { sub: demo.user.user_id, email_verified: true });
  const { access_token: first, refresh_token: refreshToken = '' } = tokens;
  t.match(await validated(first), { sub: demo.user.user_id, scope: EVERY_SCOPE, roles: ['user'] });
  t.match(await userInfo(party, first, demo.user.user_id), { email: 'demo@example.com' });
  t.match(await rejectionOf(userInfo(party, first, demo.admin.user_id)), {
    code: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  });
  t.match(await introspect(party, first), { active: true, scope: EVERY_SCOPE, sub: demo.user.user_id });

  const refreshed = await refresh(party, refreshToken);
  t.equal(refreshed.refresh_token, undefined);
  const again = await refresh(party, refreshToken);
  await revoke(party, refreshed.access_token);
  await untilDead(server, own.pathname, refreshed.access_token);
  t.same(await introspect(party, refreshed.access_token), { active: false });
  t.equal(await server.statusOf(own.pathname, { token: again.access_token }), 200);

  const url = new URL(as.end_session_endpoint ?? '');
  url.search = new URLSearchParams({
    id_token_hint: again.id_token ?? '',
    post_logout_redirect_uri: SIGNED_OUT,
  }).toString();
  t.equal((await signOut(browser, url)).href, SIGNED_OUT);
  for (const token of [first, again.access_token]) await untilDead(server, own.pathname, token);
  t.match(await rejectionOf(refresh(party, refreshToken)), { error: 'invalid_grant' });
  t.match(await rejectionOf(userInfo(party, first, demo.user.user_id)), { status: 401 });
  t.match((await browser.get('/account')).html, 'name="password"', 'the session is gone');
});

t.test('another session of the same person lives on', async (t) => {
  const party = await webApplication();
  const [here, there] = [server.browser(), server.browser()];
  const ending = await signIn(party, here);
  const staying = await signIn(party, there);
  const url = new URL(as.end_session_endpoint ?? '');
  url.search = new URLSearchParams({
    client_id: party.client.client_id,
    post_logout_redirect_uri: SIGNED_OUT,
  }).toString();
  await signOut(here, url);
  await untilDead(server, own.pathname, ending.tokens.access_token);
  t.equal(await server.statusOf(own.pathname, { token: staying.tokens.access_token }), 200);
  t.match(await refresh(party, staying.tokens.refresh_token ?? ''), { access_token: String });
});

t.test('a public client with DPoP and a pushed request: tokens and refresh tokens are bound', async (t) => {
  const party = {
    client: { client_id: demo.spa.client_id },
    authentication: oauth.None(),
    redirectUri: demo.spa.redirect_uri,
  };
  const dpop = oauth.DPoP({}, await oauth.generateKeyPair('ES256'));
  const { tokens } = await signIn(party, server.browser(), { par: true, dpop });
  t.equal(tokens.token_type, 'dpop');
  const { access_token: token, refresh_token: refreshToken = '' } = tokens;
  const get = (DPoP?: oauth.DPoPHandle) =>
    oauth.protectedResourceRequest(token, 'GET', own, undefined, null, {
      ...LOCAL,
      ...(DPoP === undefined ? {} : { DPoP }),
    });
  t.equal((await get(dpop)).status, 200);
  t.match(await userInfo(party, token, demo.user.user_id, dpop), { sub: demo.user.user_id });
  const thief = oauth.DPoP({}, await oauth.generateKeyPair('ES256'));
  t.match(await rejectionOf(get()), { status: 401 });
  t.match(await rejectionOf(get(thief)), { status: 401 });
  t.match(await rejectionOf(userInfo(party, token, demo.user.user_id)), { status: 401 });
  t.equal(await server.statusOf(own.pathname, { authorization: `DPoP ${token}` }), 401, 'without a proof');

  t.match(await rejectionOf(refresh(party, refreshToken)), { error: 'invalid_grant' });
  t.match(await rejectionOf(refresh(party, refreshToken, thief)), { error: 'invalid_grant' });
  const refreshed = await refresh(party, refreshToken, dpop);
  t.equal(refreshed.token_type, 'dpop');
  t.match(refreshed.refresh_token, String);
  t.not(refreshed.refresh_token, refreshToken, 'rotated');
  await revoke(party, token);
  const dead = () =>
    get(dpop).then(
      () => false,
      ({ status }) => status === 401,
    );
  await until(dead, 1000);
});

t.test('a device without a browser, which gets tokens bound to its key (RFC 8628, RFC 9449)', async (t) => {
  const { client_id } = await server.createApplication({
    ...{ name: 'Television', type: 'native', scopes: ['openid', 'read:data'], device_flow: true },
  });
  const [client, none] = [{ client_id }, oauth.None()];
  const asked = await oauth.deviceAuthorizationRequest(
    as,
    client,
    none,
    { scope: 'openid read:data' },
    LOCAL,
  );
  const device = await oauth.processDeviceAuthorizationResponse(as, client, asked);
  const dpop = oauth.DPoP({}, await oauth.generateKeyPair('ES256'));
  const options = { ...LOCAL, DPoP: dpop };
  const poll = async () => {
    const response = await oauth.deviceCodeGrantRequest(as, client, none, device.device_code, options);
    return oauth.processDeviceCodeResponse(as, client, response);
  };
  t.match(await rejectionOf(poll()), { error: 'authorization_pending' });
  t.match(await rejectionOf(poll()), { error: 'slow_down' });
  const browser = server.browser();
  let page = await browser.submit(await browser.get(device.verification_uri), {
    user_code: device.user_code,
  });
  page = await browser.submit(await browser.submit(page, {}), { ...demo.user });
  page = await browser.submit(page, { decision: 'allow' });
  t.match(page.html, 'Your device is connected');
  const tokens = await poll();
  t.equal(tokens.token_type, 'dpop');
  t.match(oauth.getValidatedIdTokenClaims(tokens), { sub: demo.user.user_id, aud: client_id });
  t.match(tokens, { refresh_token: String, scope: 'openid read:data' });
});

t.test('client credentials by secret, and by private_key_jwt (RFC 7523)', async (t) => {
  const { client_id: id, client_secret: secret } = demo.machine;
  for (const authentication of [oauth.ClientSecretBasic(secret), oauth.ClientSecretPost(secret)]) {
    const tokens = await clientCredentials({ client: { client_id: id }, authentication }, 'read:users');
    t.equal(tokens.scope, 'read:users');
    t.equal(tokens.refresh_token, undefined);
    t.match(await validated(tokens.access_token), { sub: id, client_id: id });
    t.equal(await server.statusOf('/v1/users', { token: tokens.access_token }), 200);
  }

  for (const alg of ['ES256', 'RS256', 'PS256', 'Ed25519']) {
    const { privateKey, publicKey } = await oauth.generateKeyPair(alg);
    const made = await server.createApplication({
      name: `Machine with a key for ${alg}`,
      type: 'machine',
      scopes: ['read:users'],
      jwks: { keys: [await exportJWK(publicKey)] },
    });
    t.equal(made.client_secret, undefined, 'it has no secret');
    const machine = (key: oauth.PrivateKey['key']) => ({
      client: { client_id: made.client_id },
      authentication: oauth.PrivateKeyJwt(key),
    });
    const tokens = await clientCredentials(machine(privateKey), 'read:users');
    t.equal(await server.statusOf('/v1/users', { token: tokens.access_token }), 200, alg);
    const foreign = await oauth.generateKeyPair(alg);
    t.match(await rejectionOf(clientCredentials(machine(foreign.privateKey), 'read:users')), {
      error: 'invalid_client',
    });
  }
});

t.test('a machine whose tokens are bound', async (t) => {
  const made = await server.createApplication({
    name: 'Machine',
    type: 'machine',
    scopes: ['read:users'],
    dpop_bound_access_tokens: true,
  });
  const machine = {
    client: { client_id: made.client_id },
    authentication: oauth.ClientSecretBasic(made.client_secret ?? ''),
  };
  t.match(await rejectionOf(clientCredentials(machine, 'read:users')), { error: 'invalid_grant' });
  const dpop = oauth.DPoP({}, await oauth.generateKeyPair('ES256'));
  const { access_token: token } = await clientCredentials(machine, 'read:users', dpop);
  const users = new URL('/v1/users?limit=1', issuer);
  const options = { ...LOCAL, DPoP: dpop };
  t.equal((await oauth.protectedResourceRequest(token, 'GET', users, undefined, null, options)).status, 200);
  t.equal(await server.statusOf('/v1/users', { token }), 401);
});

t.test('a machine without a secret acts for a person (RFC 7523, RFC 8693)', async (t) => {
  const admin = await loginToken(server.issuer, demo.admin);
  const post = async (path: string, body: object) => {
    const made = await jsonRequest('POST', server.issuer + path, { token: admin, body });
    t.equal(made.status, 201, JSON.stringify(made.body));
  };
  await post('/api/v1/trusted-issuers', { issuer: platform.issuer, kinds: ['workload'] });
  const [notes, mail] = ['https://notes.example.com/api', 'https://mail.example.com/api'] as const;
  for (const [identifier, scope] of [
    [notes, 'notes:read'],
    [mail, 'mail:read'],
  ] as const) {
    await post('/api/v1/resources', {
      ...{ identifier, name: scope, scopes: [{ name: scope, description: scope }] },
    });
  }
  const { client_id } = await server.createApplication({
    ...{ name: 'Agent', type: 'machine', scopes: ['read:users'] },
    token_exchange: [
      { resource: notes, scopes: [] },
      { resource: mail, scopes: ['mail:read'] },
    ],
  });
  await post(`/api/v1/applications/${client_id}/federated-credentials`, {
    ...{
      name: 'CI',
      issuer: platform.issuer,
      subject: 'repo:acme/shop:*',
      claims: { ref: 'refs/heads/main' },
    },
  });
  const signs =
    (ref: string): oauth.ClientAuth =>
    async (_as, client, body) => {
      const token = await new SignJWT({ ref })
        .setProtectedHeader({ alg: 'ES256', kid: '1' })
        .setIssuer(platform.issuer)
        .setSubject(`repo:acme/shop:ref:${ref}`)
        .setAudience(server.issuer)
        .setJti(crypto.randomUUID())
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(platform.privateKey);
      body.set('client_id', client.client_id);
      body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
      body.set('client_assertion', token);
    };
  const agent = { client: { client_id }, authentication: signs('refs/heads/main') };
  const own = await clientCredentials(agent, 'read:users');
  t.equal(await server.statusOf('/v1/users', { token: own.access_token }), 200);
  const other = { ...agent, authentication: signs('refs/heads/next') };
  t.match(await rejectionOf(clientCredentials(other, 'read:users')), { error: 'invalid_client' });

  const web = await webApplication();
  const { tokens } = await signIn(web, server.browser(), { scope: 'openid notes:read', resource: notes });
  const exchange = async (scope: string) => {
    const response = await oauth.genericTokenEndpointRequest(
      as,
      agent.client,
      agent.authentication,
      'urn:ietf:params:oauth:grant-type:token-exchange',
      {
        ...{ subject_token: tokens.access_token, resource: mail, scope },
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      },
      LOCAL,
    );
    return oauth.processGenericTokenEndpointResponse(as, agent.client, response);
  };
  const exchanged = await exchange('mail:read');
  t.match(exchanged, { scope: 'mail:read', token_type: 'bearer', refresh_token: undefined });
  const request = new Request(mail, { headers: { authorization: `Bearer ${exchanged.access_token}` } });
  t.match(await oauth.validateJwtAccessToken(as, request, mail, LOCAL), {
    ...{ sub: demo.user.user_id, client_id, act: { sub: client_id } },
  });
  t.match(await rejectionOf(exchange('notes:read')), { error: 'invalid_scope' });

  const path = `/api/v1/requests?filter[client_id]=${client_id}`;
  const workloads = async () => {
    const { body } = await jsonRequest<{ data: { workload: string | null }[] }>('GET', server.issuer + path, {
      token: admin,
    });
    return body.data.flatMap(({ workload }) => workload ?? []);
  };
  await until(async () => (await workloads()).length > 0, 15_000);
  t.equal((await workloads())[0], 'repo:acme/shop:ref:refs/heads/main, ref refs/heads/main');
});

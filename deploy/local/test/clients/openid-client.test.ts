import { exportJWK, generateKeyPair } from 'jose';
import * as client from 'openid-client';
import t from 'tap';
import {
  EVERY_SCOPE,
  rejectionOf,
  type Server,
  signInAndAllow,
  signOut,
  startServer,
  untilDead,
} from './set-up.ts';

const SIGNED_OUT = 'http://127.0.0.1:49152/signed-out';
const CALLBACK = 'http://127.0.0.1:49152/callback';

const server = await startServer(t);
const { demo } = server;
const own = `/v1/users/${demo.user.user_id}`;

/** A client as its author would set it up; every ID token's signature is checked. */
function discover(
  clientId: string,
  authentication: client.ClientAuth,
  algorithm: 'oidc' | 'oauth2' = 'oidc',
): Promise<client.Configuration> {
  return client.discovery(new URL(server.issuer), clientId, undefined, authentication, {
    algorithm,
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  });
}

type Flow = { redirectUri: string; scope?: string; par?: boolean; dpop?: client.DPoPHandle };

/** The authorization code flow with everything that can be checked. */
async function signIn(config: client.Configuration, browser: ReturnType<Server['browser']>, flow: Flow) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const expectedNonce = client.randomNonce();
  const parameters = {
    redirect_uri: flow.redirectUri,
    scope: flow.scope ?? EVERY_SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
  };
  const options = flow.dpop === undefined ? {} : { DPoP: flow.dpop };
  const url = flow.par
    ? await client.buildAuthorizationUrlWithPAR(config, parameters, options)
    : client.buildAuthorizationUrl(config, parameters);
  const callback = await signInAndAllow(browser, url, demo.user);
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
  const tokens = await client.authorizationCodeGrant(config, callback, checks, undefined, options);
  return { url, callback, checks, tokens };
}

t.test('a web application: code, user info, introspection, refresh, revocation', async (t) => {
  const config = await discover(demo.web.client_id, client.ClientSecretPost(demo.web.client_secret));
  const browser = server.browser();
  const { callback, checks, tokens } = await signIn(config, browser, { redirectUri: demo.web.redirect_uri });
  t.equal(callback.searchParams.get('iss'), server.issuer, 'RFC 9207');
  t.match(tokens, { token_type: 'bearer', scope: EVERY_SCOPE, refresh_token: String });
  const claims = tokens.claims();
  t.match(claims, { iss: server.issuer, aud: demo.web.client_id, sub: demo.user.user_id });

  const info = await client.fetchUserInfo(config, tokens.access_token, demo.user.user_id);
  t.match(info, { sub: demo.user.user_id, updated_at: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ });
  t.match(await rejectionOf(client.fetchUserInfo(config, tokens.access_token, demo.admin.user_id)), {
    code: 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  });
  t.match(await client.tokenIntrospection(config, tokens.access_token), {
    active: true,
    client_id: demo.web.client_id,
    sub: demo.user.user_id,
    scope: EVERY_SCOPE,
  });

  const refreshToken = tokens.refresh_token ?? '';
  const once = await client.refreshTokenGrant(config, refreshToken);
  t.equal(once.refresh_token, undefined, 'the old one goes on');
  const twice = await client.refreshTokenGrant(config, refreshToken, { scope: 'openid read:profile' });
  t.equal(twice.refresh_token, undefined);
  t.equal(twice.claims()?.sub, demo.user.user_id);
  const { scope } = await client.tokenIntrospection(config, twice.access_token);
  t.equal(scope, 'openid read:profile');
  t.match(await client.tokenIntrospection(config, refreshToken), { active: true });

  t.equal(await server.statusOf(own, { token: once.access_token }), 200);
  await client.tokenRevocation(config, once.access_token);
  await untilDead(server, own, once.access_token);
  t.same(await client.tokenIntrospection(config, once.access_token), { active: false });
  t.match(await rejectionOf(client.fetchUserInfo(config, once.access_token, demo.user.user_id)), {
    status: 401,
  });
  t.equal(await server.statusOf(own, { token: twice.access_token }), 200, 'only that one is revoked');

  await client.tokenRevocation(config, refreshToken);
  t.match(await rejectionOf(client.refreshTokenGrant(config, refreshToken)), {
    error: 'invalid_grant',
    status: 400,
  });
  await untilDead(server, own, twice.access_token);

  t.match(await rejectionOf(client.authorizationCodeGrant(config, callback, checks)), {
    error: 'invalid_grant',
  });
});

t.test('forged responses are rejected', async (t) => {
  const config = await discover(demo.web.client_id, client.ClientSecretBasic(demo.web.client_secret));
  const browser = server.browser();
  const verifier = client.randomPKCECodeVerifier();
  const begin = async () => {
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: demo.web.redirect_uri,
      scope: 'openid',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'the-state',
      nonce: 'the-nonce',
    });
    return signInAndAllow(browser, url, demo.user);
  };
  const right = { pkceCodeVerifier: verifier, expectedState: 'the-state', expectedNonce: 'the-nonce' };
  const exchange = (callback: URL, checks: client.AuthorizationCodeGrantChecks) =>
    client.authorizationCodeGrant(config, callback, checks);
  t.match(await rejectionOf(exchange(await begin(), { ...right, expectedState: 'another-state' })), {
    code: 'OAUTH_INVALID_RESPONSE',
  });
  t.match(await rejectionOf(exchange(await begin(), { ...right, expectedNonce: 'another-nonce' })), {
    code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  });
  t.match(
    await rejectionOf(
      exchange(await begin(), { ...right, pkceCodeVerifier: client.randomPKCECodeVerifier() }),
    ),
    {
      error: 'invalid_grant',
    },
  );
  const mixedUp = await begin();
  mixedUp.searchParams.set('iss', 'https://another.example.org');
  t.match(await rejectionOf(exchange(mixedUp, right)), { code: 'OAUTH_INVALID_RESPONSE' });

  const forged = await discover(demo.web.client_id, client.ClientSecretBasic(demo.web.client_secret));
  const { n } = await exportJWK((await generateKeyPair('RS256')).publicKey);
  forged[client.customFetch] = async (url, options) => {
    const response = await fetch(url, options as RequestInit);
    if (url !== forged.serverMetadata().jwks_uri) return response;
    const { keys } = (await response.json()) as client.JWKS;
    return Response.json({ keys: keys.map((key) => (key.kty === 'RSA' ? { ...key, n } : key)) });
  };
  t.match(await rejectionOf(client.authorizationCodeGrant(forged, await begin(), right)), {
    cause: { message: 'JWT signature verification failed' },
  });

  const tokens = await exchange(await begin(), right);
  t.equal(tokens.claims()?.sub, demo.user.user_id);
  t.equal(tokens.scope, 'openid');
});

t.test('a public client: the refresh token rotates, and signing out ends all', async (t) => {
  const { client_id: id } = await server.createApplication({
    name: 'Public',
    type: 'spa',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [SIGNED_OUT],
    scopes: ['openid', 'profile', 'read:profile'],
  });
  const config = await discover(id, client.None());
  const browser = server.browser();
  const { tokens } = await signIn(config, browser, { redirectUri: CALLBACK, scope: 'openid read:profile' });
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  t.match(refreshed.refresh_token, String);
  t.not(refreshed.refresh_token, tokens.refresh_token);
  const again = await client.refreshTokenGrant(config, refreshed.refresh_token ?? '');
  const repeated = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  t.equal(repeated.refresh_token, refreshed.refresh_token, 'as by another tab');

  t.equal(await server.statusOf(own, { token: again.access_token }), 200);
  const url = client.buildEndSessionUrl(config, {
    post_logout_redirect_uri: SIGNED_OUT,
    id_token_hint: again.id_token ?? '',
    state: 'after',
  });
  t.equal((await signOut(browser, url)).href, `${SIGNED_OUT}?state=after`);
  for (const { access_token: token } of [tokens, refreshed, again, repeated])
    await untilDead(server, own, token);
  t.match(await rejectionOf(client.refreshTokenGrant(config, again.refresh_token ?? '')), {
    error: 'invalid_grant',
  });
  const silently = client.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: 'openid',
    prompt: 'none',
    code_challenge: await client.calculatePKCECodeChallenge(client.randomPKCECodeVerifier()),
    code_challenge_method: 'S256',
  });
  const { url: refused } = await browser.get(silently.href);
  t.equal(refused.searchParams.get('error'), 'login_required', 'the session is gone');
  t.match(await rejectionOf(client.authorizationCodeGrant(config, refused, {})), { error: 'login_required' });
});

t.test('a native application, at a port of its own', async (t) => {
  const config = await discover(demo.native.client_id, client.None());
  const redirectUri = 'http://127.0.0.1:50123/callback';
  const { callback, tokens } = await signIn(config, server.browser(), { redirectUri });
  t.equal(callback.port, '50123');
  t.equal(await server.statusOf(own, { token: tokens.access_token }), 200);
});

t.test('client credentials, by post and basic, with the metadata of RFC 8414', async (t) => {
  const { client_id: id, client_secret: secret } = demo.machine;
  for (const authentication of [client.ClientSecretPost(secret), client.ClientSecretBasic(secret)]) {
    const config = await discover(id, authentication, 'oauth2');
    const tokens = await client.clientCredentialsGrant(config, { scope: 'read:users' });
    t.match(tokens, { token_type: 'bearer', scope: /^read:users$/, refresh_token: undefined });
    const url = new URL('/v1/users', server.issuer);
    const reply = await client.fetchProtectedResource(config, tokens.access_token, url, 'GET');
    t.match(await reply.json(), { data: [{ username: 'admin' }, { username: 'demo' }] });
    await client.tokenRevocation(config, tokens.access_token);
    await untilDead(server, '/v1/users', tokens.access_token);
  }
  const wrong = await discover(id, client.ClientSecretBasic('wrong'), 'oauth2');
  t.match(await rejectionOf(client.clientCredentialsGrant(wrong)), {
    code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
    status: 401,
  });
});

t.test('a pushed authorization request (RFC 9126), and DPoP (RFC 9449)', async (t) => {
  const config = await discover(demo.web.client_id, client.ClientSecretBasic(demo.web.client_secret));
  const dpop = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  const { url, tokens } = await signIn(config, server.browser(), {
    redirectUri: demo.web.redirect_uri,
    par: true,
    dpop,
  });
  t.same([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  t.equal(tokens.token_type, 'dpop');
  const record = new URL(own, server.issuer);
  const options = { DPoP: dpop };
  const { access_token: token } = tokens;
  const reply = await client.fetchProtectedResource(config, token, record, 'GET', null, undefined, options);
  t.match(await reply.json(), { id: demo.user.user_id });
  t.match(await client.fetchUserInfo(config, token, demo.user.user_id, options), { sub: demo.user.user_id });

  t.equal(await server.statusOf(own, { token }), 401, 'as Bearer');
  t.equal(await server.statusOf('/userinfo', { token }), 401, 'as Bearer');
  t.equal(await server.statusOf(own, { authorization: `DPoP ${token}` }), 401, 'without a proof');
  t.equal(await server.statusOf('/userinfo', { authorization: `DPoP ${token}` }), 401, 'without a proof');
  const thief = { DPoP: client.getDPoPHandle(config, await client.randomDPoPKeyPair()) };
  t.match(
    await rejectionOf(client.fetchProtectedResource(config, token, record, 'GET', null, undefined, thief)),
    {
      status: 401,
    },
  );

  t.match(await client.tokenIntrospection(config, token), { active: true, cnf: { jkt: String } });
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, options);
  t.equal(refreshed.token_type, 'dpop');
});

t.test('the implicit flow of a legacy application', async (t) => {
  const redirectUri = 'https://legacy.example.org/callback';
  const { client_id: id } = await server.createApplication({
    name: 'Legacy',
    type: 'spa',
    redirect_uris: [redirectUri],
    scopes: ['openid', 'read:profile'],
    legacy_implicit: true,
  });
  const nonce = client.randomNonce();
  const request = {
    response_type: 'id_token token',
    scope: 'openid read:profile',
    state: 'the-state',
    nonce,
  };
  const config = await discover(id, client.None());
  client.useIdTokenResponseType(config);
  const url = client.buildAuthorizationUrl(config, { ...request, redirect_uri: redirectUri });
  const callback = await signInAndAllow(server.browser(), url, demo.user);
  const fragment = new URLSearchParams(callback.hash.slice(1));
  t.equal(fragment.get('token_type'), 'Bearer');
  t.equal(await server.statusOf(own, { token: fragment.get('access_token') ?? '' }), 200);
  // The library knows no access token beside the ID token.
  for (const name of ['access_token', 'token_type', 'expires_in', 'scope']) fragment.delete(name);
  callback.hash = fragment.toString();
  const claims = await client.implicitAuthentication(config, callback, nonce, { expectedState: 'the-state' });
  t.match(claims, { sub: demo.user.user_id, at_hash: String });

  const modern = await discover(demo.spa.client_id, client.None());
  client.useIdTokenResponseType(modern);
  const its = client.buildAuthorizationUrl(modern, { ...request, redirect_uri: demo.spa.redirect_uri });
  const refused = new URLSearchParams((await server.browser().get(its.href)).url.hash.slice(1));
  t.equal(refused.get('error_description'), 'requested response_type is not allowed for this client');
  t.equal(refused.get('access_token'), null);
});

t.test("the demo's API key, by both headers", async (t) => {
  for (const scheme of ['Bearer', 'ApiKey']) {
    t.equal(await server.statusOf('/v1/users', { authorization: `${scheme} ${demo.api_key}` }), 200, scheme);
    t.equal(await server.statusOf('/v1/users', { authorization: `${scheme} ${demo.api_key}x` }), 401, scheme);
  }
});

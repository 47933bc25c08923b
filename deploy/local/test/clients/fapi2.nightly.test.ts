import { exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import t from 'tap';
import { rejectionOf, signInAndAllow, signOut, startServer, untilDead } from './set-up.ts';

const CALLBACK = 'https://fapi.example.org/callback';
const SIGNED_OUT = 'https://fapi.example.org/signed-out';
const SCOPE = 'openid email read:profile';

const server = await startServer(t);
const { demo } = server;
const issuer = new URL(server.issuer);
const own = new URL(`/v1/users/${demo.user.user_id}`, issuer);
const untilRefused = (token: string) => untilDead(server, own.pathname, token);

/** An application that is held to the FAPI 2.0 Security Profile, and its private key. */
async function application(alg: string) {
  const { privateKey, publicKey } = await oauth.generateKeyPair(alg);
  const { client_id } = await server.createApplication({
    name: 'Bank',
    type: 'web',
    redirect_uris: [CALLBACK],
    post_logout_redirect_uris: [SIGNED_OUT],
    scopes: SCOPE.split(' '),
    jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] },
    security_profile: 'fapi2',
  });
  return { client_id, key: { key: privateKey, kid: 'one' } };
}

t.test('openid-client, from discovery to sign-out', async (t) => {
  const { client_id, key } = await application('PS256');
  const metadata = { use_mtls_endpoint_aliases: false, id_token_signed_response_alg: 'ES256' };
  const config = await client.discovery(issuer, client_id, metadata, client.PrivateKeyJwt(key), {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  });
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const parameters = {
    redirect_uri: CALLBACK,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    nonce: client.randomNonce(),
  };
  const browser = server.browser();
  const url = await client.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
  t.same([...url.searchParams.keys()].sort(), ['client_id', 'request_uri']);
  const callback = await signInAndAllow(browser, url, demo.user);
  const checks = { pkceCodeVerifier, expectedNonce: parameters.nonce, idTokenExpected: true };
  const tokens = await client.authorizationCodeGrant(config, callback, checks, undefined, { DPoP });
  t.match(tokens, { token_type: 'dpop', scope: SCOPE, refresh_token: String });
  t.match(tokens.claims(), { sub: demo.user.user_id, email_verified: true });

  const options = { DPoP };
  const read = (token: string) =>
    client.fetchProtectedResource(config, token, own, 'GET', null, undefined, options);
  t.match(await (await read(tokens.access_token)).json(), { id: demo.user.user_id });
  t.match(await client.fetchUserInfo(config, tokens.access_token, demo.user.user_id, options), {
    email: 'demo@example.com',
  });
  t.equal(await server.statusOf(own.pathname, { token: tokens.access_token }), 401, 'not without the key');
  const { refresh_token: refreshToken = '' } = tokens;
  t.match(await rejectionOf(client.refreshTokenGrant(config, refreshToken)), { error: 'invalid_grant' });
  const refreshed = await client.refreshTokenGrant(config, refreshToken, undefined, options);
  t.match(refreshed, { token_type: 'dpop', refresh_token: undefined });
  t.match(await client.tokenIntrospection(config, refreshed.access_token), {
    active: true,
    cnf: { jkt: String },
  });

  const direct = client.buildAuthorizationUrl(config, parameters);
  const refused = await rejectionOf(
    client.authorizationCodeGrant(config, await signInAndAllow(browser, direct, demo.user), checks),
  );
  t.match(refused, { error: 'invalid_request' }, 'not pushed');

  const end = { id_token_hint: refreshed.id_token ?? '', post_logout_redirect_uri: SIGNED_OUT };
  t.equal((await signOut(browser, client.buildEndSessionUrl(config, end))).href, SIGNED_OUT);
  await untilRefused(refreshed.access_token);
  t.match(await rejectionOf(client.refreshTokenGrant(config, refreshToken, undefined, options)), {
    error: 'invalid_grant',
  });
});

t.test('oauth4webapi, step by step', async (t) => {
  const { client_id, key } = await application('Ed25519');
  const local = { [oauth.allowInsecureRequests]: true };
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, local));
  const party = { client_id, id_token_signed_response_alg: 'ES256' };
  const authentication = oauth.PrivateKeyJwt(key);
  const DPoP = oauth.DPoP({}, await oauth.generateKeyPair('ES256'));
  const bound = { ...local, DPoP };
  const verifier = oauth.generateRandomCodeVerifier();
  const nonce = oauth.generateRandomNonce();
  const parameters = {
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: SCOPE,
    nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  const push = (options: object) =>
    oauth.pushedAuthorizationRequest(as, party, authentication, parameters, options);
  const pushed = await oauth.processPushedAuthorizationResponse(as, party, await push(bound));
  t.ok(pushed.expires_in < 600);
  const url = new URL(as.authorization_endpoint ?? '');
  url.search = new URLSearchParams({ client_id, request_uri: pushed.request_uri }).toString();
  const callback = await signInAndAllow(server.browser(), url, demo.user);
  const code = oauth.validateAuthResponse(as, party, callback, oauth.expectNoState);
  const response = await oauth.authorizationCodeGrantRequest(
    ...[as, party, authentication, code, CALLBACK, verifier, bound],
  );
  const checks = { expectedNonce: nonce, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(as, party, response, checks);
  await oauth.validateApplicationLevelSignature(as, response, local);
  t.equal(tokens.token_type, 'dpop');
  t.equal(oauth.getValidatedIdTokenClaims(tokens)?.sub, demo.user.user_id);

  const proved = await oauth.protectedResourceRequest(
    tokens.access_token,
    'GET',
    own,
    undefined,
    null,
    bound,
  );
  t.equal(proved.status, 200);
  const secret = oauth.ClientSecretPost('x'.repeat(43));
  const bySecret = await oauth.pushedAuthorizationRequest(as, party, secret, parameters, local);
  t.match(await rejectionOf(oauth.processPushedAuthorizationResponse(as, party, bySecret)), {
    error: 'invalid_client',
  });
  const wrongAudience = oauth.PrivateKeyJwt(key, {
    [oauth.modifyAssertion](_header, payload) {
      payload.aud = [issuer.origin, `${issuer.origin}/oauth2/token`];
    },
  });
  const listed = await oauth.pushedAuthorizationRequest(as, party, wrongAudience, parameters, local);
  t.match(await rejectionOf(oauth.processPushedAuthorizationResponse(as, party, listed)), {
    error: 'invalid_client',
  });
});

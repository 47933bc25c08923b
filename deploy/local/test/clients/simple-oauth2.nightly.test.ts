import { createHash, randomBytes } from 'node:crypto';
import { type AccessToken, AuthorizationCode, ClientCredentials, type ModuleOptions } from 'simple-oauth2';
import t from 'tap';
import { EVERY_SCOPE, rejectionOf, signInAndAllow, signOut, startServer, untilDead } from './set-up.ts';

const server = await startServer(t);
const { demo } = server;
const own = `/v1/users/${demo.user.user_id}`;
const tokenOf = ({ token }: AccessToken) => String(token.access_token);

type Way = { tokenPath: string; options: ModuleOptions['options'] & object };
/** The library's settings of how a client speaks; the first are its own defaults. */
const WAYS: Way[] = [
  { tokenPath: '/oauth/token', options: {} },
  { tokenPath: '/oauth/token', options: { bodyFormat: 'json', authorizationMethod: 'body' } },
  { tokenPath: '/oauth/token', options: { bodyFormat: 'json', authorizationMethod: 'header' } },
  { tokenPath: '/oauth2/token', options: { bodyFormat: 'form', authorizationMethod: 'body' } },
  {
    tokenPath: '/oauth2/token',
    options: { authorizationMethod: 'header', credentialsEncodingMode: 'loose' },
  },
];

function settings(
  { client_id: id, client_secret: secret }: { client_id: string; client_secret: string },
  { tokenPath, options }: Way,
): ModuleOptions {
  const auth = {
    tokenHost: server.issuer,
    tokenPath,
    revokePath: '/oauth2/revoke',
  };
  return { client: { id, secret }, auth, options };
}

function codeClient(credentials: Parameters<typeof settings>[0], way: Way): AuthorizationCode {
  const { auth, ...rest } = settings(credentials, way);
  return new AuthorizationCode({ ...rest, auth: { ...auth, authorizePath: '/oauth2/authorize' } });
}

for (const way of WAYS) {
  const { bodyFormat = 'form', authorizationMethod = 'header' } = way.options;
  t.test(`${way.tokenPath}, ${bodyFormat}, credentials in the ${authorizationMethod}`, async (t) => {
    await t.test('code with PKCE, user info, refresh, revocation', async (t) => {
      const client = codeClient(demo.web, way);
      const verifier = randomBytes(32).toString('base64url');
      const request = {
        redirect_uri: demo.web.redirect_uri,
        scope: EVERY_SCOPE.split(' '),
        state: 'a state & more',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      };
      const browser = server.browser();
      const callback = await signInAndAllow(browser, client.authorizeURL(request), demo.user);
      t.equal(callback.searchParams.get('state'), request.state);
      const code = callback.searchParams.get('code') ?? '';
      const exchange = { code, redirect_uri: demo.web.redirect_uri, code_verifier: verifier };
      const first = await client.getToken(exchange);
      t.match(first.token, {
        token_type: 'Bearer',
        scope: EVERY_SCOPE,
        refresh_token: String,
        expires_at: Date,
      });
      t.notOk(first.expired());
      t.ok(first.expired(3601));

      const response = await fetch(`${server.issuer}/userinfo`, {
        headers: { authorization: `Bearer ${tokenOf(first)}` },
      });
      t.match(await response.json(), { sub: demo.user.user_id });

      // The library forgets the refresh token when the response has none: the first one goes on.
      const second = await first.refresh();
      t.equal(second.token.refresh_token, undefined);
      const third = await first.refresh({ scope: ['openid', 'read:profile'] });
      t.equal(third.token.scope ?? 'openid read:profile', 'openid read:profile');
      await second.revoke('access_token');
      await untilDead(server, own, tokenOf(second));
      for (const live of [first, third]) t.equal(await server.statusOf(own, { token: tokenOf(live) }), 200);

      await first.revokeAll();
      for (const dead of [first, third]) await untilDead(server, own, tokenOf(dead));
      t.match(await rejectionOf(first.refresh()), {
        output: { statusCode: 400 },
        data: { payload: { error: 'invalid_grant' } },
      });
    });

    await t.test('client credentials, revocation, a wrong secret', async (t) => {
      const client = new ClientCredentials(settings(demo.machine, way));
      const token = await client.getToken({ scope: ['read:users', 'read:data'] });
      t.equal(token.token.scope, 'read:users read:data');
      t.equal(await server.statusOf('/v1/users', { token: tokenOf(token) }), 200);
      await token.revoke('access_token');
      await untilDead(server, '/v1/users', tokenOf(token));
      const wrong = new ClientCredentials(settings({ ...demo.machine, client_secret: 'wrong' }, way));
      t.match(await rejectionOf(wrong.getToken({})), {
        output: { statusCode: 401 },
        data: { payload: { error: 'invalid_client' } },
      });
    });
  });
}

t.test('signing out ends what was issued in the session', async (t) => {
  const way = { tokenPath: '/oauth/token', options: {} };
  const afterwards = 'https://web.example.org/';
  const redirect_uri = 'https://web.example.org/callback';
  const { client_id, client_secret = '' } = await server.createApplication({
    name: 'Web',
    type: 'web',
    redirect_uris: [redirect_uri],
    post_logout_redirect_uris: [afterwards],
    scopes: ['openid', 'read:profile'],
  });
  const client = codeClient({ client_id, client_secret }, way);
  const browser = server.browser();
  const url = client.authorizeURL({ redirect_uri, scope: 'openid read:profile', state: 'state' });
  const code = (await signInAndAllow(browser, url, demo.user)).searchParams.get('code') ?? '';
  const tokens = await client.getToken({ code, redirect_uri });
  t.equal(await server.statusOf(own, { token: tokenOf(tokens) }), 200);
  const logout = new URLSearchParams({ client_id, post_logout_redirect_uri: afterwards });
  t.equal((await signOut(browser, `/oauth2/logout?${logout}`)).href, afterwards);
  await untilDead(server, own, tokenOf(tokens));
  t.match(await rejectionOf(tokens.refresh()), { data: { payload: { error: 'invalid_grant' } } });
});

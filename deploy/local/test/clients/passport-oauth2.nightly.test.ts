import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import express from 'express';
import session from 'express-session';
import passport from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import t from 'tap';
import {
  type MadeApplication,
  rejectionOf,
  signInAndAllow,
  signOut,
  startServer,
  untilDead,
} from './set-up.ts';

type Profile = { sub: string; email: string };
type Tokens = { accessToken: string; refreshToken: string; idToken: string };
declare global {
  namespace Express {
    interface User extends Tokens {
      profile: Profile;
    }
  }
}

const server = await startServer(t);
const { demo } = server;
const own = `/v1/users/${demo.user.user_id}`;

/** A web application as its author would write it: /login, /callback, /me, /logout, and a home page for all. */
async function startApplication() {
  const app = express();
  const listener = app.listen(0, '127.0.0.1');
  t.teardown(() => listener.close());
  await once(listener, 'listening');
  const home = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
  const callbackURL = `${home}callback`;
  const made = await server.createApplication({
    name: 'Express',
    type: 'web',
    redirect_uris: [callbackURL],
    post_logout_redirect_uris: [home],
    scopes: ['openid', 'email', 'read:profile'],
  });
  const strategy = strategyOf(made, callbackURL);

  const authenticator = new passport.Passport();
  authenticator.use('gatehouse', strategy);
  authenticator.serializeUser((user, done) => done(null, JSON.stringify(user)));
  authenticator.deserializeUser((text: string, done) => done(null, JSON.parse(text)));
  app.use(session({ secret: 'of the test', resave: false, saveUninitialized: false }));
  app.use(authenticator.initialize(), authenticator.session());
  const signIn = authenticator.authenticate('gatehouse', { failureRedirect: '/failed' });
  app.get('/login', signIn);
  app.get('/callback', signIn, (_request, response) => response.redirect('/me'));
  app.get('/me', (request, response) => {
    response.status(request.user === undefined ? 401 : 200).json(request.user ?? null);
  });
  app.get('/failed', (_request, response) => {
    response.status(403).send('failed');
  });
  app.get('/logout', (request, response, next) => {
    const query = new URLSearchParams({
      id_token_hint: request.user?.idToken ?? '',
      post_logout_redirect_uri: home,
    });
    request.logout((error) => {
      if (error) next(error);
      else response.redirect(`${server.issuer}/oauth2/logout?${query}`);
    });
  });
  app.get('/', (_request, response) => {
    response.send('home');
  });
  return { home, made, strategy };
}

function strategyOf({ client_id, client_secret = '' }: MadeApplication, callbackURL: string): OAuth2Strategy {
  const strategy = new OAuth2Strategy(
    {
      authorizationURL: `${server.issuer}/oauth2/authorize`,
      tokenURL: `${server.issuer}/oauth2/token`,
      clientID: client_id,
      clientSecret: client_secret,
      callbackURL,
      scope: ['openid', 'email', 'read:profile'],
      state: true,
      pkce: true,
    },
    (
      accessToken: string,
      refreshToken: string,
      { id_token: idToken }: { id_token: string },
      profile: Profile,
      done: OAuth2Strategy.VerifyCallback,
    ) => done(null, { accessToken, refreshToken, idToken, profile }),
  );
  // biome-ignore lint/complexity/useLiteralKeys: it is protected, and there for those who make a strategy.
  const requests = strategy['_oauth2'];
  requests.useAuthorizationHeaderforGET(true);
  strategy.userProfile = (accessToken, done) =>
    requests.get(`${server.issuer}/userinfo`, accessToken, (error, body) =>
      error ? done(new Error(`no user info: ${error.statusCode}`)) : done(null, JSON.parse(String(body))),
    );
  return strategy;
}

/** The refresh grant, as passport-oauth2-refresh asks for it. */
function refresh(strategy: OAuth2Strategy, refreshToken: string): Promise<{ token: string; next: unknown }> {
  return new Promise((resolve, reject) => {
    // biome-ignore lint/complexity/useLiteralKeys: as above.
    strategy['_oauth2'].getOAuthAccessToken(
      refreshToken,
      { grant_type: 'refresh_token' },
      (error, token, next) => (error ? reject(error) : resolve({ token: String(token), next })),
    );
  });
}

t.test('from sign-in to sign-out', async (t) => {
  const { home, made, strategy } = await startApplication();
  // One person's browser: the cookies of one site and of the other.
  const atApplication = createFormBrowser(home);
  const atGatehouse = server.browser();
  const { url } = await atApplication.get('/login');
  t.match(Object.fromEntries(url.searchParams), { code_challenge_method: 'S256', state: /./ });
  const callback = await signInAndAllow(atGatehouse, url, demo.user);
  const { html, status } = await atApplication.get(callback.href);
  t.equal(status, 200);
  const user = JSON.parse(html) as Express.User;
  t.match(user, {
    accessToken: /^ey/,
    refreshToken: String,
    profile: { sub: demo.user.user_id, email: /@/ },
  });
  t.equal(await server.statusOf(own, { token: user.accessToken }), 200);

  const first = await refresh(strategy, user.refreshToken);
  const second = await refresh(strategy, user.refreshToken);
  t.equal(first.next, undefined, 'the old one goes on');

  const revocation = await fetch(`${server.issuer}/oauth2/revoke`, {
    method: 'POST',
    body: new URLSearchParams({
      token: first.token,
      client_id: made.client_id,
      client_secret: made.client_secret ?? '',
    }),
  });
  t.equal(revocation.status, 200);
  await untilDead(server, own, first.token);
  t.equal(await server.statusOf(own, { token: second.token }), 200);

  const leaving = await atApplication.get('/logout');
  t.equal((await signOut(atGatehouse, leaving.url)).href, home);
  for (const token of [user.accessToken, second.token]) await untilDead(server, own, token);
  t.match(await rejectionOf(refresh(strategy, user.refreshToken)), {
    statusCode: 400,
    data: /"invalid_grant"/,
  });
  t.equal((await atApplication.get('/me')).status, 401);
  const again = await atGatehouse.get((await atApplication.get('/login')).url.href);
  t.match(again.url.pathname, /^\/sign-in\//, 'the session is gone');
});

t.test('a person who refuses, and an answer to somebody else', async (t) => {
  const { home } = await startApplication();
  const atApplication = createFormBrowser(home);
  const atGatehouse = server.browser();
  const { url } = await atApplication.get('/login');
  const page = await atGatehouse.submit(await atGatehouse.get(url.href), demo.user);
  const refused = await atGatehouse.submit(page, { decision: 'deny' });
  t.equal(refused.url.searchParams.get('error'), 'access_denied');
  t.equal((await atApplication.get(refused.url.href)).url.pathname, '/failed');

  const callback = await signInAndAllow(atGatehouse, (await atApplication.get('/login')).url, demo.user);
  const stranger = createFormBrowser(home);
  t.equal((await stranger.get(callback.href)).url.pathname, '/failed', 'the state is not theirs');
  t.equal((await atApplication.get(callback.href)).url.pathname, '/me');
});

import { serve } from '@hono/node-server';
import { getAuth, oidcAuthMiddleware, processOAuthCallback } from '@hono/oidc-auth';
import { Hono } from 'hono';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, REDIRECT_URI, say } from './harness.js';

Object.assign(process.env, {
  OIDC_AUTH_SECRET: 'a secret of the program, 32 characters',
  OIDC_ISSUER: ISSUER,
  OIDC_CLIENT_ID: CLIENT_ID,
  OIDC_CLIENT_SECRET: CLIENT_SECRET,
  OIDC_REDIRECT_URI: REDIRECT_URI,
  OIDC_SCOPES: 'openid email',
});
const app = new Hono().get('/callback', (context) => processOAuthCallback(context));
app.use('*', oidcAuthMiddleware());
app.get('/', async (context) => context.json(await getAuth(context)));
serve({ fetch: app.fetch, port: Number(new URL(HOME_URL).port) }, () => say('open', HOME_URL));

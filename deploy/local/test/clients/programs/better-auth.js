import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { toNodeHandler } from 'better-auth/node';
import { genericOAuth } from 'better-auth/plugins';
import express from 'express';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, serve } from './harness.js';

const gatehouse = {
  providerId: 'gatehouse',
  discoveryUrl: `${ISSUER}/.well-known/openid-configuration`,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  scopes: ['openid', 'profile', 'email'],
  pkce: true,
};
const tables = { user: [], session: [], account: [], verification: [] };
const auth = betterAuth({
  baseURL: HOME_URL,
  secret: 'a secret of the program, 32 characters',
  database: memoryAdapter(tables),
  plugins: [genericOAuth({ config: [gatehouse] })],
});
const app = express();
app.get('/', async (_request, response) => {
  const body = { provider: 'gatehouse', callbackURL: '/me' };
  const { headers, response: begun } = await auth.api.signInSocial({ body, returnHeaders: true });
  response.set('set-cookie', headers.getSetCookie()).redirect(begun.url);
});
app.get('/me', (_request, response) => response.json(tables.account));
app.all('/api/auth/*path', toNodeHandler(auth));
serve(app);

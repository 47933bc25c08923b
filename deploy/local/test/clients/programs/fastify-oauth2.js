import cookie from '@fastify/cookie';
import oauth2 from '@fastify/oauth2';
import fastify from 'fastify';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, REDIRECT_URI, say } from './harness.js';

const app = fastify().register(cookie);
app.register(oauth2, {
  name: 'gatehouse',
  discovery: { issuer: ISSUER },
  credentials: { client: { id: CLIENT_ID, secret: CLIENT_SECRET } },
  startRedirectPath: '/login',
  callbackUri: REDIRECT_URI,
  scope: ['openid', 'email'],
  pkce: 'S256',
});
app.get('/callback', async (request, reply) => {
  const { token } = await app.gatehouse.getAccessTokenFromAuthorizationCodeFlow(request, reply);
  return app.gatehouse.userinfo(token);
});
await app.listen({ port: Number(new URL(HOME_URL).port) });
say('open', `${HOME_URL}/login`);

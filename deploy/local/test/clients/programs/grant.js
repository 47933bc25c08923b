import express from 'express';
import session from 'express-session';
import grant from 'grant';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, serve } from './harness.js';

const gatehouse = {
  authorize_url: `${ISSUER}/oauth2/authorize`,
  access_url: `${ISSUER}/oauth2/token`,
  profile_url: `${ISSUER}/userinfo`,
  oauth: 2,
  key: CLIENT_ID,
  secret: CLIENT_SECRET,
  scope: 'openid email',
  token_endpoint_auth_method: 'client_secret_basic',
  ...{ pkce: true, state: true, nonce: true },
  response: ['tokens', 'jwt', 'profile'],
  callback: '/hello',
};
const app = express().use(session({ secret: 'of the program', resave: false, saveUninitialized: true }));
app.use(grant.express({ defaults: { origin: HOME_URL, transport: 'session' }, gatehouse }));
app.get('/hello', (request, response) => response.json(request.session.grant.response));
serve(app, '/connect/gatehouse');

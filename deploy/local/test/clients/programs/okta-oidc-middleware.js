import okta from '@okta/oidc-middleware';
import express from 'express';
import session from 'express-session';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, serve } from './harness.js';

const oidc = new okta.ExpressOIDC({
  issuer: ISSUER,
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  appBaseUrl: HOME_URL,
  scope: 'openid email',
  routes: { loginCallback: { path: '/callback', afterCallback: '/' } },
});
const app = express().use(session({ secret: 'of the program', resave: false, saveUninitialized: false }));
app.use(oidc.router);
app.get('/', oidc.ensureAuthenticated(), (request, response) => response.json(request.userContext.userinfo));
oidc.on('ready', () => serve(app));

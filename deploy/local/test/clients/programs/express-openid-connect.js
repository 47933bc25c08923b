import express from 'express';
import oidc from 'express-openid-connect';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, serve } from './harness.js';

const app = express().use(
  oidc.auth({
    issuerBaseURL: ISSUER,
    baseURL: HOME_URL,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    secret: 'a secret of the program, 32 characters',
    authorizationParams: { response_type: 'code', scope: 'openid email' },
  }),
);
app.get('/', (request, response) => response.json(request.oidc.user));
serve(app);

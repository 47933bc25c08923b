import { Authenticator } from 'remix-auth';
import { OAuth2Strategy } from 'remix-auth-oauth2';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, REDIRECT_URI, say, subject, visit } from './harness.js';

const client = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, redirectURI: REDIRECT_URI };
const strategy = await OAuth2Strategy.discover(
  ISSUER,
  { ...client, cookie: 'oauth2', scopes: ['openid', 'email'] },
  ({ tokens }) => subject(tokens.accessToken()),
);
const authenticator = new Authenticator().use(strategy, 'gatehouse');
const redirect = await authenticator.authenticate('gatehouse', new Request(HOME_URL)).catch((it) => it);
const callback = await visit(redirect.headers.get('location'));
const cookie = redirect.headers.get('set-cookie').split(';')[0];
say('sub', await authenticator.authenticate('gatehouse', new Request(callback, { headers: { cookie } })));

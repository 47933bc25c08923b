import ClientOAuth2 from 'client-oauth2';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, REDIRECT_URI, say, subject, visit } from './harness.js';

const client = new ClientOAuth2({
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  authorizationUri: `${ISSUER}/oauth2/authorize`,
  accessTokenUri: `${ISSUER}/oauth2/token`,
  redirectUri: REDIRECT_URI,
  scopes: ['openid', 'email'],
  state: 'the-state',
});
const token = await client.code.getToken((await visit(client.code.getUri())).href);
say('sub', await subject((await token.refresh()).accessToken));

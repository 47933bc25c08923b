import { generateCodeVerifier, OAuth2Client } from '@badgateway/oauth2-client';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, REDIRECT_URI, say, subject, visit } from './harness.js';

const client = new OAuth2Client({
  server: ISSUER,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  discoveryEndpoint: '/.well-known/oauth-authorization-server',
});
const codeVerifier = await generateCodeVerifier();
const flow = { redirectUri: REDIRECT_URI, state: 'the-state', codeVerifier };
const url = await client.authorizationCode.getAuthorizeUri({ ...flow, scope: ['openid', 'email'] });
const { accessToken, refreshToken } = await client.authorizationCode.getTokenFromCodeRedirect(
  await visit(url),
  flow,
);
const refreshed = await client.refreshToken({ accessToken, refreshToken });
say('sub', await subject(refreshed.accessToken));

import {
  CodeChallengeMethod,
  decodeIdToken,
  generateCodeVerifier,
  generateState,
  OAuth2Client,
} from 'arctic';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, REDIRECT_URI, say, visit } from './harness.js';

const client = new OAuth2Client(CLIENT_ID, CLIENT_SECRET, REDIRECT_URI);
const [state, verifier] = [generateState(), generateCodeVerifier()];
const endpoint = `${ISSUER}/oauth2/authorize`;
const url = client.createAuthorizationURLWithPKCE(endpoint, state, CodeChallengeMethod.S256, verifier, [
  'openid',
  'email',
]);
const { searchParams } = await visit(url);
if (searchParams.get('state') !== state) throw new Error('another state');
const tokens = await client.validateAuthorizationCode(
  `${ISSUER}/oauth2/token`,
  searchParams.get('code'),
  verifier,
);
say('sub', decodeIdToken(tokens.idToken()).sub);

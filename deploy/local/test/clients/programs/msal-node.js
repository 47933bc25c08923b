import { ConfidentialClientApplication, CryptoProvider } from '@azure/msal-node';
import { CLIENT_ID, CLIENT_SECRET, ISSUER, REDIRECT_URI, say, visit } from './harness.js';

const client = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
const application = new ConfidentialClientApplication({
  auth: { ...client, authority: ISSUER, knownAuthorities: [new URL(ISSUER).host] },
  system: { protocolMode: 'OIDC' },
});
const { verifier, challenge } = await new CryptoProvider().generatePkceCodes();
const request = { scopes: ['email'], redirectUri: REDIRECT_URI };
const pkce = { codeChallenge: challenge, codeChallengeMethod: 'S256' };
const { searchParams } = await visit(await application.getAuthCodeUrl({ ...request, ...pkce }));
const response = { code: searchParams.get('code'), codeVerifier: verifier };
say('sub', (await application.acquireTokenByCode({ ...request, ...response })).idTokenClaims.sub);

import { discovery, js, OPENID_CLIENT, type Snippet } from './sample.ts';

/** Pages that sign people in without a server. */
export const BROWSER: readonly Snippet[] = [
  {
    ...OPENID_CLIENT,
    title: 'JavaScript with openid-client',
    steps: ['Run: npm install openid-client', 'There is no secret: PKCE takes its place.'],
    code(sample) {
      const { redirectUri, scope } = sample;
      return js`import * as client from 'openid-client';

${discovery(sample, false)}

export async function signIn() {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  sessionStorage.setItem('sign-in', JSON.stringify({ verifier, state }));
  location.href = client.buildAuthorizationUrl(config, {
    redirect_uri: ${redirectUri},
    scope: ${scope},
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).href;
}

// On the page of the redirect URI:
export async function signedIn() {
  const { verifier, state } = JSON.parse(sessionStorage.getItem('sign-in'));
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  return client.authorizationCodeGrant(config, new URL(location.href), checks);
}`;
    },
  },
  {
    id: 'fetch',
    title: 'A request with fetch',
    steps: ['Any origin may call the API with an access token.'],
    code: ({ base }) => js`const response = await fetch(${`${base}/userinfo`}, {
  headers: { authorization: \`Bearer \${tokens.access_token}\` },
});
console.log(await response.json());`,
  },
];

/** Programs on a device that sign people in. */
export const NATIVE: readonly Snippet[] = [
  {
    ...OPENID_CLIENT,
    steps: [
      'Run: npm install openid-client',
      'The program listens on a local port for the response (RFC 8252 §7.3), and prints the URL to open in a browser. There is no secret: PKCE takes its place. People have to allow the application at each sign-in, since any program can listen there (RFC 8252 §8.6).',
    ],
    code(sample) {
      const { redirectUri, scope } = sample;
      return js`import { createServer } from 'node:http';
import * as client from 'openid-client';

${discovery(sample, false)}
const redirectUri = new URL(${redirectUri});
const verifier = client.randomPKCECodeVerifier();
const state = client.randomState();

const server = createServer(async (request, response) => {
  const callback = new URL(request.url, redirectUri);
  if (callback.pathname !== redirectUri.pathname) return response.writeHead(404).end();
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const tokens = await client.authorizationCodeGrant(config, callback, checks);
  response.end('You can close this window.');
  server.close();
  console.log(await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub));
}).listen(0, '127.0.0.1', async () => {
  // Any port is accepted for a loopback address.
  redirectUri.port = server.address().port;
  console.log(client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri.href,
    scope: ${scope},
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).href);
});`;
    },
  },
];

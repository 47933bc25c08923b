import {
  CURL,
  discovery,
  js,
  OPENID_CLIENT,
  PYTHON,
  python,
  type Sample,
  type Snippet,
  secretIn,
  sh,
} from './sample.ts';

const authorizeUrl = ({ base, clientId, redirectUri, scope }: Sample) =>
  `${base}/oauth2/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state: 'something-that-cannot-be-guessed',
  })}`;

/** Servers that sign people in. */
export const WEB: readonly Snippet[] = [
  {
    ...CURL,
    // In braces, since the code would else be read from the lines that were pasted with this one.
    code(sample) {
      const { base, clientId, redirectUri } = sample;
      return sh`{
  echo 'Open this URL in a browser and sign in:'
  echo ${authorizeUrl(sample)}
  echo 'Within a minute, paste the code from the URL that you are redirected to:'
  read -r CODE
  TOKEN=$(curl -s ${`${base}/oauth2/token`} -u ${clientId}:${secretIn('sh', sample.secret)} \\
    -d grant_type=authorization_code -d "code=$CODE" --data-urlencode redirect_uri=${redirectUri} |
    sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -sw '\\n' ${`${base}/userinfo`} -H "Authorization: Bearer $TOKEN"
}`;
    },
  },
  {
    ...OPENID_CLIENT,
    steps: [...OPENID_CLIENT.steps, 'Open the address of the redirect URI in a browser.'],
    code(sample) {
      const { redirectUri, scope } = sample;
      return js`import { createServer } from 'node:http';
import * as client from 'openid-client';

const redirectUri = ${redirectUri};
${discovery(sample)}
// In your application: one of each for each sign-in, kept in its session.
const verifier = client.randomPKCECodeVerifier();
const state = client.randomState();

createServer(async (request, response) => {
  const url = new URL(request.url, redirectUri);
  if (url.pathname !== new URL(redirectUri).pathname) {
    const parameters = {
      redirect_uri: redirectUri,
      scope: ${scope},
      state,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    response.writeHead(302, { location: client.buildAuthorizationUrl(config, parameters).href });
    return response.end();
  }
  response.setHeader('content-type', 'text/plain; charset=utf-8');
  try {
    const checks = { pkceCodeVerifier: verifier, expectedState: state };
    const tokens = await client.authorizationCodeGrant(config, url, checks);
    const person = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
    response.end(\`Signed in: \${person.name}\`);
  } catch (error) {
    // The person has not allowed it, for example.
    response.writeHead(400).end(\`Not signed in: \${error.error ?? error.message}\`);
  }
}).listen(new URL(redirectUri).port || 443);`;
    },
  },
  {
    ...PYTHON,
    code(sample) {
      const { base, clientId, redirectUri } = sample;
      return python`import json, os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

print("Open this URL, sign in, and copy the code from the URL that you are redirected to:")
print(${authorizeUrl(sample)})
form = urlencode({
    "grant_type": "authorization_code",
    "client_id": ${clientId},
    "client_secret": ${secretIn('python', sample.secret)},
    "redirect_uri": ${redirectUri},
    "code": input("The code: "),
}).encode()
token = json.load(urlopen(${`${base}/oauth2/token`}, form))["access_token"]

request = Request(${`${base}/userinfo`}, headers={"Authorization": "Bearer " + token})
print(json.load(urlopen(request)))`;
    },
  },
];

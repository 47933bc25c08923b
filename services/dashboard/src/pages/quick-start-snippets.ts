import type { AppType } from '../api/application-types.ts';

/** An application as its examples need it. */
export type Sample = { base: string; clientId: string; redirectUri: string; scope: string };
export type Snippet = { id: string; title: string; before: string; code: string };

/** Complete programs for each way to use an application of this type, with its own ids filled in. */
export function snippetsOf(type: AppType, sample: Sample): Snippet[] {
  if (type === 'machine')
    return [machineCurl(sample), machineOpenidClient(sample), machineFetch(sample), machinePython(sample)];
  if (type === 'web') return [webCurl(sample), webOpenidClient(sample), webPython(sample)];
  return [publicOpenidClient(sample), browserFetch(sample)].filter(
    ({ id }) => type === 'spa' || id !== 'fetch',
  );
}

/** Without TLS, as on a developer's own machine, openid-client has to be told so. */
const insecure = ({ base }: Sample) =>
  base.startsWith('http:') ? ',\n  undefined, { execute: [client.allowInsecureRequests] }' : '';

const SECRET = 'Put the client secret into the environment variable CLIENT_SECRET first.';

function machineCurl({ base, clientId, scope }: Sample): Snippet {
  return {
    id: 'curl',
    title: 'curl',
    before: SECRET,
    code: `# An access token, for an hour:
TOKEN=$(curl -s ${base}/oauth2/token -u "${clientId}:$CLIENT_SECRET" \\
  -d grant_type=client_credentials -d "scope=${scope}" |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

# The first request:
curl -s "${base}/api/v1/items?limit=2" -H "Authorization: Bearer $TOKEN"`,
  };
}

function machineOpenidClient(sample: Sample): Snippet {
  const { base, clientId, scope } = sample;
  return {
    id: 'openid-client',
    title: 'Node.js with openid-client',
    before: `npm install openid-client, and ${SECRET.charAt(0).toLowerCase()}${SECRET.slice(1)}`,
    code: `import * as client from 'openid-client';

const config = await client.discovery(
  new URL('${base}'), '${clientId}', process.env.CLIENT_SECRET${insecure(sample)});
const { access_token } = await client.clientCredentialsGrant(config, {
  scope: '${scope}',
});

const url = new URL('${base}/api/v1/items?limit=2');
const answer = await client.fetchProtectedResource(config, access_token, url, 'GET');
console.log(await answer.json());`,
  };
}

function machineFetch({ base, clientId, scope }: Sample): Snippet {
  return {
    id: 'fetch',
    title: 'JavaScript with fetch',
    before: SECRET,
    code: `const issued = await fetch('${base}/oauth2/token', {
  method: 'POST',
  body: new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: '${clientId}',
    client_secret: process.env.CLIENT_SECRET,
    scope: '${scope}',
  }),
});
const { access_token } = await issued.json();

const answer = await fetch('${base}/api/v1/items?limit=2', {
  headers: { authorization: \`Bearer \${access_token}\` },
});
console.log(await answer.json());`,
  };
}

function machinePython({ base, clientId, scope }: Sample): Snippet {
  return {
    id: 'python',
    title: 'Python',
    before: SECRET,
    code: `import json, os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

form = urlencode({
    "grant_type": "client_credentials",
    "client_id": "${clientId}",
    "client_secret": os.environ["CLIENT_SECRET"],
    "scope": "${scope}",
}).encode()
token = json.load(urlopen("${base}/oauth2/token", form))["access_token"]

request = Request("${base}/api/v1/items?limit=2", headers={"Authorization": "Bearer " + token})
print(json.load(urlopen(request)))`,
  };
}

const authorizeUrl = ({ base, clientId, redirectUri, scope }: Sample) =>
  `${base}/oauth2/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state: 'something-that-cannot-be-guessed',
  })}`;

function webCurl(sample: Sample): Snippet {
  const { base, clientId, redirectUri } = sample;
  return {
    id: 'curl',
    title: 'curl',
    before: `Open this address in a browser, sign in, and copy the code from the address that you come back to: ${authorizeUrl(sample)}`,
    code: `# With the code, within a minute:
TOKEN=$(curl -s ${base}/oauth2/token -u "${clientId}:$CLIENT_SECRET" \\
  -d grant_type=authorization_code -d "code=$CODE" -d redirect_uri=${redirectUri} |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

# Who has signed in:
curl -s ${base}/userinfo -H "Authorization: Bearer $TOKEN"`,
  };
}

function webOpenidClient(sample: Sample): Snippet {
  const { base, clientId, redirectUri, scope } = sample;
  return {
    id: 'openid-client',
    title: 'Node.js with openid-client',
    before: `npm install openid-client, and ${SECRET.charAt(0).toLowerCase()}${SECRET.slice(1)} Then open the redirect URI’s site.`,
    code: `import { createServer } from 'node:http';
import * as client from 'openid-client';

const redirectUri = '${redirectUri}';
const config = await client.discovery(
  new URL('${base}'), '${clientId}', process.env.CLIENT_SECRET${insecure(sample)});
// In your application: one of each for each sign-in, kept in its session.
const verifier = client.randomPKCECodeVerifier();
const state = client.randomState();

createServer(async (request, response) => {
  const url = new URL(request.url, redirectUri);
  if (url.pathname !== new URL(redirectUri).pathname) {
    const parameters = {
      redirect_uri: redirectUri,
      scope: '${scope}',
      state,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    response.writeHead(302, { location: client.buildAuthorizationUrl(config, parameters).href });
    return response.end();
  }
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const tokens = await client.authorizationCodeGrant(config, url, checks);
  const person = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  response.end(\`Signed in: \${person.name}\`);
}).listen(new URL(redirectUri).port || 443);`,
  };
}

function webPython(sample: Sample): Snippet {
  const { base, clientId, redirectUri } = sample;
  return {
    id: 'python',
    title: 'Python',
    before: SECRET,
    code: `import json, os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

print("Open this address, sign in, and copy the code from the address that you come back to:")
print("${authorizeUrl(sample)}")
form = urlencode({
    "grant_type": "authorization_code",
    "client_id": "${clientId}",
    "client_secret": os.environ["CLIENT_SECRET"],
    "redirect_uri": "${redirectUri}",
    "code": input("The code: "),
}).encode()
token = json.load(urlopen("${base}/oauth2/token", form))["access_token"]

request = Request("${base}/userinfo", headers={"Authorization": "Bearer " + token})
print(json.load(urlopen(request)))`,
  };
}

function publicOpenidClient(sample: Sample): Snippet {
  const { base, clientId, redirectUri, scope } = sample;
  const options = base.startsWith('http:')
    ? ',\n  client.None(), { execute: [client.allowInsecureRequests] }'
    : ', client.None()';
  return {
    id: 'openid-client',
    title: 'JavaScript with openid-client',
    before: 'It works in browsers and in Node.js. There is no secret: PKCE takes its place.',
    code: `import * as client from 'openid-client';

const config = await client.discovery(
  new URL('${base}'), '${clientId}', undefined${options});

export async function signIn() {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  sessionStorage.setItem('sign-in', JSON.stringify({ verifier, state }));
  location.href = client.buildAuthorizationUrl(config, {
    redirect_uri: '${redirectUri}',
    scope: '${scope}',
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
}`,
  };
}

function browserFetch({ base }: Sample): Snippet {
  return {
    id: 'fetch',
    title: 'A request with fetch',
    before: 'Any origin may call the API with an access token.',
    code: `const answer = await fetch('${base}/userinfo', {
  headers: { authorization: \`Bearer \${tokens.access_token}\` },
});
console.log(await answer.json());`,
  };
}

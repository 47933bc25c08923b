import { CURL, discovery, FETCH, js, OPENID_CLIENT, PYTHON, python, type Snippet, sh } from './sample.ts';

/** Programs that work by themselves. */
export const MACHINE: readonly Snippet[] = [
  {
    ...CURL,
    code: ({ base, clientId, scope }) => sh`# An access token, for an hour:
TOKEN=$(curl -s ${`${base}/oauth2/token`} -u ${clientId}:"$CLIENT_SECRET" \\
  -d grant_type=client_credentials --data-urlencode scope=${scope} |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')

# The first request:
curl -s ${`${base}/api/v1/items?limit=2`} -H "Authorization: Bearer $TOKEN"`,
  },
  {
    ...OPENID_CLIENT,
    code(sample) {
      const { base, scope } = sample;
      return js`import * as client from 'openid-client';

${discovery(sample)}
const { access_token } = await client.clientCredentialsGrant(config, {
  scope: ${scope},
});

const url = new URL(${`${base}/api/v1/items?limit=2`});
const response = await client.fetchProtectedResource(config, access_token, url, 'GET');
console.log(await response.json());`;
    },
  },
  {
    ...FETCH,
    code: ({ base, clientId, scope }) => js`const issued = await fetch(${`${base}/oauth2/token`}, {
  method: 'POST',
  body: new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: ${clientId},
    client_secret: process.env.CLIENT_SECRET,
    scope: ${scope},
  }),
});
const { access_token } = await issued.json();

const response = await fetch(${`${base}/api/v1/items?limit=2`}, {
  headers: { authorization: \`Bearer \${access_token}\` },
});
console.log(await response.json());`,
  },
  {
    ...PYTHON,
    code: ({ base, clientId, scope }) => python`import json, os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

form = urlencode({
    "grant_type": "client_credentials",
    "client_id": ${clientId},
    "client_secret": os.environ["CLIENT_SECRET"],
    "scope": ${scope},
}).encode()
token = json.load(urlopen(${`${base}/oauth2/token`}, form))["access_token"]

request = Request(${`${base}/api/v1/items?limit=2`}, headers={"Authorization": "Bearer " + token})
print(json.load(urlopen(request)))`,
  },
];

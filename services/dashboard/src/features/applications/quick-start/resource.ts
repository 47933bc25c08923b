import { CURL, discovery, js, OPENID_CLIENT, type Snippet, secretIn, sh } from './sample.ts';

const TOKEN = 'TOKEN is the access token that a client sent to your API.';

/** APIs that ask whether a token is valid. */
export const RESOURCE: readonly Snippet[] = [
  {
    ...CURL,
    steps: [...CURL.steps, TOKEN],
    code: ({ base, clientId, secret }) =>
      sh`curl -sw '\\n' ${`${base}/oauth2/introspect`} -u ${clientId}:${secretIn('sh', secret)} -d "token=$TOKEN"`,
  },
  {
    ...OPENID_CLIENT,
    steps: [...OPENID_CLIENT.steps, TOKEN],
    code: (sample) => js`import * as client from 'openid-client';

${discovery(sample)}

const { active, sub, client_id, scope } =
  await client.tokenIntrospection(config, process.env.TOKEN);
console.log(active ? { sub, client_id, scope } : 'This token is not valid.');`,
  },
];

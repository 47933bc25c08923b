import { CURL, discovery, js, OPENID_CLIENT, type Snippet, sh } from './sample.ts';

const TOKEN = ' TOKEN is the access token that a client sent to your API.';

/** APIs that ask whether a token is valid. */
export const RESOURCE: readonly Snippet[] = [
  {
    ...CURL,
    before: CURL.before + TOKEN,
    code: ({ base, clientId }) =>
      sh`curl -s ${`${base}/oauth2/introspect`} -u ${clientId}:"$CLIENT_SECRET" -d "token=$TOKEN"`,
  },
  {
    ...OPENID_CLIENT,
    before: OPENID_CLIENT.before + TOKEN,
    code: (sample) => js`import * as client from 'openid-client';

${discovery(sample)}

const { active, sub, client_id, scope } =
  await client.tokenIntrospection(config, process.env.TOKEN);
console.log(active ? { sub, client_id, scope } : 'This token is not valid.');`,
  },
];

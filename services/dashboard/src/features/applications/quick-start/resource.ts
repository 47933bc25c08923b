import { insecure, js, type Sample, SECRET, type Snippet, sh } from './sample.ts';

const TOKEN = ' TOKEN is the access token that a client sent to your API.';

export function resourceCurl({ base, clientId }: Sample): Snippet {
  return {
    id: 'curl',
    title: 'curl',
    before: SECRET + TOKEN,
    code: sh`curl -s ${`${base}/oauth2/introspect`} -u ${clientId}:"$CLIENT_SECRET" -d "token=$TOKEN"`,
  };
}

export function resourceOpenidClient(sample: Sample): Snippet {
  const { base, clientId } = sample;
  return {
    id: 'openid-client',
    title: 'Node.js with openid-client',
    before: `npm install openid-client, and ${SECRET.charAt(0).toLowerCase()}${SECRET.slice(1)}${TOKEN}`,
    code: js`import * as client from 'openid-client';

const config = await client.discovery(
  new URL(${base}), ${clientId}, process.env.CLIENT_SECRET${insecure(sample)});

const { active, sub, client_id, scope } =
  await client.tokenIntrospection(config, process.env.TOKEN);
console.log(active ? { sub, client_id, scope } : 'This token is not valid.');`,
  };
}

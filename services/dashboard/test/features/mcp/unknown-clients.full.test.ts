import { createServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { listen } from '@gatehouse/testing/listen';
import { selfSigned } from '@gatehouse/testing/self-signed';
import t from 'tap';
import { build } from '../../build.ts';
import { createProvider, resultOf, signIn, tokenFor } from './agent.ts';

// Clients that nobody has registered here, with the official client from the first request to the tools.

const built = await build(t, { unknownClients: ['openid', 'read:data'] });
const { people } = built;
const { browser } = await built.signedIn('editor');
const tls = selfSigned();
setDefaultCACertificates([...getCACertificates(), tls.cert]);
const documents = new Map<string, object>();
const site = createServer(tls, (request, response) =>
  response.end(JSON.stringify(documents.get(request.url ?? ''))),
);
const origin = `https://localhost:${await listen(t, site as never)}`;

/** A client with the document at this path. */
function described(path: string, more: object) {
  const provider = { ...createProvider(), clientMetadataUrl: origin + path };
  const { clientMetadata } = provider;
  documents.set(path, { ...clientMetadata, client_id: origin + path, ...more });
  return provider;
}

const WAYS = [
  { name: 'a document', provider: described('/plain.json', {}), scopes: 'read:data' },
  {
    name: 'a document that names scopes',
    provider: described('/scopes.json', { scope: 'openid mcp:read mcp:write' }),
    scopes: 'read:data',
  },
  { name: 'its registration', provider: createProvider(), scopes: 'read:profile' },
];

for (const { name, provider, scopes } of WAYS) {
  t.test(`a client by ${name} has only tools for ${scopes}`, async (t) => {
    const client = await signIn(built, 'editor', provider);
    t.equal(provider.kept.tokens?.scope, 'mcp:read');
    const permissions = JSON.parse((await resultOf(client, 'permissions_api_v1_auth')).text);
    t.match(permissions, { user_id: people.editor.id, client_id: provider.clientMetadataUrl ?? /^app_/ });
    t.strictSame(permissions.scopes, [scopes]);
    const { tools } = await client.listTools();
    const isListed = (tool: string) => tools.some((it) => it.name === tool);
    t.equal(isListed('list_api_v1_items'), scopes === 'read:data');
    t.notOk(isListed('list_v1_users'));
    t.equal((await resultOf(client, 'list_api_v1_items')).isError, scopes !== 'read:data');
    const client_id = provider.clientMetadataUrl ?? provider.kept.client?.client_id ?? '';
    const asked = { client_id, redirect_uri: String(provider.redirectUrl) };
    const { consent } = await tokenFor(built, browser, asked, 'mcp:read mcp:write');
    t.match(consent, 'Read everything that you can read here');
    t.notMatch(consent, 'Create and change everything');
    for (const tool of ['list_v1_users', 'create_api_v1_items'])
      t.match(await resultOf(client, tool, { body: {} }), { isError: true, text: /does not allow/ });
  });
}

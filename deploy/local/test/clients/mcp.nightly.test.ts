import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createFormBrowser } from '@gatehouse/testing/form-browser';
import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { freePort, until } from '@gatehouse/testing/processes';
import { selfSigned } from '@gatehouse/testing/self-signed';
import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { decodeJwt } from 'jose';
import t, { type Test } from 'tap';
import { fileIn } from '../document.ts';
import { startGatehouse, temporaryDir, tokenOf } from '../gatehouse.ts';
import { signInAndAllow } from './set-up.ts';

// The guide "Protect an MCP server" with the official SDK as server and as client.

const GUIDE = readFileSync(
  new URL('../../../../docs/guides/protect-an-mcp-server.md', import.meta.url),
  'utf8',
);
const MODULES = new URL('../../node_modules', import.meta.url).pathname;
const CALLBACK = 'http://127.0.0.1:4201/callback';

const tls = selfSigned();
const NODE_EXTRA_CA_CERTS = join(temporaryDir(t), 'cert.pem');
writeFileSync(NODE_EXTRA_CA_CERTS, tls.cert);
const gatehouse = await startGatehouse(t, temporaryDir(t), { NODE_EXTRA_CA_CERTS });
const { demo } = gatehouse;
const issuer = demo.base_url;
const login = await loginToken(issuer, demo.admin);

async function register(path: string, body: object) {
  const { status, body: made } = await jsonRequest<{
    client_id: string;
    client_secret: string;
    owner: string;
  }>('POST', `${issuer}/api/v1/${path}`, {
    ...{ token: login, body },
  });
  if (status !== 201) throw new Error(JSON.stringify(made));
  return made;
}

/** The server of the guide, with its resource and application. */
async function startMcpServer(t: Test): Promise<URL> {
  const url = new URL(`http://127.0.0.1:${await freePort()}/mcp`);
  const { owner } = await register('resources', {
    ...{ identifier: url.href, name: 'Dice' },
    scopes: [{ name: 'dice:roll', description: 'Roll dice in your name' }],
  });
  const server = await register('applications', { name: 'Server of Dice', type: 'resource', scopes: [] });
  await runProgram(t, 'mcp-server.mjs', {
    ...{ GATEHOUSE: issuer, MCP_SERVER: url.href, GATEHOUSE_OWNER: owner },
    ...{ CLIENT_ID: server.client_id, CLIENT_SECRET: server.client_secret },
  })();
  return url;
}

/** Runs a program of the guide as it is pasted; returns a function that reads its next line. */
function runProgram(t: Test, name: string, env: Record<string, string>): () => Promise<string> {
  const dir = temporaryDir(t);
  symlinkSync(MODULES, join(dir, 'node_modules'));
  writeFileSync(join(dir, name), fileIn(GUIDE, name));
  const child = spawn('sh', ['-c', `exec ${process.execPath} ${name} 2>&1`], {
    ...{ cwd: dir, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  });
  t.teardown(() => child.kill());
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  return async () => String((await lines.next()).value);
}

/** A client of the SDK that keeps in memory what it has to keep. */
function provider(more: object) {
  const kept: { client?: OAuthClientInformationMixed; tokens?: OAuthTokens; verifier?: string; url?: URL } =
    {};
  return {
    kept,
    redirectUrl: CALLBACK,
    clientMetadata: { client_name: 'Agent', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' },
    clientInformation: () => kept.client,
    saveClientInformation(client: OAuthClientInformationMixed) {
      kept.client = client;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens: OAuthTokens) {
      kept.tokens = tokens;
    },
    redirectToAuthorization(url: URL) {
      kept.url = url;
    },
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier ?? '',
    ...more,
  };
}

/** Connects as the SDK does it, with a person who signs in and allows; returns what the tool says. */
async function roll(url: URL, authProvider: ReturnType<typeof provider>): Promise<string> {
  const connect = async () => {
    const client = new Client({ name: 'agent', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(url, { authProvider });
    await client.connect(transport as never);
    return client;
  };
  const refused = await connect().catch((error: unknown) => error);
  if (!(refused instanceof UnauthorizedError)) throw refused;
  const { kept } = authProvider;
  const response = await signInAndAllow(createFormBrowser(issuer), String(kept.url), demo.user);
  const authorizationCode = response.searchParams.get('code') ?? '';
  if ((await auth(authProvider, { serverUrl: url, authorizationCode })) !== 'AUTHORIZED')
    throw new Error('refused');
  const client = await connect();
  const { content } = await client.callTool({ name: 'roll' });
  await client.close();
  return (content as { text: string }[])[0]?.text ?? '';
}

t.test('the guide: a server and a registered client of the SDK', async (t) => {
  const url = await startMcpServer(t);
  const { client_id } = await register('applications', {
    ...{ name: 'Agent', type: 'native', redirect_uris: [CALLBACK], scopes: ['openid'] },
  });
  const agent = provider({ clientInformation: () => ({ client_id, issuer }) });
  t.match(await roll(url, agent), new RegExp(`^${demo.user.user_id} rolled [1-6]$`));
  const asked = agent.kept.url?.searchParams;
  t.strictSame([asked?.get('resource'), asked?.get('scope')], [url.href, 'dice:roll']);
  t.match(decodeJwt(agent.kept.tokens?.access_token ?? ''), { aud: url.href, scope: 'dice:roll', client_id });

  const post = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    return (await fetch(url, { method: 'POST', headers, body: '{}' })).status;
  };
  t.equal(await post(await tokenOf(gatehouse)), 401, 'a token for the API of Gatehouse is refused');
  const other = await startMcpServer(t);
  const foreign = provider({ clientInformation: () => ({ client_id, issuer }) });
  await roll(other, foreign);
  t.equal(await post(foreign.kept.tokens?.access_token ?? ''), 401, 'and one for another server');

  const token = agent.kept.tokens?.access_token ?? '';
  t.not(await post(token), 401, 'its own is accepted');
  await fetch(`${issuer}/oauth2/revoke`, { method: 'POST', body: new URLSearchParams({ client_id, token }) });
  await until(async () => (await post(token)) === 401, 1000);
});

t.test('a client that nobody has registered, by its metadata document', async (t) => {
  const site = createServer(tls, (_request, response) => {
    response.setHeader('content-type', 'application/json');
    const document = { ...agent.clientMetadata, client_id: agent.clientMetadataUrl };
    response.end(JSON.stringify(document));
  });
  const port = await listen(t, site as never);
  const agent = { ...provider({}), clientMetadataUrl: `https://localhost:${port}/client.json` };
  const url = await startMcpServer(t);
  t.match(await roll(url, agent), new RegExp(`^${demo.user.user_id} rolled`));
  t.match(decodeJwt(agent.kept.tokens?.access_token ?? ''), {
    aud: url.href,
    client_id: agent.clientMetadataUrl,
  });
});

t.test('a client that registers itself', async (t) => {
  const agent = provider({});
  const url = await startMcpServer(t);
  t.match(await roll(url, agent), new RegExp(`^${demo.user.user_id} rolled`));
  t.match(agent.kept.client, { client_id: /^app_/, client_secret: undefined });
  t.match(decodeJwt(agent.kept.tokens?.access_token ?? ''), { aud: url.href, scope: 'dice:roll' });
});

t.test('five pairs of refreshes at once keep the person signed in', async (t) => {
  const url = await startMcpServer(t);
  const agent = provider({});
  await roll(url, agent);
  for (let round = 0; round < 5; round += 1) {
    const before = agent.kept.tokens?.refresh_token;
    const both = await Promise.all([auth(agent, { serverUrl: url }), auth(agent, { serverUrl: url })]);
    t.strictSame(both, ['AUTHORIZED', 'AUTHORIZED']);
    t.not(agent.kept.tokens?.refresh_token, before);
  }
});

t.test('the client of the guide, which nobody has registered, calls the tool', async (t) => {
  const url = await startMcpServer(t);
  const nextLine = runProgram(t, 'mcp-client.mjs', { MCP_SERVER: url.href });
  const [, link = ''] = (await nextLine()).split(' ');
  await fetch(await signInAndAllow(createFormBrowser(issuer), link, demo.user));
  t.match(await nextLine(), new RegExp(`^${demo.user.user_id} rolled [1-6]$`));

  const callback = `http://127.0.0.1:${await freePort()}/callback`;
  const denied = runProgram(t, 'mcp-client.mjs', { MCP_SERVER: url.href, CALLBACK: callback });
  await denied();
  await fetch(`${callback}?error=access_denied&error_description=The+person+has+denied+it.`);
  t.equal(await denied(), 'Not signed in: access_denied: The person has denied it.', 'it says why, and ends');
});

t.test('without a Gatehouse or a server, the programs of the guide print one sentence', async (t) => {
  const nothing = `http://127.0.0.1:${await freePort()}`;
  const MCP_SERVER = `http://127.0.0.1:${await freePort()}/mcp`;
  const credentials = { CLIENT_ID: 'app_none', CLIENT_SECRET: 'none' };
  const server = runProgram(t, 'mcp-server.mjs', { ...credentials, GATEHOUSE: nothing, MCP_SERVER });
  t.equal(await server(), `Listening at ${MCP_SERVER}`);
  t.match(await server(), `the revocations for ${MCP_SERVER} are not known; each token is introspected.`);
  const CALLBACK = `http://127.0.0.1:${await freePort()}/callback`;
  const client = runProgram(t, 'mcp-client.mjs', { MCP_SERVER: `${nothing}/mcp`, CALLBACK });
  t.match(
    await client(),
    new RegExp(`^Not signed in: fetch failed\\. Is the server at ${nothing}/mcp running\\?$`),
  );
  t.equal(await client(), 'undefined', 'and it ends');
});

/** A client of the SDK for Python (mcp 2 on PyPI): prints the link, reads where the browser was sent, and prints what the tool says. */
const PYTHON_CLIENT = `import asyncio, os
from urllib.parse import parse_qs, urlparse
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

class Storage:
    tokens = client = None
    async def get_tokens(self): return self.tokens
    async def set_tokens(self, tokens): self.tokens = tokens
    async def get_client_info(self): return self.client
    async def set_client_info(self, client): self.client = client

async def redirect(url): print(url, flush=True)
async def callback():
    query = parse_qs(urlparse(await asyncio.to_thread(input)).query)
    return AuthorizationCodeResult(**{name: query[name][0] for name in ("code", "state", "iss") if name in query})

async def main():
    url = os.environ["MCP_SERVER"]
    metadata = OAuthClientMetadata(client_name="Snake", redirect_uris=[os.environ["CALLBACK"]])
    auth = OAuthClientProvider(url, metadata, Storage(), redirect, callback, os.environ.get("METADATA_URL"))
    async with httpx2.AsyncClient(auth=auth, follow_redirects=True) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            print((await client.call_tool("roll", {})).content[0].text, flush=True)

asyncio.run(main())
`;
const python = process.env.PYTHON ?? 'python3';
const noSdk = spawnSync(python, ['-c', 'import mcp.client.client']).status !== 0 && 'Python has no mcp here';

t.test('the SDK for Python, with and without a metadata document', { skip: noSdk }, async (t) => {
  const site = createServer(tls, (_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ client_id: document, client_name: 'Snake', redirect_uris: [CALLBACK] }));
  });
  const document = `https://localhost:${await listen(t, site as never)}/client.json`;
  const url = await startMcpServer(t);
  for (const more of [{}, { METADATA_URL: document }]) {
    const child = spawn(python, ['-c', PYTHON_CLIENT], {
      ...{
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, MCP_SERVER: url.href, CALLBACK, ...more },
      },
    });
    t.teardown(() => child.kill());
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const link = String((await lines.next()).value);
    t.equal(new URL(link).searchParams.get('client_id') === document, 'METADATA_URL' in more);
    const response = await signInAndAllow(createFormBrowser(issuer), link, demo.user);
    child.stdin.write(`${response}\n`);
    t.match((await lines.next()).value, new RegExp(`^${demo.user.user_id} rolled [1-6]$`));
  }
});

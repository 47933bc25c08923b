import { hash, randomBytes } from 'node:crypto';
import type { FormBrowser } from '@gatehouse/testing/form-browser';
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { Built } from '../../build.ts';

export type Mode = 'auto' | 'legacy';
export type Agent = { client_id: string; redirect_uri: string };

/** An application that agents sign people in with. */
export async function registerAgent({ call }: Built, owner = 'ann'): Promise<Agent> {
  const redirect_uri = 'http://127.0.0.1:9/callback';
  const { status, body } = await call('POST', '/api/v1/applications', owner, {
    ...{ name: 'Agent', type: 'native', scopes: ['openid'], redirect_uris: [redirect_uri] },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { client_id: String((body as { client_id: string }).client_id), redirect_uri };
}

/** The token that a person allows an agent in this browser, and the consent page on which they did. */
export async function tokenFor(
  { base }: Built,
  browser: FormBrowser,
  { client_id, redirect_uri }: Agent,
  scope: string,
  resource = `${base}/mcp`,
): Promise<{ token: string; consent: string }> {
  const code_verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    ...{ client_id, redirect_uri, scope, resource, response_type: 'code', prompt: 'consent' },
    ...{ code_challenge: hash('sha256', code_verifier, 'base64url'), code_challenge_method: 'S256' },
  });
  const page = await browser.get(`/oauth2/authorize?${query}`);
  const { url } = await browser.submit(page, { decision: 'allow' });
  const code = url.searchParams.get('code') ?? '';
  const response = await fetch(`${base}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', code, code_verifier, client_id, redirect_uri, resource },
    }),
  });
  const body = (await response.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(`${url} ${JSON.stringify(body)} ${page.html}`);
  return { token: body.access_token, consent: page.html };
}

/** The SDK's client with this token; `opened` gets the URLs that it is asked to open. */
export async function connect({ base }: Built, token: string, mode: Mode = 'auto', opened: string[] = []) {
  const client = new Client(
    { name: 'agent', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode } },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => {
    if (params.mode === 'url') opened.push(params.url);
    return { action: 'accept' };
  });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit }));
  return client;
}

/** The text of a result, and whether it is an error. */
export async function resultOf(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError = false } = await client.callTool({ name, arguments: args });
  const [first] = content as { text: string }[];
  return { text: first?.text ?? '', isError };
}

/** What the SDK's client needs to get its own tokens. It keeps in memory what it has to keep. */
export function createProvider() {
  const kept: {
    client?: StoredOAuthClientInformation;
    tokens?: StoredOAuthTokens;
    verifier?: string;
    url?: URL;
    discovered?: OAuthDiscoveryState;
  } = {};
  const redirectUrl = 'http://127.0.0.1:9/callback';
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      ...{ client_name: 'Agent', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
    },
    clientInformation: () => kept.client,
    saveClientInformation(client) {
      kept.client = client;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens) {
      kept.tokens = tokens;
    },
    redirectToAuthorization(url) {
      kept.url = url;
    },
    saveCodeVerifier(verifier) {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier ?? '',
    saveDiscoveryState(state) {
      kept.discovered = state;
    },
    discoveryState: () => kept.discovered,
  };
  return { ...provider, kept };
}

/** Connects as the client does it: it finds the authorization server, and the person allows it in a browser. */
export async function signIn(built: Built, username: string, provider: ReturnType<typeof createProvider>) {
  const { browser } = await built.signedIn(username);
  const transport = () =>
    new StreamableHTTPClientTransport(new URL(`${built.base}/mcp`), { authProvider: provider });
  const connect = async (via = transport()) => {
    const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(via);
    return client;
  };
  const first = transport();
  const refused = await connect(first).catch((error: unknown) => error);
  if (!(refused instanceof UnauthorizedError)) throw refused;
  const page = await browser.get(String(provider.kept.url));
  const { url } = await browser.submit(page, { decision: 'allow' });
  await first.finishAuth(url.searchParams);
  return connect();
}

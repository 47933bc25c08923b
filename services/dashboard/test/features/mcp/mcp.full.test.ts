import { until } from '@gatehouse/testing/processes';
import { DpopSession } from '@modelcontextprotocol/client';
import t from 'tap';
import { build } from '../../build.ts';
import { connect, createProvider, type Mode, registerAgent, resultOf, signIn, tokenFor } from './agent.ts';

type Logged = { method: string; path: string; status: number; actors: string[]; request_id: string };

const BOTH = 'mcp:read mcp:write';
const built = await build(t, { notifications: true, refundLimit: 1 });
const { base, people, call } = built;
const agent = await registerAgent(built);
const { browser } = await built.signedIn('ann');
const reader = await tokenFor(built, browser, agent, 'mcp:read');
const writer = await tokenFor(built, browser, agent, BOTH);
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const post = (token?: string, path = '/mcp', headers: Record<string, string> = {}, message: unknown = LIST) =>
  fetch(base + path, {
    method: 'POST',
    headers: {
      ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify(message),
  });

t.test('the consent page says what the scopes allow', async (t) => {
  t.match(reader.consent, 'Read everything that you can read here');
  t.notMatch(reader.consent, 'Create and change everything');
  t.match(writer.consent, 'Steps that cannot be undone are left to you');
});

t.test('the metadata names the resource, and challenges name the metadata (RFC 9728)', async (t) => {
  const url = `${base}/.well-known/oauth-protected-resource/mcp`;
  t.match(await (await fetch(url)).json(), {
    resource: `${base}/mcp`,
    authorization_servers: [base],
    scopes_supported: ['mcp:read', 'mcp:write'],
    dpop_bound_access_tokens_required: false,
  });
  const response = await post();
  t.equal(response.status, 401);
  t.match(response.headers.get('www-authenticate'), `resource_metadata="${url}"`);
});

for (const mode of ['auto', 'legacy'] as Mode[]) {
  t.test(`an agent, ${mode}`, async (t) => {
    const client = await connect(built, reader.token, mode);
    t.equal(client.getNegotiatedProtocolVersion(), mode === 'auto' ? '2026-07-28' : '2025-11-25');
    const { tools } = await client.listTools();
    t.ok(tools.length > 10, `${tools.length} tools, ${JSON.stringify(tools).length} characters`);
    for (const { name, annotations, inputSchema } of tools) {
      t.equal(annotations?.readOnlyHint, true, name);
      t.match(name, /^[\w-]{1,64}$/);
      for (const key of Object.keys(inputSchema.properties ?? {})) t.match(key, /^[\w.-]{1,64}$/, name);
    }
    const read = await resultOf(client, 'read_v1_users', { id: people.ann.id });
    t.match(JSON.parse(read.text), { id: people.ann.id });
    const other = await resultOf(client, 'read_v1_users', { id: people.admin.id });
    t.match(other, { isError: true, text: /^403: / });
    const item = { name: 'By an agent', value: 'x' };
    const refused = await resultOf(client, 'create_api_v1_items', { body: item });
    t.match(refused, { isError: true, text: 'A token without mcp:write does not allow this tool.' });

    const opened: string[] = [];
    const writing = await connect(built, writer.token, mode, opened);
    const created = await resultOf(writing, 'create_api_v1_items', { body: item });
    t.notOk(created.isError, created.text);
    const { id } = JSON.parse(created.text);
    if (mode === 'auto')
      t.match(await resultOf(writing, 'remove_api_v1_items', { item_id: id }), { text: /Read the object/ });
    else {
      const error = await writing
        .callTool({ name: 'remove_api_v1_items', arguments: { item_id: id } })
        .catch((it) => it);
      t.equal(error.code, -32042);
      opened.push(error.data.elicitations[0].url);
    }
    const path = `/api/v1/items/${id}`;
    t.equal((await call('GET', path, 'ann')).status, 200, 'nothing is deleted before the person does it');
    const [url = ''] = opened;
    t.ok(url.startsWith(`${base}/dashboard/try/remove_api_v1_items?path.item_id=`), url);
    const page = await browser.get(url.slice(base.length));
    t.match(page.html, 'The values come from the link');
    const done = await browser.submit(page, { confirmed: 'yes' }, 'Send the request');
    t.equal((await call('GET', path, 'ann')).status, 404, done.html);
  });
}

t.test('a request that needs a fresh sign-in is left to the person', async (t) => {
  const draft = { name: 'Tea', price: 2.5, currency: 'USD', category: 'Tea', stock: 9 };
  const { body: product } = await call<{ id: string }>('POST', '/v2/products', 'admin', draft);
  const items = [{ product_id: product.id, quantity: 1 }];
  const { body: order } = await call<{ id: string }>('POST', '/v2/orders', 'admin', {
    items,
    currency: 'USD',
  });
  for (const status of ['confirmed', 'processing', 'shipped', 'delivered'])
    await call('PATCH', `/v2/orders/${order.id}/status`, 'admin', { status });
  const owned = await registerAgent(built, 'admin');
  const { token } = await tokenFor(built, (await built.signedIn('admin')).browser, owned, BOTH);
  const opened: string[] = [];
  const client = await connect(built, token, 'auto', opened);
  const tool = (await client.listTools()).tools.find(({ name }) => /status.*_v2_orders$/.test(name));
  const [parameter = ''] = tool?.inputSchema.required ?? [];
  const result = await resultOf(client, tool?.name ?? '', {
    [parameter]: order.id,
    body: { status: 'refunded' },
  });
  t.equal(opened.length, 1, result.text);
  t.match(opened[0], new RegExp(`/dashboard/try/${tool?.name}\\?path\\.${parameter}=${order.id}`));
  t.notMatch(opened[0], 'refunded', 'a body is not in an address');
  const { body } = await call('GET', `/v2/orders/${order.id}`, 'admin');
  t.match(body, { status: 'delivered' });
});

t.test('a response is bounded, and says how to go on', async (t) => {
  for (const name of ['a', 'b'])
    await call('POST', '/api/v1/items', 'ann', { name, value: 'x'.repeat(60_000) });
  const client = await connect(built, reader.token);
  t.match(await resultOf(client, 'list_api_v1_items'), {
    isError: true,
    text: /longer than 100,000 .*`limit`/,
  });
  t.notOk((await resultOf(client, 'list_api_v1_items', { limit: 1 })).isError);
});

t.test('a request has one message, of a bounded size', async (t) => {
  const statusOf = async (message: unknown) => (await post(reader.token, '/mcp', {}, message)).status;
  t.equal(await statusOf(LIST), 200);
  t.equal(await statusOf([LIST, { ...LIST, id: 2 }]), 400);
  t.equal(await statusOf({ ...LIST, params: { x: 'x'.repeat(1024 * 1024) } }), 413);
});

t.test('the MCP server refuses a token of the API, and the reverse', async (t) => {
  const api = await tokenFor(built, browser, agent, 'openid', `${base}/api`);
  t.equal(
    (await fetch(`${base}/api/v1/auth/permissions`, { headers: { authorization: `Bearer ${api.token}` } }))
      .status,
    200,
  );
  for (const [token, path] of [
    [api.token, '/mcp'],
    [writer.token, '/api/v1/auth/permissions'],
    [writer.token, `/v1/users/${people.ann.id}`],
  ] as const) {
    const headers = { authorization: `Bearer ${token}` };
    const response = path === '/mcp' ? await post(token) : await fetch(base + path, { headers });
    t.equal(response.status, 401, path);
  }
  const other = 'https://mail.example.com/api';
  const scopes = [{ name: 'mcp:read', description: 'Read mail' }];
  await call('POST', '/api/v1/resources', 'ann', { identifier: other, name: 'Mail', scopes });
  const ofOther = await tokenFor(built, browser, agent, 'mcp:read', other);
  t.equal((await post(ofOther.token)).status, 401, 'of another API');
  const page = await post(writer.token, '/mcp', { origin: 'https://evil.example' });
  t.equal(page.status, 403, 'pages of other sites');
});

t.test('a machine gets no token for it, and no other client may exchange one', async (t) => {
  const { body } = await call<{ client_id: string; client_secret: string }>(
    'POST',
    '/api/v1/applications',
    'ann',
    {
      ...{ name: 'Machine', type: 'machine', scopes: ['read:data'] },
      token_exchange: [{ resource: `${base}/api`, scopes: ['read:data'] }],
    },
  );
  const { client_id, client_secret } = body;
  const token = (more: Record<string, string>) =>
    fetch(`${base}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id, client_secret, ...more }),
    });
  const itself = await token({ grant_type: 'client_credentials', resource: `${base}/mcp` });
  t.match(await itself.json(), { error: 'invalid_target' });
  const exchanged = await token({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: writer.token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    resource: `${base}/api`,
  });
  t.match(await exchanged.json(), { error: 'invalid_grant' });
});

t.test('the audit log has one entry for each token, with the agent, the server and the person', async (t) => {
  const entries = async () =>
    (await call<{ data: object[] }>('GET', '/api/v1/audit?filter[action]=token.exchanged', 'admin')).body
      .data;
  const before = (await entries()).length;
  const client = await connect(built, (await tokenFor(built, browser, agent, 'mcp:read')).token);
  for (const _ of [1, 2, 3]) await resultOf(client, 'read_v1_users', { id: people.ann.id });
  await post((await tokenFor(built, browser, agent, 'mcp:read')).token);
  // An entry is listed a moment later.
  await until(async () => (await entries()).length > before + 1, 10_000);
  t.equal((await entries()).length, before + 2, 'one for each token, whatever the number of its requests');
  t.match((await entries())[0], {
    ...{ client: agent.client_id, subject: people.ann.id },
    details: { actors: ['gatehouse-mcp'] },
  });
});

t.test('the request log has each call, as one of the application', async (t) => {
  const { client_id } = await registerAgent(built);
  const { token } = await tokenFor(built, browser, { ...agent, client_id }, BOTH);
  const client = await connect(built, token);
  await resultOf(client, 'read_v1_users', { id: people.ann.id });
  await resultOf(client, 'read_v1_users', { id: people.admin.id });
  await resultOf(client, 'create_api_v1_items', { body: { name: 'Logged', value: 'x' } });
  const logged = async () => {
    const path = `/api/v1/requests?filter[client_id]=${client_id}`;
    const { body } = await call<{ data: Logged[] }>('GET', path, 'ann');
    return body.data.filter((it) => !it.path.startsWith('/oauth2/')).reverse();
  };
  await until(async () => (await logged()).length === 3, 30_000);
  t.match(await logged(), [
    { method: 'GET', path: '/v1/users/:id', status: 200, actors: ['gatehouse-mcp'] },
    { method: 'GET', path: '/v1/users/:id', status: 403, actors: ['gatehouse-mcp'] },
    { method: 'POST', path: '/api/v1/items', status: 201, actors: ['gatehouse-mcp'] },
  ]);
});

t.test('a revoked token ends at once', async (t) => {
  const { token } = await tokenFor(built, browser, agent, 'mcp:read');
  t.equal((await post(token)).status, 200);
  const body = new URLSearchParams({ token, client_id: agent.client_id });
  t.equal((await fetch(`${base}/oauth2/revoke`, { method: 'POST', body })).status, 200);
  const began = performance.now();
  t.equal((await post(token)).status, 401);
  t.ok(performance.now() - began < 1000);
});

t.test('a token that is bound to a key needs its proof (RFC 9449)', async (t) => {
  const session = await DpopSession.create();
  const { client_id } = agent;
  const provider = {
    ...createProvider(),
    clientInformation: () => ({ client_id, issuer: base }),
    dpop: () => session,
  };
  const client = await signIn(built, 'ann', provider);
  t.equal(provider.kept.tokens?.token_type, 'DPoP');
  t.match(JSON.parse((await resultOf(client, 'read_v1_users', { id: people.ann.id })).text), {
    id: people.ann.id,
  });

  const token = provider.kept.tokens?.access_token ?? '';
  const exchanged = await fetch(`${base}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ client_id: 'dashboard', client_secret: built.config.clientSecret ?? '', subject_token: token },
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    }),
  });
  t.match(await exchanged.json(), { token_type: 'Bearer', expires_in: 60 }, 'what takes its place ends soon');
  const proofFor = (url: string, key = session) =>
    key.buildProof({ htm: 'POST', htu: url, accessToken: token });
  const proof = await proofFor(`${base}/mcp`);
  for (const [name, headers, status] of [
    ['its proof', { authorization: `DPoP ${token}`, dpop: proof }, 200],
    ['the same proof again', { authorization: `DPoP ${token}`, dpop: proof }, 401],
    ['no proof', { authorization: `DPoP ${token}` }, 401],
    ['another scheme', { authorization: `Bearer ${token}`, dpop: await proofFor(`${base}/mcp`) }, 401],
    ['a proof for the API', { authorization: `DPoP ${token}`, dpop: await proofFor(`${base}/api`) }, 401],
    [
      'another key',
      { authorization: `DPoP ${token}`, dpop: await proofFor(`${base}/mcp`, await DpopSession.create()) },
      401,
    ],
    ['a token without a key', { authorization: `DPoP ${reader.token}`, dpop: proof }, 401],
  ] as const) {
    const response = await post(undefined, '/mcp', headers);
    t.equal(response.status, status, name);
    if (status === 401)
      t.match(
        response.headers.get('www-authenticate'),
        /^DPoP .*algs=".*resource_metadata=".*scope="mcp:read"$/,
        name,
      );
  }
});

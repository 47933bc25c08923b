import { clientCredentialsGrant, createInternalClient } from '@gatehouse/tokens/internal-client';
import t, { type Test } from 'tap';
import { type JsonResponse, listen, nobody, type Received, serve } from './servers.ts';

const ISSUER = 'https://id.example.com';
const AWAY = { name: 'ServiceError', kind: 'unavailable', status: 503 };

/** An identity that numbers its tokens, and a service that takes those in `live`. */
async function setUp(t: Test, options: { lifetime?: number; timeoutSeconds?: number } = {}) {
  const { lifetime = 600, ...rest } = options;
  const state = { token: undefined as JsonResponse | undefined, live: new Set<string>(), given: 0 };
  const identity = await serve(t, async () => {
    if (state.token !== undefined) return state.token;
    state.given += 1;
    state.live.add(`token-${state.given}`);
    return { status: 200, body: { access_token: `token-${state.given}`, expires_in: lifetime } };
  });
  const service = await serve(t, ({ headers }: Received) => {
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    return { status: state.live.has(token) ? 200 : 401, body: { token } };
  });
  const requestToken = clientCredentialsGrant({
    tokenUrl: `${identity.url}/oauth2/token`,
    issuer: ISSUER,
    clientId: 'svc users',
    clientSecret: 's:é+%',
    ...rest,
  });
  const clientAt = (url: string) => createInternalClient({ service: 'users', url, requestToken, ...rest });
  const client = clientAt(service.url);
  const ask = async () => {
    const { status, body } = await client.request('GET', '/x');
    return [status, (body as { token: string }).token];
  };
  return { state, identity, service, client, clientAt, ask };
}

t.test('a request carries a token for the audience of the service', async (t) => {
  const { identity, service, client } = await setUp(t);
  t.match(await client.request('POST', '/x?y=1', { a: 1 }), { status: 200, body: { token: 'token-1' } });
  t.match(service.received, [
    {
      method: 'POST',
      path: '/internal/users/x?y=1',
      headers: { authorization: 'Bearer token-1', 'content-type': 'application/json' },
      body: '{"a":1}',
    },
  ]);
  const [asked] = identity.received;
  t.match(asked, { method: 'POST', path: '/oauth2/token' });
  t.match(asked?.headers['content-type'], /^application\/x-www-form-urlencoded/);
  t.strictSame(Object.fromEntries(new URLSearchParams(asked?.body)), {
    grant_type: 'client_credentials',
    resource: `${ISSUER}/internal/users`,
    scope: 'internal',
  });
  // RFC 6749 §2.3.1 and its appendix B.
  const basic = Buffer.from(asked?.headers.authorization?.slice(6) ?? '', 'base64').toString();
  t.equal(basic, 'svc+users:s%3A%C3%A9%2B%25');
});

t.test('a token is kept, and asked for once', async (t) => {
  const { ask, state } = await setUp(t);
  const responses = await Promise.all(Array.from({ length: 10 }, ask));
  t.strictSame([...new Set(responses.map(String))], ['200,token-1']);
  t.strictSame(await ask(), [200, 'token-1']);
  t.equal(state.given, 1);
});

t.test('a token is replaced before it ends', async (t) => {
  const { ask } = await setUp(t, { lifetime: 0.2 });
  t.strictSame(await ask(), [200, 'token-1']);
  t.strictSame(await ask(), [200, 'token-1']);
  await new Promise((resolve) => setTimeout(resolve, 190));
  t.strictSame(await ask(), [200, 'token-2'], 'after nine tenths of its life');
});

t.test('a token that is refused is renewed once', async (t) => {
  const { ask, client, state, service } = await setUp(t);
  await ask();
  state.live.clear();
  const responses = await Promise.all(Array.from({ length: 5 }, ask));
  t.strictSame([...new Set(responses.map(String))], ['200,token-2'], 'for all who were refused together');
  t.equal(state.given, 2);

  state.live.clear();
  state.token = { status: 200, body: { access_token: 'bad', expires_in: 600 } };
  service.received.length = 0;
  await t.rejects(client.request('GET', '/x'), AWAY, 'the new one is refused as well');
  t.equal(service.received.length, 2);
});

const REFUSALS: [label: string, reply: JsonResponse][] = [
  ['a wrong secret', { status: 401, body: { error: 'invalid_client' } }],
  ['a fault', { status: 500, body: 'hidden' }],
  ['too many requests', { status: 429, body: {} }],
  ['a fault that looks like a token', { status: 502, body: { access_token: 'a', expires_in: 60 } }],
  ['no JSON', { status: 200, body: '<html>' }],
  ['no token', { status: 200, body: { expires_in: 60 } }],
  ['no lifetime', { status: 200, body: { access_token: 'a' } }],
  ['null', { status: 200, body: null }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
];

t.test('no token', async (t) => {
  const { ask, state, service } = await setUp(t);
  for (const [label, reply] of REFUSALS) {
    state.token = reply;
    const error = await ask().catch((thrown) => thrown);
    t.match(error, AWAY, label);
    t.notMatch(JSON.stringify([error.message, String(error.cause)]), /s:é|s%3A/, 'the secret is not told');
  }
  t.equal(service.received.length, 0);
  state.token = undefined;
  t.strictSame(await ask(), [200, 'token-1'], 'it recovers');
});

t.test('somebody cannot be reached', async (t) => {
  const { clientAt, service, ask } = await setUp(t, { timeoutSeconds: 0.2 });
  const get = (url: string) => clientAt(url).request('GET', '/x');
  await t.rejects(get(await nobody()), AWAY, 'nobody listens');
  const silent = await listen(t, () => {});
  await t.rejects(get(silent), AWAY, 'silence');
  const cut = await listen(t, (request) => void request.socket.destroy());
  await t.rejects(get(cut), AWAY, 'a cut connection');
  const halting = await listen(t, (_request, response) => void response.writeHead(200).write('{'));
  await t.rejects(get(halting), AWAY, 'a body that does not end');
  for (const status of [301, 302, 303, 307, 308]) {
    const elsewhere = await serve(t, () => ({ status, headers: { location: service.url } }));
    service.received.length = 0;
    await t.rejects(get(elsewhere.url), AWAY, `a redirect, ${status}`);
    t.equal(service.received.length, 0, 'the token is not carried elsewhere');
  }
  t.equal((await ask())[0], 200);

  for (const tokenUrl of [await nobody(), silent]) {
    const requestToken = clientCredentialsGrant({
      tokenUrl,
      issuer: ISSUER,
      clientId: 'a',
      clientSecret: 'b',
      timeoutSeconds: 0.2,
    });
    const lost = createInternalClient({ service: 'users', url: service.url, requestToken });
    await t.rejects(lost.request('GET', '/x'), AWAY, 'identity is away');
  }
});

const RESPONSES: [label: string, reply: JsonResponse, expected: object][] = [
  ['JSON', { status: 200, body: { a: 1 } }, { status: 200, body: { a: 1 } }],
  ['nothing', { status: 204, body: '' }, { status: 204, body: undefined }],
  ['an error response', { status: 403, body: { error: {} } }, { status: 403, body: { error: {} } }],
  ['a conflict', { status: 409, body: { error: {} } }, { status: 409, body: { error: {} } }],
  ['a fault', { status: 500, body: {} }, AWAY],
  ['a busy service', { status: 503, body: {} }, AWAY],
  ['no JSON', { status: 200, body: 'hidden' }, AWAY],
];

t.test('the responses of the service', async (t) => {
  const state: { response: JsonResponse } = { response: { status: 200 } };
  const { url } = await serve(t, () => state.response);
  const { clientAt } = await setUp(t);
  for (const [label, reply, expected] of RESPONSES) {
    state.response = reply;
    const given = await clientAt(url)
      .request('GET', '/x')
      .catch((thrown) => thrown);
    t.match(given, expected, label);
    t.notMatch(String(given.cause), /hidden/, 'what is no JSON is not quoted');
  }
});

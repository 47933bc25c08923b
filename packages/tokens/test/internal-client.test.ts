import { createInternalClient } from '@gatehouse/tokens/internal-client';
import t, { type Test } from 'tap';
import { type Answer, listen, nobody, type Received, serve } from './servers.ts';

const ISSUER = 'https://id.example.com';
const AWAY = { name: 'ServiceError', kind: 'unavailable', status: 503 };

/** An identity that numbers its tokens, and a service that takes those in `live`. */
async function setUp(t: Test, options: { lifetime?: number; timeoutSeconds?: number } = {}) {
  const { lifetime = 600, ...rest } = options;
  const state = { token: undefined as Answer | undefined, live: new Set<string>(), given: 0 };
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
  const client = createInternalClient({
    tokenUrl: `${identity.url}/oauth2/token`,
    issuer: ISSUER,
    clientId: 'svc users',
    clientSecret: 's:é+%',
    ...rest,
  });
  const ask = async () => {
    const response = await client.fetch(`${service.url}/internal/x`);
    return [response.status, ((await response.json()) as { token: string }).token];
  };
  return { state, identity, service, client, ask };
}

t.test('a request carries a token for the internal audience', async (t) => {
  const { identity, service, client } = await setUp(t);
  const body = JSON.stringify({ a: 1 });
  const init = { method: 'POST', headers: { 'content-type': 'application/json', 'x-request-id': 'r' }, body };
  t.equal((await client.fetch(new URL(`${service.url}/internal/x?y=1`), init)).status, 200);
  t.match(service.received, [
    {
      method: 'POST',
      path: '/internal/x?y=1',
      headers: { authorization: 'Bearer token-1', 'content-type': 'application/json', 'x-request-id': 'r' },
      body,
    },
  ]);
  const [asked] = identity.received;
  t.match(asked, { method: 'POST', path: '/oauth2/token' });
  t.match(asked?.headers['content-type'], /^application\/x-www-form-urlencoded/);
  t.strictSame(Object.fromEntries(new URLSearchParams(asked?.body)), {
    grant_type: 'client_credentials',
    resource: `${ISSUER}/internal`,
    scope: 'internal',
  });
  // RFC 6749 §2.3.1 and its appendix B.
  const basic = Buffer.from(asked?.headers.authorization?.slice(6) ?? '', 'base64').toString();
  t.equal(basic, 'svc+users:s%3A%C3%A9%2B%25');
});

t.test('a token is kept, and asked for once', async (t) => {
  const { ask, state } = await setUp(t);
  const answers = await Promise.all(Array.from({ length: 10 }, ask));
  t.strictSame([...new Set(answers.map(String))], ['200,token-1']);
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
  const { ask, state, service } = await setUp(t);
  await ask();
  state.live.clear();
  const answers = await Promise.all(Array.from({ length: 5 }, ask));
  t.strictSame([...new Set(answers.map(String))], ['200,token-2'], 'for all who were refused together');
  t.equal(state.given, 2);

  state.live.clear();
  state.token = { status: 200, body: { access_token: 'bad', expires_in: 600 } };
  service.received.length = 0;
  t.strictSame(await ask(), [401, 'bad'], 'if the new one is refused as well, so be it');
  t.equal(service.received.length, 2);
});

const REFUSALS: [label: string, answer: Answer][] = [
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
  for (const [label, answer] of REFUSALS) {
    state.token = answer;
    const error = await ask().catch((thrown) => thrown);
    t.match(error, AWAY, label);
    t.notMatch(JSON.stringify([error.message, String(error.cause)]), /s:é|s%3A/, 'the secret is not told');
  }
  t.equal(service.received.length, 0);
  state.token = undefined;
  t.strictSame(await ask(), [200, 'token-1'], 'it recovers');
});

t.test('somebody cannot be reached', async (t) => {
  const { client, service, ask } = await setUp(t, { timeoutSeconds: 0.2 });
  await t.rejects(client.fetch(await nobody()), AWAY, 'nobody listens');
  const silent = await listen(t, () => {});
  await t.rejects(client.fetch(silent), AWAY, 'silence');
  const cut = await listen(t, (request) => void request.socket.destroy());
  await t.rejects(client.fetch(cut), AWAY, 'a cut connection');
  const elsewhere = await serve(t, () => ({ status: 307, headers: { location: service.url } }));
  service.received.length = 0;
  await t.rejects(client.fetch(elsewhere.url), AWAY, 'a redirect');
  t.equal(service.received.length, 0, 'the token is not carried elsewhere');
  t.equal((await ask())[0], 200);

  const busy = await serve(t, () => ({ status: 503, body: {} }));
  t.equal((await client.fetch(busy.url)).status, 503, 'an answer is an answer');
  const gone = new AbortController();
  gone.abort();
  await t.rejects(client.fetch(service.url, { signal: gone.signal }), AWAY, 'who asked has left');

  for (const tokenUrl of [await nobody(), silent]) {
    const lost = createInternalClient({
      tokenUrl,
      issuer: ISSUER,
      clientId: 'a',
      clientSecret: 'b',
      timeoutSeconds: 0.2,
    });
    await t.rejects(lost.fetch(service.url), AWAY, 'identity is away');
  }
});

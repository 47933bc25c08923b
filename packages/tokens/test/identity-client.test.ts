import type { ResolvedKey } from '@gatehouse/tokens/api-keys';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import { createInternalClient } from '@gatehouse/tokens/internal-client';
import t, { type Test } from 'tap';
import { type JsonResponse, serve } from './servers.ts';

const AWAY = { name: 'ServiceError', kind: 'unavailable' };
const KEY: ResolvedKey = {
  id: 'key_1',
  client_id: 'app_1',
  scopes: ['read:data'],
  trusted: false,
  owner: 'usr_1',
  role: 'user',
  epoch: { client: 1, subject: 2 },
  expires_at: '2030-01-01T00:00:00.000Z',
};

async function setUp(t: Test) {
  const state: { response: JsonResponse } = { response: { status: 200, body: KEY } };
  const { url, received } = await serve(t, () => state.response);
  const requestToken = async () => ({ value: 'token', lifetime: 600 });
  const internal = createInternalClient({ service: 'identity', url, requestToken });
  return { state, received, identity: createIdentityClient(internal) };
}

t.test('revocations', async (t) => {
  const { state, received, identity } = await setUp(t);
  state.response.body = { revocations: [], as_of: '1' };
  t.strictSame(await identity.revocations(), { revocations: [], as_of: '1' });
  await identity.revocations('2026-01-01T00:00:00+01:00 &');
  t.strictSame(
    received.map(({ method, path }) => `${method} ${path}`),
    [
      'GET /internal/identity/revocations',
      'GET /internal/identity/revocations?since=2026-01-01T00%3A00%3A00%2B01%3A00+%26',
    ],
  );
  for (const response of [
    { status: 503, body: {} },
    { status: 401, body: {} },
    { status: 403, body: {} },
    { status: 200, body: '<' },
  ]) {
    state.response = response;
    await t.rejects(identity.revocations(), AWAY, String(response.status));
  }
});

t.test('a redirect is refused, and nothing is sent to where it points', async (t) => {
  const { state, received, identity } = await setUp(t);
  const elsewhere = await serve(t, () => ({ status: 200, body: KEY }));
  state.response = { status: 307, headers: { location: elsewhere.url } };
  await t.rejects(identity.revocations(), AWAY);
  await t.rejects(identity.resolveApiKey('hash'), AWAY);
  t.equal(received.length, 2);
  t.strictSame(elsewhere.received, []);
});

const KEYS: [label: string, change: object, isKey: boolean][] = [
  ['as it should be', {}, true],
  ['of nobody, without an end', { trusted: true, owner: null, role: null, expires_at: null }, true],
  ['with pins', { profiles: { items: 'cursor' } }, true],
  ['without an epoch of the owner', { epoch: { client: 0 } }, true],
  ['without an id', { id: undefined }, false],
  ['without a client', { client_id: undefined }, false],
  ['scopes as a text', { scopes: 'read:data' }, false],
  ['a scope that is none', { scopes: [1] }, false],
  ['trusted as a text', { trusted: 'true' }, false],
  ['without an owner', { owner: undefined }, false],
  ['an unknown role', { role: 'root' }, false],
  ['without epochs', { epoch: undefined }, false],
  ['an epoch as a text', { epoch: { client: 1, subject: '2' } }, false],
  ['an end that is no time', { expires_at: 'soon' }, false],
  ['without an end', { expires_at: undefined }, false],
];

t.test('API keys', async (t) => {
  const { state, received, identity } = await setUp(t);
  for (const [label, change, isKey] of KEYS) {
    const body = JSON.parse(JSON.stringify({ ...KEY, ...change }));
    state.response = { status: 200, body };
    if (isKey) t.strictSame(await identity.resolveApiKey('hash'), body, label);
    else await t.rejects(identity.resolveApiKey('hash'), AWAY, label);
  }
  t.match(received[0], {
    method: 'POST',
    path: '/internal/identity/api-keys/resolve',
    headers: { 'content-type': 'application/json' },
    body: '{"hash":"hash"}',
  });
  state.response = { status: 404, body: {} };
  t.equal(await identity.resolveApiKey('hash'), undefined);
  for (const response of [
    { status: 500, body: KEY },
    { status: 200, body: 'null' },
  ]) {
    state.response = response;
    await t.rejects(identity.resolveApiKey('hash'), AWAY, String(response.status));
  }
});

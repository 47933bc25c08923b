import { jsonRequest, loginToken } from '@gatehouse/testing/json-request';
import t from 'tap';
import { startGatehouse, temporaryDir } from './gatehouse.ts';

t.setTimeout(60_000);

t.test('a pin made over the applications API decides what the application gets', async (t) => {
  const { base, demo } = await startGatehouse(t, temporaryDir(t));

  const call = (method: string, path: string, authorization: string, body?: unknown) =>
    jsonRequest<Record<string, string>>(method, base + path, { body, headers: { authorization } });
  const admin = `Bearer ${await loginToken(base, demo.admin)}`;

  async function machine(profiles: object) {
    const { status, body } = await call('POST', '/api/v1/applications', admin, {
      name: `Pinned to ${JSON.stringify(profiles)}`,
      type: 'machine',
      scopes: ['read:users', 'write:users'],
      profiles,
    });
    t.equal(status, 201);
    const { client_id, client_secret } = body;
    const grant = {
      grant_type: 'client_credentials',
      client_id,
      client_secret,
      scope: 'read:users write:users',
    };
    const granted = await call('POST', '/oauth/token', '', grant);
    return { client_id, token: `Bearer ${granted.body.access_token}`, grant };
  }

  const none = await machine({});
  const pinned = await machine({ v1_users: 'G', v2_users: 'B1' });
  const keysOf = async (path: string, token: string) => {
    const { body } = await call('GET', path, token);
    return Array.isArray(body) ? ['an array', ...Object.keys(body[0])] : Object.keys(body);
  };
  t.same(await keysOf('/v1/users', none.token), ['data', 'pagination']);
  t.same(await keysOf('/v2/users', none.token), ['data', 'meta']);
  t.same(await keysOf('/v1/users', pinned.token), ['data', 'meta']);
  const b1 = ['an array', 'id', 'username', 'email', 'status', 'created_at'];
  t.same(await keysOf('/v2/users', pinned.token), b1);

  const key = await call('POST', `/api/v1/applications/${pinned.client_id}/api-keys`, admin, {
    name: 'pinned',
    scopes: ['read:users'],
  });
  t.equal(key.status, 201);
  t.same(await keysOf('/v1/users', `ApiKey ${key.body.api_key}`), ['data', 'meta']);
  t.same(await keysOf('/v2/users', `Bearer ${key.body.api_key}`), b1);

  const draft = { name: 'Pin Person', email: 'pin@example.org', password: 'correct horse' };
  const byPin = await call('POST', '/v1/users', pinned.token, draft);
  t.same(Object.keys(byPin.body), ['id', 'name', 'email', 'created_at']);
  const byShape = await call('POST', '/v1/users', none.token, { ...draft, email: 'pin2@example.org' });
  t.same(Object.keys(byShape.body), ['id', 'email', 'name', 'createdAt']);

  // A changed pin counts from the next token on.
  const path = `/api/v1/applications/${pinned.client_id}`;
  t.equal((await call('PATCH', path, admin, { profiles: { v1_users: 'A' } })).status, 200);
  const granted = await call('POST', '/oauth/token', '', pinned.grant);
  const fresh = `Bearer ${granted.body.access_token}`;
  t.same(await keysOf('/v1/users?page=1', fresh), ['data', 'pagination']);
  t.same(await keysOf('/v2/users', fresh), ['data', 'meta']);

  // The description of the interface and the guide need no credential.
  for (const open of ['/openapi/users.json', '/guides/filters']) {
    const response = await fetch(base + open);
    t.equal(response.status, 200, open);
    await response.body?.cancel();
  }
});

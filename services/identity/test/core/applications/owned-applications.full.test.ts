import { decodeJwt } from 'jose';
import t from 'tap';
import { authorizeUrl, build, PASSWORD } from '../../build.ts';
import { refresh, statusesOf, tokensFor } from '../../tokens.ts';

const built = await build(t, { checkResponses: true });
const { call, json, login, people } = built;
const admin = await login('admin');
const ALL = ['read:users', 'write:users', 'read:data', 'write:data'];

async function newPerson(username: string, role?: string): Promise<{ id: string; token: string }> {
  const body = { username, email: `${username}@example.org`, password: PASSWORD };
  const id = String((await call('POST', '/v1/users', admin, body)).body.id);
  if (role !== undefined) await call('PUT', `/v1/users/${id}/role`, admin, { role });
  return { id, token: await login(username) };
}
async function newMachine(token: string, scopes: string[], more: object = {}) {
  const { status, body } = await call('POST', '/api/v1/applications', token, {
    name: 'Machine',
    type: 'machine',
    scopes,
    ...more,
  });
  t.equal(status, 201, JSON.stringify(body));
  return { client_id: String(body.client_id), client_secret: String(body.client_secret) };
}
type Client = { client_id: string; client_secret: string };
const ask = (client: Client, more = {}) => json({ grant_type: 'client_credentials', ...client, ...more });
async function keyOf({ client_id }: Client, token: string): Promise<string> {
  const draft = { name: 'Key', scopes: ['read:users'] };
  const { body } = await call('POST', `/api/v1/applications/${client_id}/api-keys`, token, draft);
  return String(body.api_key);
}
const tokenOf = async (client: Client) => String((await ask(client)).body.access_token);

t.test('a person’s own machine stands where the person does', async (t) => {
  const ann = await login('ann');
  const client = await newMachine(ann, ALL);
  const token = await tokenOf(client);
  t.match(decodeJwt(token), {
    sub: client.client_id,
    owner: people.ann.id,
    roles: ['user'],
    scope: ALL.join(' '),
  });
  t.notOk('trusted' in decodeJwt(token));
  const key = await call('POST', `/api/v1/applications/${client.client_id}/api-keys`, ann, {
    name: 'Key',
    scopes: ALL,
  });
  const apiKey = String(key.body.api_key);
  const draft = { username: 'new', email: 'new@example.org', password: PASSWORD };
  for (const [method, path, body, status] of [
    ['GET', '/v1/users', undefined, 403],
    ['POST', '/v1/users', draft, 403],
    ['GET', `/v1/users/${people.admin.id}`, undefined, 403],
    ['PUT', `/v1/users/${people.admin.id}`, { username: 'stolen' }, 403],
    ['DELETE', `/v1/users/${people.admin.id}`, undefined, 403],
    ['PUT', `/v1/users/${people.admin.id}/password`, { new_password: 'a new password' }, 403],
    ['PUT', `/v1/users/${people.ann.id}/role`, { role: 'admin' }, 403],
    ['GET', `/v1/users/${people.ann.id}`, undefined, 200],
    ['GET', '/userinfo', undefined, 403],
    ['GET', '/api/v1/applications', undefined, 403],
    ['POST', '/api/v1/applications', { name: 'x', type: 'machine', scopes: ['read:data'] }, 403],
  ] as const) {
    const name = `${method} ${path}`;
    const owners = path === '/userinfo' || path === '/api/v1/applications';
    if (!owners) t.equal((await call(method, path, ann, body)).status, status, `${name} of the owner`);
    t.equal((await call(method, path, token, body)).status, status, `${name} by token`);
    t.equal((await call(method, path, apiKey, body)).status, status, `${name} by key`);
  }
});

t.test('a trusted machine is a machine, and only an admin says so', async (t) => {
  const ann = await login('ann');
  const draft = { name: 'Machine', type: 'machine', scopes: ['read:users'] };
  t.equal((await call('POST', '/api/v1/applications', ann, { ...draft, trusted: true })).status, 403);
  const client = await newMachine(ann, ['read:users']);
  const path = `/api/v1/applications/${client.client_id}`;
  const before = await tokenOf(client);
  t.equal((await call('GET', '/v1/users', before)).status, 403);
  t.equal((await call('PATCH', path, ann, { trusted: true })).status, 403);
  t.equal((await call('PATCH', path, admin, { trusted: true })).status, 200);
  const trusted = await tokenOf(client);
  t.equal((await call('GET', '/v1/users', trusted)).status, 200);
  t.equal((await call('PATCH', path, admin, { trusted: false })).status, 200);
  t.equal((await call('GET', '/v1/users', trusted)).status, 401, 'what it was given as a machine is dead');
  t.equal((await call('GET', '/v1/users', await tokenOf(client))).status, 403);
});

t.test('scopes beyond the ceiling are refused when the application is made', async (t) => {
  const ann = await login('ann');
  const editor = (await newPerson('edith', 'editor')).token;
  const redirect_uris = ['https://app.example.org/callback'];
  for (const [name, token, type, scopes, status] of [
    ['read:all for a user', ann, 'machine', ['read:all'], 400],
    ['read:all among others', ann, 'web', ['openid', 'read:data', 'read:all'], 400],
    ['read:all for an editor', editor, 'machine', ['read:all'], 201],
    ['read:all for an admin', admin, 'web', ['openid', 'read:all'], 201],
    ['manage:apps for an admin', admin, 'web', ['openid', 'manage:apps'], 400],
    ['internal for an admin', admin, 'machine', ['internal'], 400],
    ['openid for a machine', ann, 'machine', ['openid'], 400],
    ['an unknown one', ann, 'machine', ['read:moon'], 400],
    ['none', ann, 'machine', [], 400],
    ['one twice', ann, 'machine', ['read:data', 'read:data'], 400],
  ] as const) {
    const { status: actual, body } = await call('POST', '/api/v1/applications', token, {
      name: 'Application',
      type,
      scopes,
      ...(type === 'web' ? { redirect_uris } : {}),
    });
    t.equal(actual, status, name);
    if (status === 400)
      t.match(body, { error: { code: 'invalid_parameter', details: [{ field: 'scopes' }] } }, name);
  }
  const client = await newMachine(ann, ['read:data']);
  const path = `/api/v1/applications/${client.client_id}`;
  t.equal((await call('PATCH', path, ann, { scopes: ['read:data', 'read:all'] })).status, 400, 'nor later');
  t.equal(
    (await call('PATCH', path, admin, { scopes: ['read:all'] })).status,
    400,
    'nor by an admin for ann',
  );
  const key = { name: 'Key', scopes: ['read:data', 'write:data'] };
  t.equal((await call('POST', `${path}/api-keys`, ann, key)).status, 400, 'nor may a key have more than it');
});

t.test('a demoted admin’s applications lose at once what the role gave', async (t) => {
  const { id, token } = await newPerson('eve', 'admin');
  const client = await newMachine(token, ['read:all', 'read:users', 'write:users']);
  const trusted = await newMachine(token, ['read:users'], { trusted: true });
  const redirect_uri = 'https://eve.example.org/callback';
  const made = await call('POST', '/api/v1/applications', token, {
    name: 'Web',
    type: 'web',
    redirect_uris: [redirect_uri],
    scopes: ['openid', 'read:all', 'read:data'],
  });
  const web = {
    client_id: String(made.body.client_id),
    client_secret: String(made.body.client_secret),
    redirect_uri,
  };
  const key = await call('POST', `/api/v1/applications/${client.client_id}/api-keys`, token, {
    name: 'Key',
    scopes: ['read:all', 'read:users'],
  });
  const apiKey = String(key.body.api_key);
  const before = await tokenOf(client);
  const ofTrusted = await tokenOf(trusted);
  const keyOfTrusted = await keyOf(trusted, token);
  // An editor signs in to it: what the application may ask for is within its owner's ceiling, too.
  await newPerson('emil', 'editor');
  const more = { scope: 'openid read:all read:data' };
  const emil = await tokensFor(built, { client: web, username: 'emil', more });
  t.match(emil.scope, /read:all/);
  for (const credential of [before, ofTrusted, apiKey, keyOfTrusted]) {
    t.equal((await call('GET', '/v1/users', credential)).status, 200);
  }

  t.equal((await call('PUT', `/v1/users/${id}/role`, admin, { role: 'user' })).status, 204);
  t.equal((await call('GET', '/v1/users', before)).status, 401, 'the token is dead');
  t.equal((await call('GET', '/v1/users', apiKey)).status, 403, 'the key stands under the new role');
  t.same((await call('GET', '/api/v1/auth/permissions', apiKey)).body.scopes, ['read:users']);
  const after = await ask(client);
  t.equal(after.body.scope, 'read:users write:users', 'a new one is narrower');
  t.match(decodeJwt(String(after.body.access_token)), { roles: ['user'] });
  t.equal((await call('GET', '/v1/users', String(after.body.access_token))).status, 403);
  t.match(await ask(client, { scope: 'read:all' }), { status: 400, body: { error: 'invalid_scope' } });
  t.equal((await call('GET', '/v1/users', ofTrusted)).status, 401, 'trust that rested on the role has ended');
  t.equal((await call('GET', '/v1/users', keyOfTrusted)).status, 401, 'its keys, too');
  const untrusted = await tokenOf(trusted);
  t.match(decodeJwt(untrusted), { owner: id, roles: ['user'] });
  t.equal((await call('GET', '/v1/users', untrusted)).status, 403);
  t.same((await statusesOf(built, emil.access_token))[1], 401, 'nor what it was given for other people');
  const refreshed = await refresh(built, emil.refresh_token, web);
  t.equal(refreshed.status, 200);
  t.notMatch(refreshed.body.scope, /read:all/);
});

t.test('nor does an application outlive its owner’s account', async (t) => {
  for (const [how, end] of [
    ['deactivated', (id: string) => call('PUT', `/v1/users/${id}/status`, admin, { status: 'inactive' })],
    ['deleted', (id: string) => call('DELETE', `/v1/users/${id}`, admin)],
  ] as const) {
    const { id, token } = await newPerson(`owner-${how}`, 'editor');
    const [client, trusted] = [
      await newMachine(token, ['read:users']),
      await newMachine(token, ['read:users']),
    ];
    const path = `/api/v1/applications/${trusted.client_id}`;
    t.equal((await call('PATCH', path, admin, { trusted: true })).status, 200);
    const credentials: string[] = [];
    for (const machine of [client, trusted])
      credentials.push(await tokenOf(machine), await keyOf(machine, token));
    for (const credential of credentials) {
      t.equal((await call('GET', '/v1/users', credential)).status, 200, how);
    }
    t.equal((await end(id)).status, 204);
    for (const credential of [...credentials, token]) {
      t.equal((await call('GET', '/v1/users', credential)).status, 401, how);
    }
    for (const machine of [client, trusted]) {
      const refused = await ask(machine);
      t.match(refused, { status: 401, body: { error: 'invalid_client' } }, how);
    }
  }
});

t.test('people who sign in to an application have no more permissions than its owner', async (t) => {
  const owner = await newPerson('deputy');
  const redirectUri = 'https://deputy.example.org/callback';
  const made = await call('POST', '/api/v1/applications', owner.token, {
    name: 'Deputy',
    type: 'web',
    redirect_uris: [redirectUri],
    scopes: ['openid', 'read:users', 'write:users'],
  });
  const { client_id, client_secret } = made.body as Record<string, string>;
  const tokens = await tokensFor(built, {
    username: 'admin',
    client: { client_id: String(client_id), client_secret: String(client_secret), redirect_uri: redirectUri },
    more: { scope: 'openid read:users write:users' },
  });
  t.match(decodeJwt(tokens.access_token), { sub: people.admin.id, roles: ['user'] });
  const consentOf = async (client: Record<string, string>) => {
    const visitor = built.browser();
    const page = await visitor.get(authorizeUrl({ ...client, scope: 'openid read:users write:users' }));
    return (await visitor.submit(page, { username: 'admin', password: PASSWORD })).html;
  };
  const ofDeputy = { client_id: String(client_id), redirect_uri: redirectUri };
  t.notMatch(await consentOf(ofDeputy), /accounts of all users/, 'the page promises no more');
  t.match(await consentOf({}), /accounts of all users/, 'unlike that of an admin’s application');
  const to = tokens.access_token;
  t.equal((await call('GET', '/v1/users', to)).status, 403);
  t.equal((await call('PUT', `/v1/users/${owner.id}/role`, to, { role: 'admin' })).status, 403);
  t.equal((await call('GET', `/v1/users/${people.admin.id}`, to)).status, 200, 'their own record');
  const password = { new_password: 'taken over, so to say' };
  t.equal((await call('PUT', `/v1/users/${people.admin.id}/password`, to, password)).status, 400);
});

t.test('nobody changes their own password without the current one, admins neither', async (t) => {
  const path = `/v1/users/${people.admin.id}/password`;
  const refused = await call('PUT', path, admin, { new_password: 'another battery horse' });
  t.match(refused, { status: 400, body: { error: { message: /current_password/ } } });
});

t.test('a person has at most a hundred applications, however many are made at once', async (t) => {
  const { token } = await newPerson('busy');
  const body = { name: 'One of many', type: 'machine', scopes: ['read:data'] };
  const make = () => call('POST', '/api/v1/applications', token, body);
  const made = await Promise.all(Array.from({ length: 130 }, make));
  const statuses = Map.groupBy(made, ({ status }) => status);
  t.same([...statuses].map(([status, responses]) => [status, responses.length]).sort(), [
    [201, 100],
    [409, 30],
  ]);
  const id = statuses.get(201)?.[0]?.body.client_id;
  t.equal((await call('DELETE', `/api/v1/applications/${id}`, token)).status, 204);
  t.same((await Promise.all([make(), make()])).map(({ status }) => status).sort(), [201, 409]);
});

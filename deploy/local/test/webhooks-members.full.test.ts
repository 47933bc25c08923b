import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { listen } from '@gatehouse/testing/listen';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const PASSWORD = 'correct horse battery';
const gatehouse = await startGatehouse(t, temporaryDir(t));
const { base_url: base } = gatehouse.demo;
const machine = await tokenOf(gatehouse);

const received: { path: string; body: string }[] = [];
const receiver = createServer(async (request, response) => {
  received.push({ path: request.url ?? '', body: await text(request) });
  response.writeHead(204).end();
});
const origin = `http://127.0.0.1:${await listen(t, receiver)}`;
const at = (path: string) => received.filter((it) => it.path === path).map(({ body }) => body);

type Body = Record<'id' | 'token' | 'client_id' | 'client_secret' | 'api_key' | 'access_token', string> & {
  pause_reason: string | null;
};
async function call(method: string, path: string, token?: string, body?: unknown) {
  const response = await jsonRequest<Body>(method, base + path, { token, body });
  if (response.status < 400) return response.body;
  throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
}

async function person(username: string, role = 'user') {
  const draft = { username, email: `${username}@example.org`, password: PASSWORD };
  const { id } = await call('POST', '/v2/users', machine, draft);
  if (role !== 'user') await call('PUT', `/v2/users/${id}/role`, machine, { role });
  const { token } = await call('POST', '/api/v1/auth/login', undefined, { username, password: PASSWORD });
  return { id, username, token };
}

const SCOPES = ['read:users', 'read:data', 'write:data'];

/** An admin's application, in which a member with the role `user` makes webhooks by a key and by a secret, and the owner one. */
async function scene(name: string) {
  const [owner, member] = [await person(`${name}-owner`, 'admin'), await person(`${name}-member`)];
  const draft = { name, type: 'machine', scopes: SCOPES };
  const { client_id: id, client_secret: ownSecret } = await call(
    'POST',
    '/api/v1/applications',
    owner.token,
    draft,
  );
  const application = `/api/v1/applications/${id}`;
  await call('POST', `${application}/members`, owner.token, { user: member.username, role: 'developer' });
  await call('POST', `/api/v1/memberships/${id}/accept`, member.token);
  const secret = await call('POST', `${application}/secrets`, member.token, {});
  const { api_key: key } = await call('POST', `${application}/api-keys`, member.token, {
    name: 'k',
    scopes: SCOPES,
  });
  const issued = async (client_secret: string) => {
    const asked = { grant_type: 'client_credentials', client_id: id, client_secret };
    return (await call('POST', '/oauth/token', undefined, asked)).access_token;
  };
  const hook = (path: string, token: string) =>
    call('POST', '/api/v1/webhooks', token, { url: `${origin}/${name}/${path}`, events: ['user.*'] });
  const hooks = {
    key: await hook('key', key),
    secret: await hook('secret', await issued(secret.client_secret)),
    owner: await hook('owner', await issued(ownSecret)),
  };
  const reasons = async (by = owner) => {
    const found = Object.entries(hooks).map(async ([kind, { id }]) => {
      return [kind, (await call('GET', `/api/v1/webhooks/${id}`, by.token)).pause_reason];
    });
    return Object.fromEntries(await Promise.all(found));
  };
  return { owner, member, application, secret, key, hooks, reasons };
}

t.test('a member’s webhooks get what the member may read, also when replayed', async (t) => {
  const { owner, hooks, key } = await scene('reads');
  const { id } = await person('third');
  await until(() => at('/reads/owner').some((body) => body.includes(id)), 20_000);
  const from = new Date(Date.now() - 3_600_000).toISOString();
  // A replay has the events that the list has, which ends a second ago.
  await until(
    async () => JSON.stringify(await call('GET', '/api/v1/events', owner.token)).includes(id),
    20_000,
  );
  for (const it of [hooks.key, hooks.secret])
    await call('POST', `/api/v1/webhooks/${it.id}/replay`, key, { from });
  // About the owner, as whom the application acts.
  for (const path of ['/reads/key', '/reads/secret']) {
    await until(() => at(path).length > 0, 20_000);
    for (const body of at(path)) t.match(body, owner.id, path);
  }

  await call('PATCH', `/api/v1/webhooks/${hooks.owner.id}`, key, { url: `${origin}/reads/taken` });
  const own = { url: `${origin}/marker`, events: ['user.*'] };
  await call('POST', '/api/v1/webhooks', owner.token, own);
  const fourth = await person('fourth');
  await until(() => at('/marker').some((body) => body.includes(fourth.id)), 20_000);
  t.notMatch(
    received.flatMap(({ path, body }) => (path === '/marker' ? [] : body)).join(),
    fourth.id,
    'nor one of the owner that the member changes',
  );
});

const ends: Record<string, (made: Awaited<ReturnType<typeof scene>>) => Promise<unknown>> = {
  removed: ({ application, owner, member }) =>
    call('DELETE', `${application}/members/${member.id}`, owner.token),
  lowered: ({ application, owner, member }) =>
    call('POST', `${application}/members`, owner.token, { user: member.username, role: 'viewer' }),
  deactivated: ({ member }) => call('PUT', `/v2/users/${member.id}/status`, machine, { status: 'inactive' }),
  deleted: ({ member }) => call('DELETE', `/v2/users/${member.id}`, machine),
};
for (const [name, end] of Object.entries(ends)) {
  t.test(`the webhooks of a member who is ${name} pause, and those of the owner do not`, async (t) => {
    const made = await scene(name);
    await end(made);
    const paused = { key: 'credential', secret: 'credential', owner: null };
    await until(async () => (await made.reasons()).secret !== null, 5000);
    t.same(await made.reasons(), paused);
  });
}

t.test('the webhooks of a secret pause when it is removed', async (t) => {
  const { application, owner, secret, reasons } = await scene('secrets');
  await call('DELETE', `${application}/secrets/${secret.id}`, owner.token);
  await until(async () => (await reasons()).secret !== null, 5000);
  t.same(await reasons(), { key: null, secret: 'credential', owner: null });
});

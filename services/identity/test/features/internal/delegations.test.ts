import { until } from '@gatehouse/testing/processes';
import { decodeJwt } from 'jose';
import t from 'tap';
import { createDelegations, type Delegation } from '../../../src/features/internal/delegations.ts';
import { build, PASSWORD, WEB } from '../../build.ts';
import { tokensFor } from '../../tokens.ts';
import { startIssuer } from '../trusted-issuers/workload-issuer.ts';

const built = await build(t);
const { base, call, createApplication, form, login, people, post, serviceSecret } = built;
const DELEGATIONS = '/internal/identity/delegations';

const service = await built.serviceToken('notifications');
const ask = (path: string, body: object) => call('POST', DELEGATIONS + path, service, body);

async function delegate(credential: string): Promise<string> {
  const { status, body } = await ask('', { credential });
  t.equal(status, 201);
  return String(body.handle);
}
const tokenBy = (handle: string) => ask('/token', { handle });
const read = (token: unknown) => call('GET', `/v1/users/${people.ann.id}`, String(token));

async function newKey(): Promise<{ client: string; id: string; key: string }> {
  const owner = await login('ann');
  const scopes = ['read:users', 'write:users'];
  const { client_id: client } = await createApplication(owner, { name: 'Keyed', type: 'machine', scopes });
  const { body } = await call('POST', `/api/v1/applications/${client}/api-keys`, owner, {
    name: 'Key',
    scopes,
  });
  return { client, id: String(body.id), key: String(body.api_key) };
}

/** Whether the credential that a delegated token stands for has ended. */
async function hasEnded(token: unknown, changes: object = {}): Promise<unknown> {
  const { client_id, sub, owner, gid, api_key, epoch } = decodeJwt(String(token));
  const ids = { user_id: owner ?? sub, grant_id: gid ?? null, key_id: api_key ?? null };
  const credentials = [{ client_id, epoch, ...ids, ...changes }];
  const path = DELEGATIONS.replace('delegations', 'ended-credentials');
  const { status, body } = await call('POST', path, service, { credentials });
  t.equal(status, 200);
  return (body.ended as unknown[])[0];
}

/** How somebody reads, and what ends it. */
const CALLERS: Record<string, () => Promise<{ credential: string; end: () => Promise<unknown> }>> = {
  async 'an application, until its grant ends'() {
    const { access_token, refresh_token } = await tokensFor(built);
    const end = () => form({ token: refresh_token, ...WEB }, {}, '/oauth2/revoke');
    return { credential: `Bearer ${access_token}`, end };
  },
  async 'the dashboard, until its grant ends'() {
    const client = { client_id: 'dashboard', client_secret: serviceSecret };
    const { access_token, refresh_token } = await tokensFor(built, {
      client: { ...client, redirect_uri: `${base}/dashboard/signed-in` },
    });
    const end = () => form({ token: refresh_token, ...client }, {}, '/oauth2/revoke');
    return { credential: `Bearer ${access_token}`, end };
  },
  async 'a login, until it ends'() {
    const token = await login('ann');
    return { credential: `bearer ${token}`, end: () => call('POST', '/api/v1/auth/logout', token) };
  },
  async 'an API key, until it is revoked'() {
    const { client, id, key } = await newKey();
    const end = async () =>
      call('DELETE', `/api/v1/applications/${client}/api-keys/${id}`, await login('ann'));
    return { credential: `ApiKey ${key}`, end };
  },
  async 'a machine by a token of an issuer, until that is switched off'() {
    const { issuer, jwks, sign } = await startIssuer(t);
    const [admin, owner] = [await login('admin'), await login('ann')];
    const draft = { issuer, kinds: ['workload'], jwks: jwks() };
    const trusted = await call('POST', '/api/v1/trusted-issuers', admin, draft);
    const scopes = ['read:users', 'write:users'];
    const { client_id } = await createApplication(owner, { name: 'CI', type: 'machine', scopes });
    const rule = { name: 'CI', issuer, subject: 'ci' };
    await call('POST', `/api/v1/applications/${client_id}/federated-credentials`, owner, rule);
    const { body } = await form({
      ...{ grant_type: 'client_credentials', client_id },
      client_assertion: await sign({ sub: 'ci', aud: base }),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    const end = () => call('PATCH', `/api/v1/trusted-issuers/${trusted.body.id}`, admin, { enabled: false });
    return { credential: `Bearer ${body.access_token}`, end };
  },
  async 'an API key, until its application is deleted'() {
    const { client, key } = await newKey();
    const end = async () => call('DELETE', `/api/v1/applications/${client}`, await login('ann'));
    return { credential: `Bearer ${key}`, end };
  },
  async 'a person, until the password changes'() {
    const token = await login('ann');
    const change = { current_password: PASSWORD, new_password: 'another horse battery' };
    const end = async () => {
      await call('PUT', `/v1/users/${people.ann.id}/password`, token, change);
      const back = { current_password: change.new_password, new_password: PASSWORD };
      const again = await login('ann', change.new_password);
      return call('PUT', `/v1/users/${people.ann.id}/password`, again, back);
    };
    return { credential: `Bearer ${token}`, end };
  },
};

for (const [name, make] of Object.entries(CALLERS)) {
  t.test(name, async (t) => {
    const { credential, end } = await make();
    const handle = await delegate(credential);
    const { status, body } = await tokenBy(handle);
    t.equal(status, 200);
    t.ok(Number(body.expires_in) <= 300);
    const { scope, act } = decodeJwt(String(body.access_token));
    t.notMatch(scope, /write|manage/, 'for reading only');
    t.match(scope, /read:users/);
    t.same(act, { sub: 'notifications' });
    const seen = await read(body.access_token);
    t.equal(seen.status, 200);
    t.equal(seen.headers.get('ratelimit'), null, 'the caller’s quota is not used');
    const changed = await call('PUT', `/v1/users/${people.ann.id}`, String(body.access_token), { name: 'X' });
    t.equal(changed.status, 403);
    t.equal(await hasEnded(body.access_token), false);
    t.equal(await hasEnded(body.access_token, { user_id: 'usr_unknown' }), true);
    await end();
    t.equal((await tokenBy(handle)).status, 404, 'it is over');
    t.equal(await hasEnded(body.access_token), true);
    await until(async () => (await read(body.access_token)).status === 401, 2000);
  });
}

t.test('a trusted machine', async (t) => {
  const handle = await delegate(`Bearer ${await built.machineToken()}`);
  const token = (await tokenBy(handle)).body.access_token;
  t.equal((await read(token)).status, 200);
});

t.test('names of applications, as far as the one who delegated sees these', async (t) => {
  const { client, key } = await newKey();
  const draft = { name: 'Other', type: 'machine', scopes: ['read:users'] };
  const { client_id: other } = await createApplication(await login('admin'), draft);
  const unknown = other.slice(0, -4);
  const ours = { dashboard: 'Gatehouse dashboard', 'gatehouse-login': 'Login by the API' };
  const ids = [client, other, unknown, '__proto__', 'constructor', ...Object.keys(ours)];
  const machine = await built.machineToken();
  const application = (await tokensFor(built, { username: 'admin' })).access_token;
  for (const [name, credential, seen] of [
    ['an admin', `Bearer ${await login('admin')}`, { [client]: 'Keyed', [other]: 'Other' }],
    ['their owner', `Bearer ${await login('ann')}`, { [client]: 'Keyed' }],
    ['an API key', `ApiKey ${key}`, {}],
    ['an application of an admin', `Bearer ${application}`, {}],
    ['a trusted machine', `Bearer ${machine}`, {}],
  ] as const) {
    const handle = await delegate(credential);
    const { status, body } = await ask('/application-names', { handle, client_ids: ids });
    t.equal(status, 200, name);
    t.same(body.names, { ...seen, ...ours }, name);
  }
  const ended = await ask('/application-names', { handle: 'x', client_ids: ids });
  t.equal(ended.status, 404);
  const handle = await delegate(`Bearer ${machine}`);
  const many = await ask('/application-names', { handle, client_ids: Array(101).fill('app') });
  t.equal(many.status, 400);
});

t.test('invalid requests', async (t) => {
  for (const credential of ['', 'Bearer', 'Bearer x', 'Basic YTpi', `Bearer ${service}`]) {
    t.equal((await ask('', { credential })).status, 404, credential.slice(0, 12));
  }
  for (const body of [{}, { credential: 7 }, { credential: { $gt: '' } }])
    t.equal((await ask('', body)).status, 400);
  for (const handle of ['', 'x', 'x'.repeat(43)]) t.equal((await tokenBy(handle)).status, 404);
  t.equal((await ask('/token', { handle: { $gt: '' } })).status, 400);
  t.equal((await post(DELEGATIONS, '{}', { 'content-type': 'application/json' })).status, 401);
});

t.test('a handle belongs to the service that got it, and is kept as a hash', async (t) => {
  const kept = new Map<string, Delegation>();
  const delegations = createDelegations({
    issuer: base,
    store: {
      insert: async (hash, delegation) => void kept.set(hash, delegation),
      find: async (hash) => kept.get(hash),
    },
    isInForce: async () => true,
    signer: () => async () => ({ token: 'signed', jti: 'jti' }),
    tokenLifetime: 60,
  });
  const caller = {
    subject: 'app_x',
    clientId: 'app_x',
    person: undefined,
    grantId: undefined,
    keyId: undefined,
  };
  const handle = await delegations.create(
    { ...caller, scopes: new Set(['read:all']), epoch: { client: 0, subject: 0 } } as never,
    'notifications',
  );
  t.notOk(kept.has(handle));
  t.match(await delegations.token(handle, 'notifications'), { value: 'signed', lifetime: 60 });
  t.equal(await delegations.token(handle, 'users'), undefined);
});

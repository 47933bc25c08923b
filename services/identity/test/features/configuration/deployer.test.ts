import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../../build.ts';
import { mailsOf } from '../../pages.ts';

// A deployer cannot sign in, and needs not.
const built = await build(t, { config: { freshSignIn: 'on' } });
let admin = await built.login('admin');

type Entry = { id: string; kind: string; client_id: string | null };
const clients: Awaited<ReturnType<typeof built.createApplication>>[] = [];

async function ok(method: string, path: string, token: string, body?: object) {
  const response = await built.call(method, path, token, body);
  if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`);
  return response.body as Record<string, string>;
}

/** A machine that the admin has marked, and a token by which it acts for the admin. */
async function createDeployer() {
  const draft = { name: 'Pipeline', type: 'machine', scopes: ['read:data'] };
  const client = await built.createApplication(admin, draft);
  clients.push(client);
  const path = `/api/v1/applications/${client.client_id}`;
  await ok('PUT', `${path}/deployer`, admin);
  const own = await built.machineToken(client);
  const { access_token: token = '' } = await ok('POST', '/api/v1/configuration/tokens', own);
  return { id: client.client_id, path, token };
}

t.test('the audit log names the deployer, and the admin in whose name it acts', async (t) => {
  const deployer = await createDeployer();
  const resource = await ok('POST', '/api/v1/resources', deployer.token, {
    ...{ identifier: 'https://one.example.org/', name: 'Notes' },
    scopes: [{ name: 'notes:read', description: 'Read your notes' }],
  });
  const issuer = await ok('POST', '/api/v1/trusted-issuers', deployer.token, {
    ...{ issuer: 'https://ci.example.org', kinds: ['workload'] },
  });
  const provider = await ok('POST', '/api/v1/identity-providers', deployer.token, {
    ...{ id: 'acme', label: 'Acme', issuer: 'https://id.acme.example', enabled: false },
    ...{ client_id: 'gatehouse', client_secret: 'a-secret' },
  });
  const made = [
    [`/api/v1/resources/${resource.id}`, { name: 'Notes 2' }],
    [`/api/v1/trusted-issuers/${issuer.id}`, { enabled: false }],
    [`/api/v1/identity-providers/${provider.id}`, { label: 'Acme 2' }],
  ] as const;
  for (const [path, change] of made) {
    await ok('PATCH', path, deployer.token, change);
    await ok('DELETE', path, deployer.token);
  }
  for (const action of [
    ...['resource.created', 'resource.changed', 'resource.deleted'],
    ...['trusted_issuer.created', 'trusted_issuer.changed', 'trusted_issuer.deleted'],
    ...['identity_provider.added', 'identity_provider.changed', 'identity_provider.removed'],
  ]) {
    const { body } = await built.call('GET', `/api/v1/audit?filter[action]=${action}`, admin);
    t.match(body.data, [{ actor: built.people.admin.id, client: deployer.id }], action);
  }
});

t.test('the admin gets a mail, sees it among what they gave, and keeps or ends it', async (t) => {
  const kept = await createDeployer();
  const ended = await createDeployer();
  await until(
    async () => (await mailsOf(built)).some((it) => /Pipeline.*can now apply configuration files/s.test(it)),
    10_000,
  );
  const listed = async (id: string) =>
    ((await ok('GET', '/api/v1/access', admin)).data as unknown as Entry[]).find(
      (it) => it.kind === 'deployer' && it.client_id === id,
    );
  const entry = await listed(kept.id);
  t.match(entry, { effect: 'ends', can_be_kept: true });
  const root = await built.login('admin');
  const secrets = ((await ok('GET', '/api/v1/access', root)).data as unknown as Entry[]).filter(
    ({ kind }) => kind === 'client_secret',
  );
  const keep = [entry?.id, ...secrets.map(({ id }) => id)];
  await ok('POST', `/api/v1/users/${built.people.admin.id}/revocations`, root, { except: keep });
  admin = await built.login('admin');
  const own = async ({ id }: { id: string }) => {
    const client = clients.find(({ client_id }) => client_id === id);
    const token = await built.machineToken(client);
    return (await built.call('POST', '/api/v1/configuration/tokens', token)).body.access_token;
  };
  t.ok(await own(kept));
  t.equal(await own(ended), undefined);
  t.equal(await listed(ended.id), undefined);
  t.ok(await listed(kept.id));
  const read = async ({ path }: { path: string }) =>
    (await built.call('GET', `${path}/deployer`, admin)).status;
  t.same([await read(kept), await read(ended)], [200, 404], 'a mark that has ended is none');
});

t.test('a transfer removes the mark and the protection, which do not come back', async (t) => {
  const { id, path } = await createDeployer();
  await ok('PATCH', path, admin, { protected: true });
  const ann = await built.login();
  const { id: offer } = await ok('POST', `${path}/transfer`, admin, { to: 'ann' });
  await ok('POST', `/api/v1/transfers/${offer}/accept`, ann);
  t.equal((await ok('GET', path, ann)).protected as unknown, false);
  await ok('POST', `${path}/transfer`, admin, { to: 'admin' });
  t.match(await ok('GET', path, admin), { client_id: id, owner: built.people.admin.id, protected: false });
  t.equal((await built.call('GET', `${path}/deployer`, admin)).status, 404);
});

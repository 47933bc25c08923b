import t from 'tap';
import { build } from '../../build.ts';

const built = await build(t, {});
const admin = await built.login('admin');

async function ok(method: string, path: string, token: string, body?: object) {
  const response = await built.call(method, path, token, body);
  if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`);
  return response.body as Record<string, string>;
}

/** A machine that the admin has marked, and a token by which it acts for the admin. */
async function createDeployer() {
  const draft = { name: 'Pipeline', type: 'machine', scopes: ['read:data'] };
  const client = await built.createApplication(admin, draft);
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

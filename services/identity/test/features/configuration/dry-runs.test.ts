import { requireDeployerRequest } from '@gatehouse/api/http/deployer-requests';
import { until } from '@gatehouse/testing/processes';
import type { Caller } from '@gatehouse/tokens/caller';
import t from 'tap';
import { build } from '../../build.ts';

const built = await build(t, {});
const { base } = built;
const admin = await built.login('admin');
const ok = async (method: string, path: string, body?: object) => {
  const response = await built.call(method, path, admin, body);
  if (response.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`);
  return response.body as Record<string, unknown> & { id: string };
};
const DRAFT = { name: 'Shop', type: 'machine', scopes: ['read:data'] };
const ISSUER = { issuer: 'https://ci.example.org', kinds: ['workload'] };
const PROVIDER = {
  ...{ id: 'acme', label: 'Acme', issuer: 'https://id.acme.example', enabled: false },
  ...{ client_id: 'gatehouse', client_secret: 'a-secret' },
};
const application = `/api/v1/applications/${(await ok('POST', '/api/v1/applications', DRAFT)).client_id}`;
const RULE = { name: 'CI', issuer: ISSUER.issuer, subject: 'ci' };
const RESOURCE = { name: 'Notes', scopes: [{ name: 'notes:read', description: 'Read your notes' }] };
const created = async (path: string, body: object) => `${path}/${(await ok('POST', path, body)).id}`;
/** Objects that can be changed, by the paths of the document. */
const EXISTING: readonly (readonly [pattern: string, path: string])[] = [
  ['/api/v1/trusted-issuers/{id}', await created('/api/v1/trusted-issuers', ISSUER)],
  ['/api/v1/identity-providers/{id}', await created('/api/v1/identity-providers', PROVIDER)],
  [
    '/api/v1/resources/{id}',
    await created('/api/v1/resources', { ...RESOURCE, identifier: 'https://one.example.org/' }),
  ],
  [
    '/api/v1/applications/{client_id}/federated-credentials/{id}',
    await created(`${application}/federated-credentials`, RULE),
  ],
  ['/api/v1/configuration/lease/{id}', await created('/api/v1/configuration/lease', {})],
  ['/api/v1/applications/{client_id}', application],
];
/** Bodies in place of the examples of the document that name things of the outside world. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /api/v1/identity-providers': { ...PROVIDER, id: 'other' },
  'PATCH /api/v1/identity-providers/{id}': { label: 'Other' },
  'POST /api/v1/resources': { ...RESOURCE, identifier: 'https://two.example.org/' },
  'POST /api/v1/trusted-issuers': { ...ISSUER, issuer: 'https://other.example.org' },
  'POST /api/v1/applications/{client_id}/federated-credentials': { ...RULE, subject: 'other' },
};

type Content = { examples?: Record<string, { value: unknown }> };
type Documented = { requestBody?: { content: Record<string, Content> } };
const { paths } = (await (await fetch(`${base}/openapi/identity.json`)).json()) as {
  paths: Record<string, Record<string, Documented>>;
};
const writes = Object.entries(paths)
  .flatMap(([pattern, operations]) =>
    Object.entries(operations).map(([name, operation]) => ({
      pattern,
      method: name.toUpperCase(),
      operation,
    })),
  )
  .filter(({ method, pattern }) => method !== 'GET' && pattern.startsWith('/api/v1/'));

const DEPLOYER = { actors: ['app_pipeline'], scopes: new Set(['manage:apps']) } as unknown as Caller;
function isOfDeployers({ method, pattern }: (typeof writes)[number]): boolean {
  try {
    requireDeployerRequest(DEPLOYER, method, pattern);
    return true;
  } catch {
    return false;
  }
}

function send({ method, pattern, operation }: (typeof writes)[number], headers: Record<string, string>) {
  const found = EXISTING.find(([it]) => pattern.startsWith(it));
  const path = found === undefined ? pattern : pattern.replace(...found);
  const [example] = Object.values(operation.requestBody?.content['application/json']?.examples ?? {});
  const body = BODIES[`${method} ${pattern}`] ?? example?.value;
  return fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** All that is stored, without what every request notes and the audit log. */
async function dump() {
  const database = await built.database();
  const names = (await database.listCollections()).map(({ name }) => name).sort();
  const kept = names.filter((name) => !/^(?:logins|audit_log)$/.test(name));
  const all = kept.map(async (name) => [
    name,
    await database.collection(name).find().sort({ _id: 1 }).toArray(),
  ]);
  return Object.fromEntries(await Promise.all(all));
}

t.test('a dry run changes nothing, and gets as far as the request does', async (t) => {
  const before = await dump();
  const requests: (string | null)[] = [];
  for (const write of writes) {
    const response = await send(write, { 'gatehouse-configuration': 'file="gatehouse.yaml", dry-run' });
    requests.push(response.headers.get('x-request-id'));
    if (isOfDeployers(write)) t.equal(response.status, 204, `${write.method} ${write.pattern}`);
    t.strictSame(await dump(), before, `${write.method} ${write.pattern}: ${response.status}`);
  }
  // A buffered entry that is written after all of these would have been.
  const { headers } = await built.logIn();
  const audit = (await built.database()).collection('audit_log');
  await until(
    async () => (await audit.countDocuments({ request_id: headers.get('x-request-id') })) > 0,
    10_000,
  );
  t.strictSame(await audit.find({ request_id: { $in: requests } }).toArray(), []);
});

t.test('the same requests without it are made', async (t) => {
  const changes = writes.filter(isOfDeployers);
  t.ok(changes.length >= 12, `${changes.length}`);
  const deletions = changes.filter(({ method }) => method === 'DELETE');
  const others = changes.filter(({ method, pattern }) => method !== 'DELETE' && !/lease$/.test(pattern));
  const order = EXISTING.map(([pattern]) => pattern);
  deletions.sort((a, b) => order.indexOf(a.pattern) - order.indexOf(b.pattern));
  for (const write of [...others, ...deletions]) {
    const { status } = await send(write, {});
    t.ok(status < 300, `${write.method} ${write.pattern}: ${status}`);
  }
});

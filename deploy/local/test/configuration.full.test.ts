import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient, ApiError } from '@gatehouse/cli/api-client';
import { apply } from '@gatehouse/cli/configuration/commands';
import { connectDeployer } from '@gatehouse/cli/configuration/deployer';
import { until } from '@gatehouse/testing/processes';
import { repetitions } from '@gatehouse/testing/repetitions';
import fc from 'fast-check';
import t from 'tap';
import { commandsFor, LEASE } from './configuration-commands.ts';
import { createUser, spawnMain, startGatehouse, temporaryDir, tokenOf } from './gatehouse.ts';

const folder = temporaryDir(t);
const gatehouse = await startGatehouse(t, temporaryDir(t));
const { id: grace } = await createUser(gatehouse.base, await tokenOf(gatehouse), 'grace');

const WEB = ['Lighthouse', 'Ünïcode'];
const GITHUB = 'https://token.actions.githubusercontent.com';
/** Configurations of all kinds, with references between them. */
const configurations = fc
  .record({
    names: fc.uniqueArray(fc.constantFrom('Lighthouse', 'CI', 'Billing: "EU"', 'Ünïcode'), { minLength: 1 }),
    scopes: fc.uniqueArray(fc.constantFrom('openid', 'write:data', 'read:users')),
    owner: fc.constantFrom('admin', 'grace'),
    isProtected: fc.boolean(),
    rules: fc.uniqueArray(fc.constantFrom('main', 'next', 'release'), { maxLength: 3 }),
    domains: fc.option(fc.uniqueArray(fc.constantFrom('acme.example', 'acme.test'), { minLength: 1 })),
    events: fc.uniqueArray(fc.constantFrom('order.*', 'product.created', 'order.created'), { minLength: 1 }),
    hooks: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
    role: fc.constantFrom('viewer', 'developer'),
    text: fc
      .string({ minLength: 1, maxLength: 40 })
      .filter((it) => /^[\w ,:#'"{}&*!|>%@-]+$/.test(it) && it.trim() === it),
  })
  .map(({ names, scopes, owner, isProtected, rules, domains, events, hooks, role, text }) => ({
    applications: [...names, 'Reader'].map((name) => ({
      ...{ name, owner: name === 'Reader' ? 'admin' : owner, type: WEB.includes(name) ? 'web' : 'machine' },
      ...(WEB.includes(name) ? { redirect_uris: ['https://app.example.com/cb'] } : {}),
      scopes: ['read:data', ...scopes.filter((it) => WEB.includes(name) || it !== 'openid')],
      federated_credentials: rules.map((rule) => ({
        name: rule,
        issuer: GITHUB,
        subject: `repo:acme/shop:ref:${rule}`,
      })),
      members: owner === 'grace' || name !== names[0] ? [] : [{ user: 'grace', role }],
    })),
    trusted_issuers: [
      { issuer: GITHUB, kinds: ['workload'], enabled: !isProtected, preset: 'github', applications: names },
    ],
    resources: [
      {
        ...{
          identifier: 'https://api.example.invalid/',
          name: text,
          owner: 'admin',
          protected: isProtected,
          applications: names,
        },
        scopes: [{ name: 'calendar:read', description: text }],
      },
    ],
    identity_providers: [
      {
        ...{
          id: 'acme',
          label: 'Acme',
          enabled: false,
          issuer: 'https://id.acme.example',
          client_id: 'g',
          domains,
        },
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference.
        client_secret: '${env:ACME_CLIENT_SECRET}',
      },
    ],
    webhooks: hooks.map((hook) => ({ url: `https://example.com/${hook}`, events, description: text })),
    invitations: names
      .slice(0, 1)
      .map((client_id) => ({ email: 'ada@example.com', role: 'editor', application: { client_id, role } })),
  }));

const admin = await commandsFor(folder, gatehouse);

t.test(
  'random configurations: a plan says what apply does, a second apply does nothing, and what is exported changes nothing',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(configurations, async (configuration) => {
        const planned = await admin.plan(configuration, { prune: true });
        const applied = await admin.apply(configuration, { prune: true });
        t.equal(applied.status, 0, applied.output);
        t.equal(planned.status, JSON.parse(applied.output).changes.length === 0 ? 0 : 2);
        t.same(JSON.parse(applied.output), JSON.parse(planned.output));
        const exported = await admin.export();
        t.match(await admin.plan(configuration, { prune: true }), { status: 0 });
        t.match(await admin.plan(exported, { prune: true }), { status: 0 });
        t.same(JSON.parse((await admin.apply(exported, { prune: true })).output), { changes: [] });
        t.same(await admin.export(), exported);
        // The next one may delete the resource.
        const [resource] = (await admin.call('GET', '/api/v1/resources')).body.data;
        await admin.call('PATCH', `/api/v1/resources/${resource?.id}`, { protected: false });
      }),
      { numRuns: repetitions(20, 1 / 4), endOnFailure: true },
    );
  },
);

t.test('an apply that is killed at any request is completed by the next one', async (t) => {
  await fc.assert(
    fc.asyncProperty(configurations, fc.nat(99), async (configuration, percent) => {
      const before = await admin.export();
      const { requests } = await admin.plan(configuration, { prune: true });
      t.ok(requests > 0);
      const limit = Math.max(1, Math.floor((percent / 100) * requests * 3));
      await admin.apply(configuration, { prune: true }, { limit });
      await admin.endLease();
      const completed = await admin.apply(configuration, { prune: true });
      t.equal(completed.status, 0, completed.output);
      const resumed = await admin.export();
      for (const it of [before, configuration]) {
        const undone = {
          applications: [],
          resources: [],
          webhooks: [],
          trusted_issuers: [],
          identity_providers: [],
          invitations: [],
          ...it,
        };
        const { status, output } = await admin.apply(withoutProtection(undone), { prune: true });
        t.equal(status, 0, output);
      }
      t.same(timeless(await admin.export()), timeless(resumed));
    }),
    { numRuns: repetitions(20, 1 / 4), endOnFailure: true },
  );
});

const withoutProtection = (it: object) =>
  JSON.parse(JSON.stringify(it).replaceAll('"protected":true', '"protected":false'));
/** Lists without their order, which is that of their creation. */
const timeless = (configuration: object) =>
  Object.fromEntries(
    Object.entries(withoutProtection(configuration)).map(([kind, list]) => [
      kind,
      Array.isArray(list) ? list.map((it) => JSON.stringify(it)).sort() : list,
    ]),
  );

t.test('mistakes are found before anything is written, with their lines', async (t) => {
  const before = await admin.export();
  const hook = 'webhooks:\n  - url: https://example.com/new\n    events: [order.*]\n';
  for (const [yaml, message] of [
    [`${hook}    orderd: true\n`, /gatehouse.yaml:4: webhooks\[0\].orderd is not a known field/],
    [`${hook}    ordered: 7\n`, /gatehouse.yaml:4: webhooks\[0\].ordered must be boolean/],
    [
      `${hook}applications:\n  - name: A\n    type: machine\n    scopes: [read:data]\n    federated_credentials:\n      - { name: a, issuer: 'https://not.example', subject: a }\n`,
      /gatehouse.yaml:9: applications\[0\].federated_credentials\[0\].issuer: there is no/,
    ],
    [
      `${hook}  - url: https://example.com/x\n    events: [cat.*]\n`,
      /gatehouse.yaml:5: webhooks\[1\].events\[0\] must be one of/,
    ],
    [
      `${hook}applications:\n  - name: A\n    type: machine\n    scopes: [write:everything]\n`,
      /gatehouse.yaml:7: applications\[0\]\.scopes: scopes/,
    ],
    [
      `${hook}  - url: https://example.com/new\n    events: [order.*]\n`,
      /gatehouse.yaml:4: webhooks\[1\]: it has the name of webhooks\[0\]/,
    ],
    [
      `${hook}applications:\n  - { name: A, type: machine, scopes: ['read:data'], owner: nobody }\n`,
      /gatehouse.yaml:5: applications\[0\].owner: there is no "nobody"/,
    ],
    [
      `${hook}identity_providers:\n  - { id: a, client_id: b, issuer: 'https://a.example', label: A,\n      client_secret: '\${env:NOT_THERE}' }\n`,
      /gatehouse.yaml:6: identity_providers\[0\].client_secret: the environment variable NOT_THERE is not set/,
    ],
    [
      `${hook}identity_providers:\n  - { id: a, client_id: b, client_secret: plain }\n`,
      /gatehouse.yaml:5: .*must be a reference/,
    ],
    ['webhooks: [}', /gatehouse.yaml:1: /],
  ] as const) {
    for (const run of [admin.plan, admin.apply]) {
      const { status, output } = await run(yaml);
      t.equal(status, 1, yaml);
      t.match(output, message);
    }
  }
  t.same(await admin.export(), before);
});

t.test('a secret is compared by its digest, and never exported', async (t) => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference.
  const secret = '${env:ACME_CLIENT_SECRET}';
  const provider = {
    id: 'okta',
    label: 'Okta',
    enabled: false,
    issuer: 'https://okta.example',
    client_id: 'g',
    client_secret: secret,
  };
  const file = { identity_providers: [provider] };
  t.match(await admin.apply(file), { status: 0 });
  t.match(await admin.plan(file), { status: 0 });
  admin.env.ACME_CLIENT_SECRET = 'two';
  const { status, output } = await admin.plan(file);
  t.equal(status, 2);
  t.match(JSON.parse(output).changes, [{ action: 'change', fields: [{ field: 'client_secret' }] }]);
  t.notMatch(output, /two/);
  t.match(await admin.apply(file), { status: 0 });
  t.match(await admin.plan(file), { status: 0 });
  const exported = await admin.export();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference.
  t.match(exported.identity_providers.at(-1), { id: 'okta', client_secret: '${env:OKTA_CLIENT_SECRET}' });
});

t.test('nobody can delete a protected object', async (t) => {
  const hook = { url: 'https://example.com/kept', events: ['order.*'], protected: true };
  t.match(await admin.apply({ webhooks: [hook] }), { status: 0 });
  const { status, output } = await admin.plan({ webhooks: [] }, { prune: true });
  t.equal(status, 1);
  t.match(output, /webhooks https:\/\/example.com\/kept.*is protected/);
  t.match(await admin.plan({ webhooks: [] }), { status: 0 }, 'without --prune, it is no change');
  const drafts = {
    applications: { name: 'Kept', type: 'machine', scopes: ['read:data'], protected: true },
    resources: {
      identifier: 'https://kept.example.invalid/',
      name: 'K',
      scopes: [{ name: 'a', description: 'A' }],
      protected: true,
    },
    'trusted-issuers': { issuer: 'https://kept.example', kinds: ['workload'], protected: true },
    'identity-providers': {
      id: 'kept',
      label: 'K',
      enabled: false,
      issuer: 'https://kept.example',
      client_id: 'g',
      client_secret: 's',
      protected: true,
    },
    webhooks: { ...hook, url: 'https://example.com/kept-too' },
  };
  for (const [path, draft] of Object.entries(drafts)) {
    const { body, status } = await admin.call('POST', `/api/v1/${path}`, draft);
    t.equal(status, 201, JSON.stringify(body));
    const one = `/api/v1/${path}/${path === 'applications' ? body.client_id : body.id}`;
    t.equal((await admin.call('DELETE', one)).status, 409, path);
    t.match(await admin.call('PATCH', one, { protected: false }), {
      status: 200,
      body: { protected: false },
    });
    t.equal((await admin.call('DELETE', one)).status, 204, path);
  }
});

t.test('one apply at a time; changes of others meanwhile are not overwritten', async (t) => {
  const file = (name: string) => ({
    applications: [
      { name: 'Shared', type: 'machine', scopes: ['read:data'], client_uri: `https://${name}.example/` },
    ],
  });
  t.match(await admin.apply(file('start')), { status: 0 });
  const { body: lease } = await admin.call('POST', LEASE);
  let isOver = false;
  const second = admin.apply(file('two')).finally(() => {
    isOver = true;
  });
  while (!isOver) t.equal((await admin.call('PUT', `${LEASE}/${lease.id}`)).status, 200);
  t.match(await second, { status: 1, output: /^conflict: / });
  t.equal((await admin.call('PUT', `${LEASE}/${lease.id}`)).status, 200);
  // The holder is killed.
  t.match(await admin.apply(file('three')), { status: 0 });
  t.equal((await admin.call('PUT', `${LEASE}/${lease.id}`)).status, 409);
  const changed = await admin.apply(
    file('four'),
    { yes: false },
    {
      async confirm() {
        const { body } = await admin.call('GET', '/api/v1/applications?q=Shared');
        await admin.call('PATCH', `/api/v1/applications/${body.data[0]?.client_id}`, {
          client_uri: 'https://person.example/',
        });
      },
    },
  );
  t.match(changed, { status: 1, output: /^conflict: / });
  t.match(await admin.apply(file('four'), { yes: false }), { status: 1, output: /no terminal/ });
  t.match((await admin.call('GET', '/api/v1/applications?q=Shared')).body.data, [
    { client_uri: 'https://person.example/' },
  ]);
});

t.test('a change with the ETag of an earlier version is refused', async (t) => {
  const { body, headers } = await admin.call('POST', '/api/v1/applications', {
    name: 'E',
    type: 'machine',
    scopes: ['read:data'],
  });
  const one = `/api/v1/applications/${body.client_id}`;
  const etag = (await admin.call('GET', one)).headers.get('etag') ?? '';
  t.match(etag, /^"v\d+"$/, headers.get('location') ?? '');
  t.equal((await admin.call('GET', one, undefined, { 'if-none-match': etag })).status, 304);
  t.equal((await admin.call('PATCH', one, { name: 'F' }, { 'if-match': etag })).status, 200);
  t.equal((await admin.call('PATCH', one, { name: 'G' }, { 'if-match': etag })).status, 412);
  t.equal((await admin.call('DELETE', one, undefined, { 'if-match': etag })).status, 412);
  t.match((await admin.call('GET', one)).body, { name: 'F' });
});

t.test('an admin creates an application for somebody else, and has no secret of it', async (t) => {
  const draft = { name: 'Given', type: 'machine', scopes: ['read:data'] };
  const { status, body } = await admin.call('POST', '/api/v1/applications', { ...draft, owner: grace });
  t.match({ status, body }, { status: 201, body: { owner: grace } });
  t.notOk('client_secret' in body);
  t.same((await admin.call('GET', `/api/v1/applications/${body.client_id}/secrets`)).body.data, []);
  const unknown = await admin.call('POST', '/api/v1/applications', { ...draft, owner: 'usr_nobody' });
  t.equal(unknown.status, 400);
  const demo = await commandsFor(folder, gatehouse, gatehouse.demo.user);
  t.equal((await demo.call('POST', '/api/v1/applications', { ...draft, owner: grace })).status, 400);
});

t.test('an application of somebody else is not confused with one of the same name', async (t) => {
  const draft = { name: 'Namesake', type: 'machine', scopes: ['read:data'] };
  const demo = await commandsFor(folder, gatehouse, gatehouse.demo.user);
  const { body: theirs } = await demo.call('POST', '/api/v1/applications', draft);
  const file = (applications: unknown[]) => ({
    resources: [
      {
        ...{ identifier: 'https://namesake.example.invalid/', name: 'Namesake', applications },
        scopes: [{ name: 'namesake:read', description: 'x' }],
      },
    ],
  });
  const used = async () => {
    const { data } = (await admin.call('GET', '/api/v1/resources')).body;
    return data.find(({ name }) => name === 'Namesake')?.applications;
  };
  t.match(await admin.apply(file(['Namesake'])), {
    status: 1,
    output: /no "Namesake" among the applications/,
  });
  t.equal((await admin.apply(file([theirs.client_id]))).status, 0);
  t.equal((await admin.plan(file([theirs.client_id]))).status, 0);
  const { body: own } = await admin.call('POST', '/api/v1/applications', draft);
  t.equal((await admin.apply(file(['Namesake']))).status, 0);
  t.same(await used(), [own.client_id]);
  t.equal((await admin.plan(file(['Namesake']))).status, 0);
  const both = ['admin', 'demo'].map((owner) => ({ ...draft, owner, name: 'Twin' }));
  t.match(await admin.plan({ ...file(['Twin']), applications: both }), {
    status: 1,
    output: /more than one/,
  });
  const { applications, resources } = await admin.export();
  t.match(
    resources.find(({ name }: { name: string }) => name === 'Namesake'),
    { applications: [own.client_id] },
  );
  t.match(await admin.plan({ applications, resources }), { status: 0, output: '{"changes":[]}' });
  for (const [who, { client_id: id }] of [
    [demo, theirs],
    [admin, own],
  ] as const)
    await who.call('DELETE', `/api/v1/applications/${id}`);
});

t.test('the audit log has the name of the file', async (t) => {
  const file = (description: string) => ({
    webhooks: [{ url: 'https://example.com/audited', events: ['order.*'], description }],
    applications: [{ name: 'Audited', type: 'machine', scopes: ['read:data'] }],
  });
  t.match(await admin.apply(file('a')), { status: 0 });
  const entries = async (action: string) => {
    const { body } = await admin.call('GET', '/api/v1/audit?limit=100');
    return body.data.filter((it) => it.action === action && Object(it.details).file === 'gatehouse.yaml');
  };
  t.ok((await entries('application.created')).length > 0);
  await until(async () => (await entries('webhook.created')).length > 0, 10_000);
});

t.test('people who are no admins apply what is theirs', async (t) => {
  const demo = await commandsFor(folder, gatehouse, gatehouse.demo.user);
  const file = {
    applications: [{ name: 'Mine', type: 'machine', scopes: ['read:data'] }],
    webhooks: [{ url: 'https://example.com/mine', events: ['order.*'] }],
  };
  t.match(await demo.apply(file), { status: 0 });
  const exported = await demo.export();
  t.same(Object.keys(exported).sort(), ['$schema', 'applications', 'webhooks']);
  t.match(exported.applications, [{ name: 'Mine', owner: 'demo' }]);
  t.match(await demo.plan(exported, { prune: true }), { status: 0 });
  exported.applications[0].client_uri = 'https://mine.example/';
  t.match(await demo.apply(exported, { prune: true }), { status: 0 });
  t.match(
    await demo.apply({
      applications: [{ name: 'Theirs', type: 'machine', scopes: ['read:data'], owner: 'admin' }],
    }),
    { status: 1 },
  );
});

t.test('a deployer applies in the name of the admin who marked it, for as long as it holds', async (t) => {
  const draft = { name: 'Pipeline', type: 'machine', scopes: ['read:data'] };
  const { body: pipeline } = await admin.call('POST', '/api/v1/applications', draft);
  const mark = `/api/v1/applications/${pipeline.client_id}/deployer`;
  const env = {
    GATEHOUSE_CLIENT_ID: String(pipeline.client_id),
    GATEHOUSE_CLIENT_SECRET: String(pipeline.client_secret),
  };
  const url = gatehouse.base;
  const deployer = () => connectDeployer({ url, userAgent: 'test', env });
  const statusOf = (client: ApiClient, method: string, path: string, body?: object) =>
    client.request(method, path, { body }).then(
      ({ status }) => status,
      (error: ApiError) => error.status,
    );
  const list = (client: ApiClient) => statusOf(client, 'GET', '/api/v1/trusted-issuers');
  t.equal(await list(deployer()), 403, 'nobody has marked it');
  const demo = await commandsFor(folder, gatehouse, gatehouse.demo.user);
  t.equal((await demo.call('PUT', mark)).status, 404);
  const { body: own } = await demo.call('POST', '/api/v1/applications', { ...draft, name: 'Own' });
  t.equal((await demo.call('PUT', `/api/v1/applications/${own.client_id}/deployer`)).status, 403);
  t.equal((await admin.call('PUT', `/api/v1/applications/${own.client_id}/deployer`)).status, 403);
  t.equal((await admin.call('PUT', mark)).status, 204);
  const client = deployer();
  t.equal(await list(client), 200);
  const path = admin.write({ webhooks: [{ url: 'https://example.com/deployed', events: ['order.*'] }] });
  const output = { json: true, note() {}, result() {} };
  await apply({ connect: async () => client, env: {}, output, confirm: undefined }, path, { yes: true });
  t.ok(
    (await admin.export()).webhooks.some((it: { url: string }) => it.url === 'https://example.com/deployed'),
  );
  t.equal(await statusOf(client, 'PUT', mark), 403, 'it marks no other');
  const victim = { user_id: gatehouse.demo.admin.user_id };
  t.equal(await statusOf(client, 'POST', '/api/v1/factors/set-up-links', victim), 403);
  t.equal(await statusOf(client, 'POST', `/api/v1/applications/${pipeline.client_id}/secrets`, {}), 403);
  const users = `/v2/users/${gatehouse.demo.user.user_id}`;
  t.equal(await statusOf(client, 'PUT', users, { status: 'inactive' }), 403, 'it changes no accounts');
  for (const path of ['/v2/orders', '/api/v1/events', '/api/v1/queues', '/api/v1/items'])
    t.equal(await statusOf(client, 'GET', path), 403, `it does not read ${path}`);
  // Credentials of members do not have the authority of the admin.
  const key = await admin.call('POST', `/api/v1/applications/${pipeline.client_id}/api-keys`, {
    name: 'k',
    scopes: ['read:data'],
  });
  const byKey = await fetch(`${url}/api/v1/configuration/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.body.api_key}` },
  });
  t.equal(byKey.status, 403);
  t.equal((await admin.call('DELETE', mark)).status, 204);
  t.equal(await list(client), 401, 'its tokens have ended');
  t.equal(await list(deployer()), 403);
});

t.test('npm start applies a file before it is ready, and ends with its mistakes', async (t) => {
  const exported = await admin.export();
  const directory = join(folder, 'start');
  mkdirSync(directory);
  const owners = (it: { owner?: string }) => it.owner === 'admin';
  const own = {
    ...exported,
    applications: exported.applications
      .filter(owners)
      .map((it: object) => ({ ...it, members: [], federated_credentials: [] })),
    resources: (exported.resources ?? []).filter(owners),
  };
  for (const kind of ['trusted_issuers', 'invitations', 'resources', 'identity_providers']) delete own[kind];
  const path = admin.write(own, 'start/gatehouse.yaml');
  const dataDir = temporaryDir(t);
  const next = await startGatehouse(t, dataDir, {}, ['--config', path]);
  t.match(next.output(), /changes? applied\.[\s\S]*is ready at/);
  t.same(((await (await commandsFor(folder, next)).export()) as typeof own).webhooks, own.webhooks);
  await next.end();
  const wrong = spawnMain({ RATE_LIMIT: 'off', PORT: String(next.port), DATA_DIR: dataDir }, [
    '--config',
    admin.write('webhook: []', 'start/wrong.yaml'),
  ]);
  await wrong.ended;
  t.equal(wrong.child.exitCode, 1);
  t.match(wrong.output(), /wrong.yaml:1: webhook is not a known field/);
  t.notMatch(wrong.output(), /is ready at/);
});

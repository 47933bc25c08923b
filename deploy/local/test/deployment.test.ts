import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { servicesCallableBy } from '@gatehouse/core/services';
import { natsServer, skip } from '@gatehouse/testing/nats-server';
import t from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { FIXED } from '../src/deployment/compose.ts';
import { deploymentFiles } from '../src/deployment/main.ts';
import { readDeployedServices, sharedSettings } from '../src/deployment/services.ts';
import { completeFiles } from '../src/generated-files.ts';
import { temporaryDir } from './gatehouse.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

t.test(
  'the files of the deployment fit the table and the settings; if not: npm run deployment',
  async (t) => {
    for (const [path, text] of Object.entries(await deploymentFiles())) {
      t.equal(await readFile(join(ROOT, path), 'utf8').catch(() => ''), text, path);
    }
  },
);

t.test('settings that docker-compose.yml has for every service are not written again', async (t) => {
  const compose = parse(await readFile(join(ROOT, 'docker-compose.yml'), 'utf8'), {
    merge: true,
    maxAliasCount: -1,
  });
  t.same(Object.keys(compose['x-service-environment']), FIXED);
  t.match(compose.services.users.environment, compose['x-service-environment']);
});

t.test('a service accepts the defaults and examples of .env.example', async (t) => {
  const example = await readFile(join(ROOT, 'deploy/docker/.env.example'), 'utf8');
  const shown = new Map(
    [...example.matchAll(/^# ([A-Z\d_]+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
  );
  const settings = sharedSettings(await readDeployedServices()).filter(({ setting }) =>
    shown.has(setting.name),
  );
  t.ok(settings.length > 30);
  for (const { setting } of settings)
    t.doesNotThrow(() => setting.read(shown.get(setting.name)), setting.name);
});

t.test('a part of a file is written between its lines only', async (t) => {
  const path = 'deploy/docker/Caddyfile';
  const before = await readFile(join(ROOT, path), 'utf8');
  const after = (await completeFiles([{ path, part: 'routes', text: 'NEW $& \n' }]))[path] ?? '';
  const [head, tail] = [/^[\s\S]*begin routes:.*\n/, /[^\n]*end routes[\s\S]*$/].map(
    (part) => part.exec(before)?.[0],
  );
  t.equal(after, `${head}NEW $& \n${tail}`);
  await t.rejects(
    completeFiles([{ path, part: 'other', text: '' }]),
    /no lines "begin other:" and "end other"/,
  );
});

t.test('a service has the URL of each service whose internal routes it may call', async (t) => {
  for (const { name, calls } of await readDeployedServices()) {
    for (const callee of servicesCallableBy(name)) t.ok(calls.includes(callee), `${name} calls ${callee}`);
  }
});

const ENTRY = `
  billing: {
    prefixes: ['/api/v1/invoices', '/openapi/billing.json'],
    internalRoutes: { '/internal/billing/erasures': ['users'] },
    eventConsumers: [{ reader: 'items', name: 'items_invoices', filter: 'billing.invoice.*' }],
    process: { reason: 'It is slow.', options: ['--max-semi-space-size=8'], environment: { UV_THREADPOOL_SIZE: '8' } },
  },`;

const SERVICE = `
import { described, integer, secret } from '@gatehouse/core/config';
import { serviceUrlSetting } from '@gatehouse/server/service-settings';
import { resourceSettings } from '@gatehouse/api/resource/config';

const settings = {
  ...resourceSettings('billing'),
  usersUrl: serviceUrlSetting('users'),
  bankKey: described('The key of the bank.', secret('BILLING_BANK_KEY')),
  days: described('After how many days an invoice is due.', integer('BILLING_DAYS', { min: 1, max: 90, default: 14 })),
};

export const program = { name: 'billing', settings };
`;

/** What the command writes in a copy of the repository to whose table the entry is added. */
function writeWithBilling(t: Parameters<typeof temporaryDir>[0]): (path: string) => string {
  const copy = temporaryDir(t);
  for (const entry of ['packages', 'services', 'deploy', 'docker-compose.yml', 'package.json']) {
    const filter = (path: string) => !/\/(?:test|bench|\.cache|\.tap)$/.test(path);
    cpSync(join(ROOT, entry), join(copy, entry), { recursive: true, verbatimSymlinks: true, filter });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const table = join(copy, 'packages/core/src/services.ts');
  writeFileSync(table, readFileSync(table, 'utf8').replace('const TABLE = {', `$&${ENTRY}`));
  mkdirSync(join(copy, 'services/billing/src'), { recursive: true });
  symlinkSync('../items/node_modules', join(copy, 'services/billing/node_modules'));
  writeFileSync(join(copy, 'services/billing/src/service.ts'), SERVICE);
  execFileSync(process.execPath, ['deploy/local/src/deployment/main.ts'], { cwd: copy });
  return (path) => readFileSync(join(copy, path), 'utf8');
}

t.test('a new service is an entry in the table, beside its own folder', async (t) => {
  const read = writeWithBilling(t);

  t.match(
    read('deploy/docker/Caddyfile'),
    `
		@billing path /api/v1/invoices /api/v1/invoices/* /openapi/billing.json /openapi/billing.json/*
		handle @billing {
			vars service billing
			import pass_on
		}
`,
  );

  const { services, networks } = parse(read('docker-compose.yml'), { merge: true, maxAliasCount: -1 });
  const { environment, ...billing } = services.billing;
  t.match(billing, {
    command: ['node', '--max-semi-space-size=8', 'services/billing/src/service.ts'],
    networks: ['edge', 'billing-data'],
    restart: 'unless-stopped',
  });
  t.match(environment, {
    UV_THREADPOOL_SIZE: '8',
    IDENTITY_URL: 'http://identity:3000',
    USERS_URL: 'http://users:3000',
    NATS_URL: /^nats:\/\/billing:\$\{BILLING_NATS_PASSWORD:\?.*\}@nats:4222$/,
    BILLING_MONGODB_URI: /^\$\{BILLING_MONGODB_URI:\?/,
    BILLING_CLIENT_SECRET: /^\$\{BILLING_CLIENT_SECRET:\?/,
    BILLING_BANK_KEY: /^\$\{BILLING_BANK_KEY:\?/,
    BILLING_DAYS: /^\$\{BILLING_DAYS:-\}$/,
    TRUSTED_PROXIES: /EDGE_SUBNET/,
    LOG_LEVEL: /LOG_LEVEL/,
  });
  t.notOk('ITEMS_URL' in environment, 'only the services that it calls');
  const compose = read('docker-compose.yml') + read('deploy/docker/.env.example');
  t.notMatch(compose, '_CLIENT_ASSERTION_', 'services have secrets there');
  t.match(services, {
    identity: { environment: { BILLING_CLIENT_SECRET: /^\$\{BILLING_CLIENT_SECRET:\?/ } },
    users: { environment: { BILLING_URL: 'http://billing:3000' } },
    dashboard: { environment: { BILLING_URL: 'http://billing:3000' } },
    mongo: { environment: { BILLING_MONGODB_URI: /BILLING_MONGODB_URI/ } },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Compose
    nats: { environment: { BILLING_NATS_PASSWORD: '"${BILLING_NATS_PASSWORD}"' } },
  });
  t.ok(services.caddy.depends_on.includes('billing'));
  t.ok(services.mongo.networks.includes('billing-data'));
  for (const server of ['nats', 'nats-1', 'nats-2'])
    t.ok('billing-data' in services[server].networks, server);
  t.same(networks['billing-data'], { internal: true });

  const inKubernetes = (file: string) =>
    parseAllDocuments(read(`deploy/kubernetes/${file}.yaml`))
      .map((it) => it.toJS())
      .filter(({ metadata }) => metadata.name === 'billing')
      .map(({ kind }) => kind);
  t.same(inKubernetes('base/services'), ['ServiceAccount', 'Deployment', 'Service']);
  t.match(read('deploy/kubernetes/base/services.yaml'), 'name: BILLING_CLIENT_ASSERTION_SUBJECT');
  t.same(inKubernetes('base/routes'), ['HTTPRoute']);
  t.same(inKubernetes('base/service-policies'), ['NetworkPolicy']);
  t.same(inKubernetes('production/scaling'), ['HorizontalPodAutoscaler', 'PodDisruptionBudget']);

  t.match(read('deploy/kubernetes/production/migrations.yaml'), / name: billing-migrations\n/);
  t.match(read('deploy/helm/templates/production-migrations.yaml'), / name: billing-migrations-\{\{/);
  const { BILLING_DAYS } = JSON.parse(read('deploy/helm/values.schema.json')).properties.settings.properties;
  t.match(BILLING_DAYS, { type: 'string', description: /an invoice is due/ });

  const [job] = parse(read('deploy/observability/prometheus.yml')).scrape_configs;
  t.ok(job.dns_sd_configs[0].names.includes('billing'));
  t.match(read('deploy/observability/rules.yml'), /absent\(gatehouse_ready\{service="billing"\}\)/);

  const example = read('deploy/docker/.env.example');
  t.match(parseEnv(example), {
    BILLING_CLIENT_SECRET: 'SECRET',
    BILLING_NATS_PASSWORD: 'SECRET',
    BILLING_BANK_KEY: 'SECRET',
    BILLING_MONGODB_URI: 'mongodb://billing:SECRET@mongo:27017/billing',
  });
  t.match(
    example,
    '\n# After how many days an invoice is due. A whole number from 1 to 90.\n# BILLING_DAYS=14\n',
  );

  const [account] = /^ {2}BILLING \{\n[\s\S]*?^ {2}\}$/m.exec(read('deploy/docker/nats.conf')) ?? [];
  for (const text of [
    '"billing.>"',
    '"$JS.API.STREAM.CREATE.BILLING"',
    '"$JS.API.CONSUMER.CREATE.BILLING.items_invoices.>"',
    '"analytics.usage.billing"',
    '{ service: "$JS.ACK.BILLING.items_invoices.>", accounts: [ITEMS] }',
  ]) {
    t.match(account, text);
  }
  t.notMatch(account, 'jobs.');

  t.test('the configuration of NATS', { skip }, async () => {
    const passwords = Object.keys(services.nats.environment).map((name) => [name, '"1e3"']);
    const file = join(temporaryDir(t), 'nats.conf');
    writeFileSync(file, read('deploy/docker/nats.conf'));
    const env = { ...process.env, ...Object.fromEntries(passwords) };
    execFileSync(natsServer ?? 'nats-server', ['-t', '-c', file], { env, stdio: 'pipe' });
  });
});

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';

const root = resolve(import.meta.dirname, '../../..');
const caddyfile = readFileSync(resolve(root, 'deploy/docker/Caddyfile'), 'utf8');
const natsConf = readFileSync(resolve(root, 'deploy/docker/nats.conf'), 'utf8');
const compose = readFileSync(resolve(root, 'docker-compose.yml'), 'utf8');
// Found by its path as they are, since this folder is no package that could depend on another.
const { SERVICES }: { SERVICES: Record<string, { prefixes: readonly string[] }> } = await import(
  resolve(root, 'packages/kit/src/services.ts')
);
const names = Object.keys(SERVICES);

/** The paths of each named matcher, such as `@users path /v1/users /v1/users/*`. */
function pathMatchers(): Record<string, string[]> {
  const lines = caddyfile.matchAll(/^\s*@(\w+) path (.+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', paths = '']) => [name, paths.trim().split(/\s+/)]));
}

/** To which service each named matcher's requests go. */
function targets(): Record<string, string> {
  const handles = caddyfile.matchAll(/handle @(\w+) \{\s*vars service (\w+)\s*import pass_on\s*\}/g);
  return Object.fromEntries([...handles].map(([, matcher = '', service = '']) => [matcher, service]));
}

/** The text of each entry below `services:`. */
function composeServices(): Map<string, string> {
  const [, section = ''] = /^services:\n((?:(?: .*)?\n)*)/m.exec(compose) ?? [];
  const entries = section.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n)*)/gm);
  return new Map([...entries].map(([, name = '', text = '']) => [name, text]));
}

t.test('the edge passes on the public prefixes, by whole segments, and nothing else', async (t) => {
  const expected = Object.entries(SERVICES).map(([service, { prefixes }]) => [
    service,
    prefixes.flatMap((prefix) => (prefix === '/' ? [prefix] : [prefix, `${prefix}/*`])),
  ]);
  t.same(pathMatchers(), Object.fromEntries(expected));
});

t.test('each matcher leads to the service that has the prefixes', async (t) => {
  t.same(targets(), { ...Object.fromEntries(names.map((name) => [name, name])), person: 'dashboard' });
});

t.test('an unknown address is a page for those who accept HTML, after all matchers', async (t) => {
  const [, matcher = ''] = /@person \{\n([^}]*)\}/.exec(caddyfile) ?? [];
  t.same(
    matcher.trim().split(/\n\s*/),
    [
      'method GET HEAD',
      'header Accept *text/html*',
      'not path /health /health/* /metrics /metrics/* /internal /internal/*',
    ],
    'all of these at once',
  );
  const handles = [...caddyfile.matchAll(/^\t\thandle (?:@(\w+) )?\{$/gm)].map(([, name]) => name);
  t.same(handles.slice(-2), ['person', undefined]);
});

t.test('the documentation is in the image, without its pictures', async (t) => {
  const read = (path: string) => readFileSync(resolve(root, path), 'utf8').split('\n');
  t.ok(read('deploy/docker/Dockerfile').includes('COPY docs docs'));
  const ignored = read('.dockerignore');
  t.ok(ignored.indexOf('!docs') > ignored.indexOf('*'));
  t.ok(ignored.indexOf('docs/screenshots') > ignored.indexOf('!docs'));
});

t.test('no request is passed on by another way than the matchers', async (t) => {
  t.equal(caddyfile.match(/^\s*reverse_proxy\b/gm)?.length, 1, 'one reverse_proxy, in the snippet');
  // And unknown addresses that a person asks for, which the dashboard answers with a page.
  t.equal(caddyfile.match(/import pass_on/g)?.length, Object.keys(targets()).length);
  for (const path of ['/internal', '/health', '/metrics']) {
    t.notOk(
      Object.values(pathMatchers())
        .flat()
        .some((matched) => matched.startsWith(path)),
      path,
    );
  }
});

t.test(
  'every service is in docker-compose.yml, with a database, secrets and a network of its own',
  async (t) => {
    const services = composeServices();
    const networksOf = (name: string) =>
      /^ {4}networks: \[(.*)\]$/m.exec(services.get(name) ?? '')?.[1]?.split(', ');
    t.ok(names.length > 0, 'there are services');
    t.match(services.get('caddy'), `depends_on: [${names.join(', ')}]`);
    for (const name of names) {
      const text = services.get(name);
      t.match(text, new RegExp(`command: \\[node, (--[\\w=-]+, )*services/${name}/src/main\\.ts\\]`), name);
      const uri = `${name.toUpperCase()}_MONGODB_URI`;
      t.match(text, `      ${uri}: &${name}-mongodb-uri `, uri);
      t.match(services.get('mongo'), `      ${uri}: *${name}-mongodb-uri\n`, 'MongoDB makes its user');
      t.same(networksOf(name), ['edge', `${name}-data`], name);
      // The dashboard takes part in no events.
      const stores = name === 'dashboard' ? ['mongo'] : ['mongo', 'nats'];
      for (const store of stores) t.ok(networksOf(store)?.includes(`${name}-data`), store);
      const password = `${name.toUpperCase()}_NATS_PASSWORD`;
      if (name !== 'dashboard') {
        t.match(text, `      NATS_URL: nats://${name}:\${${password}:?`, password);
        t.match(services.get('nats'), `      ${password}: '"\${${password}}"'\n`, `${password}, quoted`);
        t.match(natsConf, `        user: ${name}\n        password: $${password}\n`, `the NATS user ${name}`);
      }
      if (name === 'identity') continue;
      const secret = `${name.toUpperCase()}_CLIENT_SECRET`;
      t.match(services.get('identity'), `      ${secret}: &${name}-client-secret `, secret);
      t.match(text, `      ${secret}: *${name}-client-secret\n`, secret);
    }
  },
);

t.test('.env.example has every required setting, and each of its settings goes somewhere', async (t) => {
  const example = readFileSync(resolve(root, 'deploy/docker/.env.example'), 'utf8');
  const names = [...example.matchAll(/^(?:# )?([A-Z][A-Z\d_]+)=/gm)].map(([, name = '']) => name);
  t.ok(names.length > 0, 'there are settings');
  for (const name of names) t.ok(compose.includes(`\${${name}:`), name);
  const required = [...compose.matchAll(/\$\{([A-Z\d_]+):\?/g)].map(([, name = '']) => name);
  for (const name of new Set(required)) t.ok(names.includes(name), `${name} is in it`);
});

t.test('only the edge publishes ports, and the databases are on internal networks only', async (t) => {
  const publishing = [...composeServices()].filter(([, text]) => /^ {4}ports:/m.test(text));
  t.same(
    publishing.map(([name]) => name),
    ['caddy'],
  );
  const networksOf = (text = '') => /^ {4}networks: \[(.*)\]$/m.exec(text)?.[1]?.split(', ') ?? [];
  const networks = ['mongo', 'nats'].flatMap((name) => networksOf(composeServices().get(name)));
  t.ok(networks.length > 0, 'they are on networks');
  for (const network of networks) {
    t.match(compose, new RegExp(`^ {2}${network}:\\n {4}internal: true$`, 'm'), `${network} is internal`);
  }
});

t.test('no two services share a network besides the edge', async (t) => {
  // On another, a service would call from an address outside TRUSTED_PROXIES and be refused as plain HTTP.
  const networksOf = (name: string) =>
    /^ {4}networks: \[(.*)\]$/m.exec(composeServices().get(name) ?? '')?.[1]?.split(', ') ?? [];
  const others = names.flatMap((name) => networksOf(name).filter((network) => network !== 'edge'));
  t.same(others, [...new Set(others)]);
  for (const name of names) t.ok(networksOf(name).includes('edge'), `${name} is on the edge network`);
});

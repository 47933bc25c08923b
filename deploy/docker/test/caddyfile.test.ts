import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const caddyfile = readFileSync(resolve(root, 'deploy/docker/Caddyfile'), 'utf8');
const compose = readFileSync(resolve(root, 'docker-compose.yml'), 'utf8');
const containers: Record<string, { networks: string[]; ports?: string[]; profiles?: string[] }> = parse(
  compose,
  {
    merge: true,
  },
).services;
// Found by its path as they are, since this folder is no package that could depend on another.
const { SERVICES }: { SERVICES: Record<string, { prefixes: readonly string[] }> } = await import(
  resolve(root, 'packages/core/src/services.ts')
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

t.test('errors of the edge have Retry-After', async (t) => {
  const [, errors = ''] = /\thandle_errors \{\n(.*?)\n\t\}/s.exec(caddyfile) ?? [];
  t.match(
    errors,
    /@unavailable expression \{http\.error\.status_code\} >= 502\s+header @unavailable Retry-After 5/,
  );
});

t.test(
  'every path that the Dockerfile copies is in the image, and the documentation without its pictures',
  async (t) => {
    const read = (path: string) => readFileSync(resolve(root, path), 'utf8').split('\n');
    t.ok(read('deploy/docker/Dockerfile').includes('COPY docs docs'));
    const ignored = read('.dockerignore');
    t.ok(ignored.indexOf('!docs') > ignored.indexOf('*'));
    t.ok(ignored.indexOf('docs/screenshots') > ignored.indexOf('!docs'));
    const copied = read('deploy/docker/Dockerfile').flatMap(
      (line) => /^COPY ([\w.-]*\w) /.exec(line)?.[1] ?? [],
    );
    t.same(copied, ['package.json', 'packages', 'services', 'docs']);
    for (const path of copied) t.ok(ignored.includes(`!${path}`), path);
  },
);

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

t.test('.env.example has every required setting, and each of its settings goes somewhere', async (t) => {
  const example = readFileSync(resolve(root, 'deploy/docker/.env.example'), 'utf8');
  const names = [...example.matchAll(/^(?:# )?([A-Z][A-Z\d_]+)=/gm)].map(([, name = '']) => name);
  t.ok(names.length > 0, 'there are settings');
  // Compose itself reads COMPOSE_PROFILES.
  for (const name of names.filter((it) => it !== 'COMPOSE_PROFILES'))
    t.ok(compose.includes(`\${${name}:`), name);
  const required = [...compose.matchAll(/\$\{([A-Z\d_]+):\?/g)].map(([, name = '']) => name);
  for (const name of new Set(required)) t.ok(names.includes(name), `${name} is in it`);
});

t.test(
  'only the edge publishes ports beyond this machine, and the databases are on internal networks only',
  async (t) => {
    const publishing = Object.entries(containers).filter(([, { ports }]) => ports !== undefined);
    t.same(
      publishing.map(([name]) => name),
      ['caddy', 'prometheus', 'grafana'],
    );
    const [, metricsPort = ''] =
      /^http:\/\/:\{\$METRICS_PORT:(\d+)\} \{\n\tmetrics \/metrics$/m.exec(caddyfile) ?? [];
    t.ok(
      metricsPort && !`${containers.caddy?.ports}`.includes(metricsPort),
      'the metrics of the edge stay inside',
    );
    for (const name of ['prometheus', 'grafana']) {
      t.same(containers[name]?.profiles, ['observability']);
      for (const port of containers[name]?.ports ?? []) t.match(port, /^127\.0\.0\.1:/, name);
    }
    t.same(containers.grafana?.networks, ['observability'], 'it reaches Prometheus alone');
    for (const store of ['mongo', 'nats', 'nats-1', 'nats-2']) {
      const listed = containers[store]?.networks ?? [];
      const networks = Array.isArray(listed) ? listed : Object.keys(listed);
      t.ok(networks.length > 0, `${store} is on networks`);
      for (const network of networks) t.match(parse(compose).networks[network], { internal: true }, network);
    }
  },
);

t.test('no two services share a network besides the edge', async (t) => {
  // On another, a service would call from an address outside TRUSTED_PROXIES and be refused as plain HTTP.
  const others = names.flatMap((name) => containers[name]?.networks.filter((it) => it !== 'edge') ?? []);
  t.same(others, [...new Set(others)]);
  t.equal(others.length, names.length, 'each has one of its own');
  for (const name of names)
    t.ok(containers[name]?.networks.includes('edge'), `${name} is on the edge network`);
});

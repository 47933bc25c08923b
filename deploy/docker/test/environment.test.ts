import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import t from 'tap';
import { parse } from 'yaml';

const root = resolve(import.meta.dirname, '../../..');
const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
  merge: true,
  maxAliasCount: -1,
}) as {
  services: Record<
    string,
    { command?: string[]; environment: Record<string, string>; image: string; build?: unknown }
  >;
};
/** Those that run this repository's code, by name. */
const own = Object.entries(services).filter(([name, { command }]) =>
  command?.includes(`services/${name}/src/service.ts`),
);

t.test('all run one image, which is built once', async (t) => {
  const [image, ...others] = new Set(own.map(([, service]) => service.image));
  t.ok(image);
  t.same(others, []);
  // Built for each, it would be six images of one name, and the next `up` would replace what runs another than the last.
  t.same(
    own.filter(([, { build }]) => build !== undefined).map(([name]) => name),
    ['identity'],
  );
});

t.test('what the image is built from is sent to the builder', async (t) => {
  const sent = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const copies = readFileSync(join(root, 'deploy/docker/Dockerfile'), 'utf8').matchAll(
    /^COPY ([\w./-]+) \S+$/gm,
  );
  const sources = [...copies].map(([, source = '']) => source).filter((source) => source !== '.');
  t.ok(sources.length > 3);
  for (const source of sources) t.ok(sent.includes(`!${source}`), source);
});

t.test('.env.example tells of every variable of docker-compose.yml', async (t) => {
  const example = readFileSync(join(root, 'deploy/docker/.env.example'), 'utf8');
  const compose = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  const names = new Set([...compose.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = '']) => name));
  t.ok(names.size > 60);
  for (const name of names) t.match(example, new RegExp(`^(?:# )?${name}=`, 'm'), name);
});

t.test('the guide reads from a .env in which every example counts', async (t) => {
  const example = readFileSync(join(root, 'deploy/docker/.env.example'), 'utf8');
  const guide = readFileSync(join(root, 'docs/guides/deploy-with-docker.md'), 'utf8');
  const [command] = /^(?:export|\.) .*\.env\)?$/m.exec(guide) ?? [];
  const cwd = t.testdir({ '.env': example.replaceAll(/^# (?=[A-Z\d_]+=)/gm, '') });
  const script = `${command}\necho "$PUBLIC_URL $IDENTITY_MACHINE_ID"`;
  t.equal(execFileSync('sh', ['-ec', script], { cwd }).toString(), 'https://localhost first-machine\n');
});

/** The settings that make-env.sh writes, run in a directory of its own so that no .env of this checkout is touched. */
function makeEnv(t: { testdir(): string }, publicUrl: string): NodeJS.Dict<string> {
  const directory = t.testdir();
  const docker = join(directory, 'deploy/docker');
  mkdirSync(docker, { recursive: true });
  for (const file of ['make-env.sh', '.env.example']) {
    cpSync(join(root, 'deploy/docker', file), join(docker, file));
  }
  execFileSync(join(docker, 'make-env.sh'), [publicUrl]);
  return parseEnv(readFileSync(join(directory, '.env'), 'utf8'));
}

/** A value with its variables, as Compose interpolates `${NAME}`, `${NAME:-default}` and `${NAME:?message}`. */
function interpolate(value: string, env: NodeJS.Dict<string>): string {
  return value.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name, kind, rest) => {
    const found = env[name];
    if (kind === undefined || (found !== undefined && found !== '')) return found ?? '';
    if (kind === '?') throw new Error(rest);
    return rest;
  });
}

for (const publicUrl of ['https://localhost', 'https://id.example.com:8443']) {
  t.test(`a fresh .env for ${publicUrl} has settings that every service accepts`, async (t) => {
    const env = makeEnv(t, publicUrl);
    t.ok(own.length >= 6);
    for (const [name, { environment }] of own) {
      const { program } = await import(join(root, 'services', name, 'src/service.ts'));
      const values = Object.entries(environment).map(([key, value]) => [key, interpolate(value, env)]);
      t.doesNotThrow(() => program.readConfig(Object.fromEntries(values)), name);
    }
  });
}

t.test(
  'a service is given its own secrets only, and identity those by which it knows the others',
  async (t) => {
    const secret = /_(?:MONGODB_URI|CLIENT_SECRET|MASTER_KEY|NATS_PASSWORD)\b/;
    for (const [name, { environment }] of own) {
      const given = Object.values(environment).filter((value) => secret.test(value));
      t.ok(given.length > 0, name);
      for (const value of given) {
        const isOwn = value.includes(`\${${name.toUpperCase()}_`);
        t.ok(isOwn || (name === 'identity' && value.includes('_CLIENT_SECRET')), `${name}: ${value}`);
      }
    }
  },
);

t.test('every secret of a fresh .env is random, and nothing else is', async (t) => {
  const [first, second] = [makeEnv(t, 'https://localhost'), makeEnv(t, 'https://localhost')];
  const example = readFileSync(join(root, 'deploy/docker/.env.example'), 'utf8');
  for (const [name, value] of Object.entries(parseEnv(example))) {
    const isSecret = value === 'SECRET' || value?.includes(':SECRET@');
    if (isSecret) {
      t.match(first[name], /[0-9a-f]{64}/, name);
      t.not(first[name], second[name], `${name} is different each time`);
    } else {
      t.equal(first[name], value, name);
    }
  }
});

import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { parseEnv, promisify } from 'node:util';
import { SERVICE_NAMES } from '@gatehouse/core/services';
import { until } from '@gatehouse/testing/processes';
import type { Test } from 'tap';
import { checkout } from '../checkout.ts';
import { NAMES, type Name } from '../cluster.ts';
import { temporaryDir } from '../gatehouse.ts';
import { prepareWorkload } from '../workload.ts';

// docker-compose.yml in a clone of this repository, run by the commands of the guide.

const run = promisify(execFile);
const BASE = 'https://localhost';
const GUIDE = 'docs/guides/deploy-with-docker.md';
/** Also the name of the folder, from which Compose takes it. */
const PROJECT = 'gatehouse-test';
const HEALTHY_MS = 180_000;

/** Why these tests cannot run; false when they can. */
export const skip =
  spawnSync('docker', ['compose', 'version']).status !== 0 && 'there is no Docker Compose 2 on this machine';

/** Whether the image of a setting is one that only stands in for it (packages/testing/stand-ins). */
export const isStandIn = (setting: string) => process.env[setting]?.startsWith('gatehouse-stand-in') === true;

/** The embedded engine knows no users, and acknowledges a write that must survive with w=1 only. */
const WITHOUT_USERS = {
  services: Object.fromEntries(
    SERVICE_NAMES.map((name) => {
      const setting = `${name.toUpperCase()}_MONGODB_URI`;
      return [name, { environment: { [setting]: `mongodb://mongo:27017/${name}?w=1` } }];
    }),
  ),
};

export type Project = Awaited<ReturnType<typeof createProject>>;
type Container = { ID: string; Service: string; State: string; Health: string };

/** A clone of the working tree, with nothing started, whose containers and volumes are removed after the test. */
export async function createProject(t: Test) {
  const folder = temporaryDir(t);
  const [upstream, home] = [join(folder, 'upstream'), join(folder, 'home')];
  const tree = join(folder, PROJECT);
  mkdirSync(home);
  const author = { NAME: 'Test', EMAIL: 'test@example.org' };
  const given = ['PATH', 'DOCKER_HOST', 'NODE_IMAGE', 'CADDY_IMAGE', 'MONGO_IMAGE', 'NATS_IMAGE'];
  const env: NodeJS.ProcessEnv = {
    ...Object.fromEntries(given.map((name) => [name, process.env[name]])),
    ...Object.fromEntries(
      Object.entries(author).flatMap(([key, value]) => [
        [`GIT_AUTHOR_${key}`, value],
        [`GIT_COMMITTER_${key}`, value],
      ]),
    ),
    HOME: home,
    // Where Docker looks for Compose.
    DOCKER_CONFIG: process.env.DOCKER_CONFIG ?? join(homedir(), '.docker'),
    ...(spawnSync('docker', ['buildx', 'version']).status === 0 ? {} : { DOCKER_BUILDKIT: '0' }),
    // So that no image of this name on the machine is replaced.
    GATEHOUSE_IMAGE: PROJECT,
    // All requests have one address and mostly one credential.
    RATE_LIMIT: 'off',
    // Messages are accepted then, and fail since their recipient has no number.
    NOTIFICATIONS_SMS_URL: 'https://sms.invalid/messages',
    NOTIFICATIONS_SMS_FROM: '+49301',
  };
  // What a run that was interrupted has left: its keys were sealed under another master key.
  await run('docker', ['compose', '--project-name', PROJECT, 'down', '--volumes'], { cwd: folder, env });
  checkout(upstream);
  const git = (cwd: string, ...args: string[]) => execFileSync('git', args, { cwd, env, stdio: 'pipe' });
  const commit = () => {
    git(upstream, 'add', '--all');
    git(upstream, 'commit', '--quiet', '--message', 'A version');
  };
  git(upstream, 'init', '--quiet');
  commit();
  git(folder, 'clone', '--quiet', upstream, tree);
  if (isStandIn('MONGO_IMAGE')) {
    writeFileSync(join(tree, 'without-users.yml'), JSON.stringify(WITHOUT_USERS));
    env.COMPOSE_FILE = 'docker-compose.yml:without-users.yml';
  }

  async function sh(script: string): Promise<string> {
    const options = { cwd: tree, env, maxBuffer: 2 ** 26 };
    const { stdout } = await run('bash', ['-e', '-o', 'pipefail', '-c', script], options);
    return stdout.trim();
  }
  t.teardown(() =>
    sh('docker compose down --volumes --timeout 5; docker image rm --force "$GATEHOUSE_IMAGE"'),
  );

  async function containers(service = ''): Promise<Container[]> {
    const lines = await sh(`docker compose ps --all --format json ${service}`);
    return lines
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
  const settings = () => parseEnv(readFileSync(join(tree, '.env'), 'utf8'));

  return {
    ...{ tree, upstream, home, sh, containers, settings, commit, base: BASE },
    guide: () => readFileSync(join(tree, GUIDE), 'utf8'),

    /** Resolves when every container runs, and all with a health check are healthy. */
    async healthy(): Promise<void> {
      const isUp = ({ State, Health }: Container) => State === 'running' && ['', 'healthy'].includes(Health);
      await until(async () => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        const all = await containers();
        return all.length > SERVICE_NAMES.length && all.every(isUp);
      }, HEALTHY_MS);
    },

    /** Lets this process trust the certificate that the guide has its reader fetch. */
    trust(): void {
      const root = readFileSync(join(home, 'gatehouse-root.crt'), 'utf8');
      tls.setDefaultCACertificates([...tls.getCACertificates('default'), root]);
    },

    machine(): Record<string, string> {
      const { IDENTITY_MACHINE_ID = '', IDENTITY_MACHINE_SECRET = '' } = settings();
      return { client_id: IDENTITY_MACHINE_ID, client_secret: IDENTITY_MACHINE_SECRET };
    },

    /** Changes a line of .env. */
    set(name: string, value: string): void {
      const file = join(tree, '.env');
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`));
    },
  };
}

/** Requests of several clients at once through the edge, which go on until stop(), or the end of the test. */
export async function startLoad(t: Test, project: Project) {
  const origins = Object.fromEntries(NAMES.map((name) => [name, BASE])) as Record<Name, string>;
  const failures: { at: number; what: string }[] = [];
  const onFailure = (what: string) => failures.push({ at: performance.now(), what });
  const workload = await prepareWorkload(origins, onFailure, project.machine());
  const begin = performance.now();
  workload.start();
  t.teardown(() => workload.stop());
  return {
    ...workload,
    failures,
    /** Returns a sentence on what there was. */
    async stop(): Promise<string> {
      await workload.stop();
      const requests = workload.requests();
      const rate = Math.round((requests / (performance.now() - begin)) * 1000);
      const share = ((failures.length / requests) * 100).toFixed(2);
      return `${requests} requests, ${rate} a second, ${share} % failed`;
    },
  };
}

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort, until } from '@gatehouse/testing/processes';
import type { Test } from 'tap';
import { temporaryDir } from './gatehouse.ts';

const FOLDER = join(import.meta.dirname, 'foreign-servers');
const PACKAGES = resolve(import.meta.dirname, '../../../packages');
const GO_MODULE = join(PACKAGES, 'verify-go');
const HOST = '127.0.0.1';

/** The API as Gatehouse knows it, and the client of its servers. */
export type ForeignApi = { GATEHOUSE: string; AUDIENCE: string; CLIENT_ID: string; CLIENT_SECRET: string };
export type StalePolicy = 'introspect' | 'refuse' | 'accept';
/** A process of somebody else's API. */
export type ForeignServer = {
  framework: string;
  stale: StalePolicy;
  /** The status of a request with this bearer token or API key. */
  statusOf(credential: string): Promise<number>;
};

type Command = { framework: string; program: string; args: string[] };

/**
 * The servers with which the verifiers of all languages are tested. What they need is installed once; a language that is not on this
 * machine is left out with a comment.
 */
export async function prepareForeignServers(t: Test) {
  const commands: Command[] = ['Express', 'Fastify'].map((framework) => ({
    framework,
    program: process.execPath,
    args: [join(FOLDER, 'server.ts')],
  }));
  const [python, go] = await Promise.all([installPython(temporaryDir(t)), buildGo(temporaryDir(t))]);
  for (const [framework, installed, args] of [
    ['FastAPI', python, [join(FOLDER, 'server.py')]],
    ['net/http', go, []],
  ] as const) {
    if ('reason' in installed) t.comment(`${framework} is left out: ${installed.reason}`);
    else commands.push({ framework, program: installed.program, args: [...args] });
  }
  return {
    /** Starts a process of each framework for each of these policies. */
    async start(api: ForeignApi, policies: readonly StalePolicy[]): Promise<ForeignServer[]> {
      const started = policies.flatMap((stale) =>
        commands.map((command) => startServer(t, command, { ...api, STALE: stale })),
      );
      return Promise.all(started);
    },
  };
}

/** A program, or the reason why it is not on this machine. */
type Installed = { program: string } | { reason: string };
const run = promisify(execFile);
const firstLine = (error: unknown) => String(error).split('\n')[0];

/** A virtual environment with the package, as its README says. */
async function installPython(folder: string): Promise<Installed> {
  const program = join(folder, 'bin/python');
  try {
    await run('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))']);
    await run('python3', ['-m', 'venv', folder]);
    // The dependencies first: a registry that is away is no fault of the package.
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    await run(program, [...pip, 'fastapi', 'uvicorn', 'hatchling', 'httpx', 'joserfc']);
  } catch (error) {
    return { reason: `it needs Python 3.10 with venv, and packages: ${firstLine(error)}` };
  }
  const offline = ['--no-index', '--no-build-isolation'];
  await run(program, ['-m', 'pip', 'install', ...offline, join(PACKAGES, 'verify-python')]);
  return { program };
}

/** Builds the program as the README of the package says. */
async function buildGo(folder: string): Promise<Installed> {
  const go = (cwd: string, ...args: string[]) => run('go', args, { cwd });
  try {
    await go(GO_MODULE, 'mod', 'download');
  } catch (error) {
    return { reason: `it needs Go and its modules: ${firstLine(error)}` };
  }
  const name = 'github.com/gatehouse-id/verify-go';
  const program = join(folder, 'server');
  await copyFile(join(FOLDER, 'main.go'), join(folder, 'main.go'));
  await go(folder, 'mod', 'init', 'foreign');
  await go(folder, 'mod', 'edit', '-require', `${name}@v0.1.0`, '-replace', `${name}=${GO_MODULE}`);
  await go(folder, 'mod', 'tidy');
  await go(folder, 'build', '-o', program, '.');
  return { program };
}

async function startServer(
  t: Test,
  { framework, program, args }: Command,
  settings: ForeignApi & { STALE: StalePolicy },
): Promise<ForeignServer> {
  const port = await freePort();
  const env = { ...process.env, ...settings, FRAMEWORK: framework, PORT: String(port) };
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    output = `${output}${chunk}`.slice(-5000);
  });
  const ended = once(child, 'close');
  const statusOf = createClient(t, port);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${framework} ended: ${output}`);
    return statusOf('none').then(Boolean, () => false);
  }, 30_000);
  return { framework, stale: settings.STALE, statusOf };
}

/** Requests on connections that are kept alive, so that the servers have the processors to themselves. */
function createClient(t: Test, port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  t.teardown(() => agent.destroy());
  const statusOf = (credential: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { authorization: `Bearer ${credential}` };
      const sent = request({ agent, host: HOST, port, path: '/notes', headers }, (response) => {
        response.on('end', () => resolve(response.statusCode ?? 0)).resume();
      });
      sent.on('error', reject).end();
    });
  // A server may close an idle connection just as it is used again.
  return (credential: string) => statusOf(credential).catch(() => statusOf(credential));
}

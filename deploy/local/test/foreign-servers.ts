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
  const python = await installPython(temporaryDir(t));
  if ('reason' in python) t.comment(`FastAPI is left out: ${python.reason}`);
  else commands.push({ framework: 'FastAPI', ...python, args: [join(FOLDER, 'server.py')] });
  const go = await buildGo(temporaryDir(t));
  if ('reason' in go) t.comment(`net/http is left out: ${go.reason}`);
  else commands.push({ framework: 'net/http', ...go, args: [] });
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

/** Installs the package as its README says; returns the reason where there is no Python, or none of its packages. */
async function installPython(folder: string): Promise<{ program: string } | { reason: string }> {
  const run = promisify(execFile);
  const program = join(folder, 'bin', 'python');
  try {
    await run('python3', ['-m', 'venv', folder]);
    await run(program, [
      '-m',
      'pip',
      'install',
      '--quiet',
      join(PACKAGES, 'verify-python'),
      'fastapi',
      'uvicorn',
    ]);
    return { program };
  } catch (error) {
    return { reason: String((error as Error).message).split('\n', 1)[0] ?? '' };
  }
}

/** Builds the program as the README of the package says; returns the reason where there is no Go, or none of its modules. */
async function buildGo(folder: string): Promise<{ program: string } | { reason: string }> {
  const go = (cwd: string, ...args: string[]) => promisify(execFile)('go', args, { cwd });
  try {
    await go(GO_MODULE, 'mod', 'download');
  } catch (error) {
    return { reason: `it needs Go and its modules: ${String(error).split('\n')[0]}` };
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

/** Requests on connections that are kept alive, which is what leaves the processors to the servers. */
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

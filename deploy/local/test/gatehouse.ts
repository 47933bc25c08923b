import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonRequest } from '@gatehouse/testing/json-request';
import { freePort, type SpawnedNode, spawnNode, until } from '@gatehouse/testing/processes';
import type { Demo } from '../src/demo.ts';

type TestScope = { teardown(fn: () => unknown): void };

const MAIN = new URL('../src/main.ts', import.meta.url).pathname;

export type Gatehouse = {
  child: ChildProcess;
  port: number;
  base: string;
  demo: Demo;
  /** All it has printed, on both streams. */
  output(): string;
  /** Sends the signal and waits for the end; returns the exit status. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
};

export function temporaryDir(t: TestScope): string {
  const dir = mkdtempSync(join(tmpdir(), 'gatehouse-start-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** What npm start runs, with these settings over the test run's environment. */
export function spawnMain(
  env: Record<string, string | undefined>,
  args: readonly string[] = [],
): SpawnedNode {
  return spawnNode([MAIN, ...args], { MONGODB_URI: undefined, PUBLIC_URL: undefined, ...env });
}

/** Starts it and waits until it says that it is ready; throws with what it printed when it ends instead. */
export async function startGatehouse(
  t: TestScope,
  dataDir: string,
  env: Record<string, string | undefined> = {},
  args: readonly string[] = [],
): Promise<Gatehouse> {
  const port = Number(env.PORT ?? (await freePort()));
  const { child, ended, output } = spawnMain(
    {
      RATE_LIMIT: 'off',
      PORT: String(port),
      DATA_DIR: dataDir,
      ...env,
    },
    args,
  );
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until(() => {
    if (child.exitCode !== null) throw new Error(`it ended:\n${output()}`);
    return output().includes('is ready at');
  }, 60_000);
  return {
    child,
    port,
    base: `http://127.0.0.1:${port}`,
    demo: JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Demo,
    output,
    async end(signal = 'SIGTERM') {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}

export async function tokenOf({ base, demo }: { base: string; demo: Demo }): Promise<string> {
  const body = { grant_type: 'client_credentials', ...demo.machine };
  const response = await jsonRequest<{ access_token: string }>('POST', `${base}/oauth/token`, { body });
  return response.body.access_token;
}

export async function createUser(
  base: string,
  token: string,
  username: string,
): Promise<{ status: number; id: string }> {
  const body = { username, email: `${username}@example.org`, password: 'correct horse' };
  const response = await jsonRequest<{ id: string }>('POST', `${base}/v1/users`, { token, body });
  return { status: response.status, id: response.body.id };
}

export async function statusOf(url: string, token?: string): Promise<number> {
  const response = await fetch(
    url,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  );
  await response.body?.cancel();
  return response.status;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

export type SpawnedNode = {
  child: ChildProcess;
  /** Resolves when the process has ended and all its output has been read. */
  ended: Promise<unknown>;
  /** All it has written so far, on both streams. */
  output(): string;
};

/** Runs a script, alone or with arguments, in its own process. `env` adds to the test's environment; undefined removes a variable. */
export function spawnNode(
  script: string | readonly string[],
  env: Record<string, string | undefined>,
): SpawnedNode {
  const child = spawn(process.execPath, [script].flat(), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  return { child, ended: once(child, 'close'), output: () => output };
}

export type SpawnedService = SpawnedNode & {
  /** The status of /health/ready; 0 when there is no response. */
  readiness(): Promise<number>;
  /** Resolves when it is ready. Rejects with its output when it ends before, or after `limitMs`. */
  ready(limitMs?: number): Promise<void>;
};

/** Runs the process of a service as spawnNode() does, with a management port of its own unless `env` has one. */
export async function spawnService(
  script: string | readonly string[],
  env: Record<string, string | undefined>,
): Promise<SpawnedService> {
  const { HOST = '127.0.0.1', MANAGEMENT_PORT = String(await freePort()) } = env;
  const spawned = spawnNode(script, { ...env, MANAGEMENT_PORT });
  const { child, output } = spawned;
  const readiness = () =>
    fetch(`http://${HOST}:${MANAGEMENT_PORT}/health/ready`).then(
      ({ status }) => status,
      () => 0,
    );
  return {
    ...spawned,
    readiness,
    async ready(limitMs = 60_000) {
      const isReady = async () => {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error('it has ended');
        return (await readiness()) === 200;
      };
      await until(isReady, limitMs).catch((error: unknown) => {
        throw new Error(`the service is not ready:\n${output()}`, { cause: error });
      });
    },
  };
}

/**
 * A port on loopback that was free a moment ago, for servers that must know their port before they listen. The system gives
 * ports from 32768 upwards to connections and to listeners of port 0: one below them is taken by nobody meanwhile.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 32_768);
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return freePort();
  }
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Polls every 20 ms until the condition holds; throws when that takes longer than `limitMs`. */
export async function until(holds: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come to hold within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

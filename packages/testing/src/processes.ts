import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

export type SpawnedNode = {
  child: ChildProcess;
  /** Resolves when it is gone and all it wrote has been read. */
  ended: Promise<unknown>;
  /** All it has written so far, on both streams. */
  output(): string;
};

/** Runs a script, or one with arguments, as a process of its own, with these variables over the test's; undefined takes one away. */
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

/** A port on loopback that was free a moment ago, for what must know its port before it listens. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Asks every few milliseconds until it holds; throws when that takes longer than `limitMs`. */
export async function until(holds: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`did not come to hold within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { becomes } from './fixture.ts';
import { isAlive } from './processes.ts';

const PROGRAM = fileURLToPath(new URL('./database-holder.ts', import.meta.url));

/** A process that holds a database open, until it is killed or the test is over. */
export type Holder = { process: ChildProcess; uri: string; pid: number };

/** Starts another process that starts the database in `dataDir`. */
export async function startHolder(
  t: Test,
  dataDir: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Holder> {
  const child = spawn(process.execPath, [PROGRAM, dataDir], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { uri, pid } = JSON.parse(line);
  t.teardown(async () => {
    child.kill('SIGKILL');
    // Its files are removed next.
    await becomes(() => !isAlive(pid), 3_000);
  });
  return { process: child, uri, pid };
}

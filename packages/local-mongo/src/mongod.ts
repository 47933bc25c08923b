import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Launch } from './link.ts';

const GUARD = fileURLToPath(new URL('./mongod-guard.sh', import.meta.url));

/** How to run a mongod on a Unix socket alone, under a guard that ends it when this process is gone. */
export async function launchMongod(options: {
  kind: string;
  binary: string;
  dataDirectory: string;
  env: NodeJS.ProcessEnv;
}): Promise<Launch> {
  const { kind, dataDirectory, env } = options;
  const binary = resolve(options.binary);
  // Unlike the embedded engine, mongod does not make its own data directory.
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  return {
    kind,
    env,
    command: (socketPath) => [
      '/bin/sh',
      GUARD,
      binary,
      `--dbpath=${dataDirectory}`,
      // An address with a slash is a socket path; with no other address there is no TCP. The second,
      // customary socket goes to the same private directory instead of /tmp.
      `--bind_ip=${socketPath}`,
      `--unixSocketPrefix=${dirname(socketPath)}`,
      // By itself it would take half of the memory, which a laptop needs for other things.
      '--wiredTigerCacheSizeGB=0.5',
    ],
  };
}

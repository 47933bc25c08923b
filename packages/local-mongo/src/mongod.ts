import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LaunchSpec } from './provider.ts';

const GUARD = fileURLToPath(new URL('./mongod-guard.sh', import.meta.url));

/** How to run a mongod on a Unix socket only, under a guard that ends it when this process has ended. */
export async function launchMongod(options: {
  kind: string;
  binary: string;
  dataDirectory: string;
  env: NodeJS.ProcessEnv;
}): Promise<LaunchSpec> {
  const { kind, dataDirectory, env } = options;
  const binary = resolve(options.binary);
  // Unlike the embedded engine, mongod does not create its data directory.
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  return {
    kind,
    env,
    command: (socketPath) => [
      '/bin/sh',
      GUARD,
      binary,
      `--dbpath=${dataDirectory}`,
      // An address with a slash is a socket path; without any other address there is no TCP. mongod's default socket
      // goes to the same private directory instead of /tmp.
      `--bind_ip=${socketPath}`,
      `--unixSocketPrefix=${dirname(socketPath)}`,
      // The default is half of the memory, too much for a laptop.
      '--wiredTigerCacheSizeGB=0.5',
    ],
  };
}

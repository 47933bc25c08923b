import { join } from 'node:path';
import type { Logger } from '@gatehouse/core/logger';
import { type DebianFiles, debian13Files } from './debian-files.ts';

const LIBRARIES: DebianFiles = {
  packages: ['libc6', 'libstdc++6', 'libgcc-s1'],
  folder: 'usr/lib/{triplet}',
  name: 'debian-13-libraries',
  noun: "Debian 13's libraries",
  fetching: "Debian 13's C library for the embedded MongoDB, once (14 MB)",
};

/**
 * The dynamic loader and the C and C++ libraries of Debian 13, from the user's cache or else fetched through this system's
 * apt.
 * @throws ProviderError when this system is not Debian, or no archive can be reached
 */
export async function debian13Libraries(
  env: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<{ loader: string; directory: string }> {
  const directory = await debian13Files(LIBRARIES, env, logger);
  const loader = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2';
  return { loader: join(directory, loader), directory };
}

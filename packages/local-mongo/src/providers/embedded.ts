import { join } from 'node:path';
import type { Logger } from '@gatehouse/core/logger';
import { type DebianFiles, debian13Files } from '../debian-files.ts';
import { ENGINE_GLIBC, launchEngine, requireEngine } from '../engine.ts';
import { type Provider, ProviderError, requireUnixSockets } from '../provider.ts';

const LIBRARIES: DebianFiles = {
  packages: ['libc6', 'libstdc++6', 'libgcc-s1'],
  folder: 'usr/lib/{triplet}',
  name: 'debian-13-libraries',
  noun: "Debian 13's libraries",
  fetching: "Debian 13's C library for the embedded MongoDB, once (14 MB)",
};

/**
 * The embedded engine (the server's code as a library): on this system's C library or, if that is too old, on that of
 * Debian 13.
 */
export const embeddedEngine: Provider = {
  name: 'embedded',
  async prepare({ dataDirectory, env, logger }) {
    requireUnixSockets('The embedded engine');
    requireEngine();
    const launch = { kind: 'embedded engine', dataDirectory, env };
    if (process.platform !== 'linux') return launchEngine(launch);
    const version = glibcVersion();
    if (!version) throw new ProviderError('The embedded engine needs glibc, which this system does not use.');
    if (isAtLeast(version, ENGINE_GLIBC)) return launchEngine(launch);
    try {
      const { loader, directory } = await debian13Libraries(env, logger);
      const kind = 'embedded engine, with the newer C library that it needs';
      return launchEngine({ ...launch, kind, loader: [loader, '--library-path', directory] });
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      throw new ProviderError(
        `The embedded engine needs glibc ${ENGINE_GLIBC} and this system has ${version}. ${error.message}`,
      );
    }
  },
};

/** The version of the GNU C library in use, e.g. '2.36'; undefined with another C library (musl, macOS, Windows). */
export function glibcVersion(): string | undefined {
  const { report } = process;
  // Otherwise the report looks up the host name of every open connection.
  Object.assign(report, { excludeNetwork: true });
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/** Whether a version such as '2.36' is at least the wanted one. */
export function isAtLeast(version: string, wanted: string): boolean {
  return version.localeCompare(wanted, 'en', { numeric: true }) >= 0;
}

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

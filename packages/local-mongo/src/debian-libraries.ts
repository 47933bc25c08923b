import { access, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@gatehouse/kit/logger';
import { DEBIAN_KEYRING, fetchPackages } from './apt-packages.ts';
import { cacheDirectory } from './cache-directory.ts';
import { findExecutable } from './executable.ts';
import { ProviderError } from './provider.ts';

const PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1'];
const ABANDONED_AFTER_MS = 3_600_000;

const ARCHITECTURES: Record<string, { debian: string; triplet: string; loader: string }> = {
  x64: { debian: 'amd64', triplet: 'x86_64-linux-gnu', loader: 'ld-linux-x86-64.so.2' },
  arm64: { debian: 'arm64', triplet: 'aarch64-linux-gnu', loader: 'ld-linux-aarch64.so.1' },
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
  const architecture = ARCHITECTURES[process.arch];
  if (!architecture) throw new ProviderError(`Debian 13's libraries are not fetched for ${process.arch}.`);
  const cache = cacheDirectory(env);
  const directory = join(cache, `debian-13-libraries-${architecture.debian}`);
  const loader = join(directory, architecture.loader);
  // The directory is renamed into place, so it is complete if it exists.
  if (await exists(loader)) return { loader, directory };

  for (const tool of ['apt-get', 'dpkg-deb']) {
    if (!(await findExecutable(tool, env))) {
      throw new ProviderError(`Debian 13's libraries are fetched with ${tool}, which is not on the PATH.`);
    }
  }
  if (!(await exists(DEBIAN_KEYRING))) {
    throw new ProviderError(
      `Debian 13's libraries cannot be checked without ${DEBIAN_KEYRING} (the package debian-archive-keyring).`,
    );
  }
  logger.info({ directory }, "fetching Debian 13's C library for the embedded MongoDB, once (14 MB)");
  try {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    await removeAbandoned(cache);
    const work = await mkdtemp(join(cache, 'fetch-'));
    try {
      const wanted = { suite: 'trixie', architecture: architecture.debian, packages: PACKAGES };
      const root = await fetchPackages(wanted, work, env);
      await putInPlace(join(root, 'usr/lib', architecture.triplet), directory);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ProviderError(`Debian 13's libraries could not be fetched through apt: ${why}`);
  }
  return { loader, directory };
}

/** Renames the libraries into place, unless a concurrent start has already done so. */
async function putInPlace(libraries: string, directory: string): Promise<void> {
  try {
    await rename(libraries, directory);
  } catch (error) {
    if (!(await exists(directory))) throw error;
  }
}

/** Removes the leftovers of starts that were killed while fetching. */
async function removeAbandoned(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.startsWith('fetch-')) continue;
    const path = join(cache, name);
    const entry = await stat(path).catch(() => undefined);
    const abandoned = entry && Date.now() - entry.mtimeMs > ABANDONED_AFTER_MS;
    if (abandoned) await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

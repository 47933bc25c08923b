import { access, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@gatehouse/core/logger';
import { DEBIAN_KEYRING, fetchPackages } from './apt-packages.ts';
import { cacheDirectory } from './cache-directory.ts';
import { findExecutable } from './executable.ts';
import { ProviderError } from './provider.ts';

const ABANDONED_AFTER_MS = 3_600_000;
/** Debian's names of Node's architectures, and the names of their directories of libraries. */
const ARCHITECTURES: Record<string, { debian: string; triplet: string }> = {
  x64: { debian: 'amd64', triplet: 'x86_64-linux-gnu' },
  arm64: { debian: 'arm64', triplet: 'aarch64-linux-gnu' },
};

export type DebianFiles = {
  /** The packages of Debian 13. */
  packages: readonly string[];
  /** The folder of the unpacked packages that is kept, in which `{triplet}` stands for that of the architecture. */
  folder: string;
  /** The name of the folder in the user's cache, to which the architecture is added. */
  name: string;
  /** For messages: a noun in the plural, and what is being fetched. */
  noun: string;
  fetching: string;
};

/**
 * A folder with files of Debian 13, from the user's cache or else fetched through this system's apt.
 * @throws ProviderError when this system is not Debian, or no archive can be reached
 */
export async function debian13Files(
  { packages, folder, name, noun, fetching }: DebianFiles,
  env: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<string> {
  const architecture = ARCHITECTURES[process.arch];
  if (!architecture) throw new ProviderError(`${noun} are not fetched for ${process.arch}.`);
  const cache = cacheDirectory(env);
  const directory = join(cache, `${name}-${architecture.debian}`);
  // The directory is renamed into place, so it is complete if it exists.
  if (await exists(directory)) return directory;

  for (const tool of ['apt-get', 'dpkg-deb']) {
    if (findExecutable(tool, env) === undefined) {
      throw new ProviderError(`${noun} are fetched with ${tool}, which is not on the PATH.`);
    }
  }
  if (!(await exists(DEBIAN_KEYRING))) {
    throw new ProviderError(
      `${noun} cannot be checked without ${DEBIAN_KEYRING} (the package debian-archive-keyring).`,
    );
  }
  logger.info({ directory }, `fetching ${fetching}`);
  try {
    await mkdir(cache, { recursive: true, mode: 0o700 });
    await removeAbandoned(cache);
    const work = await mkdtemp(join(cache, 'fetch-'));
    try {
      const wanted = { suite: 'trixie', architecture: architecture.debian, packages };
      const root = await fetchPackages(wanted, work, env);
      await putInPlace(join(root, folder.replace('{triplet}', architecture.triplet)), directory);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ProviderError(`${noun} could not be fetched through apt: ${why}`);
  }
  return directory;
}

/** Renames the files into place, unless a concurrent start has already done so. */
async function putInPlace(files: string, directory: string): Promise<void> {
  try {
    await rename(files, directory);
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

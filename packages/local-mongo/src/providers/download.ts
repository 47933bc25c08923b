import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheDirectory } from '../cache-directory.ts';
import { launchMongod } from '../mongod.ts';
import { type Provider, ProviderError, requireUnixSockets } from '../provider.ts';

const run = promisify(execFile);

const DOWNLOADER = fileURLToPath(new URL('../mongod-download.ts', import.meta.url));
const DOWNLOAD_LIMIT_MS = 15 * 60_000;

/** The mongod that MongoDB, Inc. publishes for this system. */
export const downloadedMongod: Provider = {
  name: 'download',
  async prepare({ dataDirectory, env, logger }) {
    requireUnixSockets('The downloaded mongod');
    const downloads = join(cacheDirectory(env), 'mongod');
    logger.info(
      { directory: downloads },
      'looking for a downloaded mongod, else downloading it (100 MB or more)',
    );
    const binary = await download(downloads, env);
    return launchMongod({ kind: 'downloaded mongod', binary, dataDirectory, env });
  },
};

async function download(directory: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [DOWNLOADER, directory], {
      // With the default of three retries it takes seven seconds to fail without a network.
      env: { MONGOMS_MAX_RETRIES: '2', ...env, NODE_OPTIONS: undefined },
      timeout: DOWNLOAD_LIMIT_MS,
      maxBuffer: Number.POSITIVE_INFINITY,
    });
    return stdout.trimEnd().split('\n').at(-1) ?? '';
  } catch (error) {
    const { stderr, message, killed } = error as Error & { stderr?: string; killed?: boolean };
    const why = killed ? 'it took too long' : (stderr?.trim().replaceAll(/\s+/g, ' ') ?? message);
    throw new ProviderError(`MongoDB's own mongod could not be downloaded: ${why}.`);
  }
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@gatehouse/core/logger';
import { FatalProviderError, type Provider, ProviderError } from './provider.ts';
import { downloadedMongod } from './providers/download.ts';
import { embeddedEngine } from './providers/embedded.ts';
import { installedMongod } from './providers/mongod.ts';
import { requireReachable } from './providers/uri.ts';
import { DataLockedError } from './start-error.ts';
import { superviseDatabase } from './supervisor.ts';

const PROVIDERS: readonly Provider[] = [installedMongod, embeddedEngine, downloadedMongod];
const URI_PROVIDER = 'uri';
/** The file with the name of the provider whose database has the data. */
const KEPT_BY = 'kept-by';
const PROVIDER_NAMES = [URI_PROVIDER, ...PROVIDERS.map((provider) => provider.name)];

/** A MongoDB that can be used until stop(). */
export type LocalMongo = {
  /** Does not change when the database is restarted, nor with the next start. */
  uri: string;
  /** For messages: 'MONGODB_URI', 'mongod', 'embedded engine', 'downloaded mongod' and so on. */
  kind: string;
  /** The pid of the database, which changes with a restart; undefined if it is not ours or not running. */
  pid: number | undefined;
  /** Closes the database within 10 s; idempotent. A MongoDB from MONGODB_URI keeps running. */
  stop(): Promise<void>;
};

type StartOptions = {
  /** The setting MONGODB_URI, if any. If it cannot be reached, nothing else is tried. */
  uri?: string | undefined;
  /** The data directory; `mongodb` in it is used. A later start uses the same kind of database. */
  dataDir: string;
  /**
   * PATH, HOME and XDG_CACHE_HOME; MONGOD_BINARY, a mongod to run; GATEHOUSE_MONGO, a comma-separated list of the
   * providers to try: uri, mongod, embedded, download.
   */
  env: NodeJS.ProcessEnv;
  logger: Logger;
};

/** No MongoDB is available; the message says what was tried, why it failed and what to do. */
export class NoMongoError extends Error {
  override name = 'NoMongoError';
}

/** Another process has the data open. */
export class DataInUseError extends NoMongoError {
  override name = 'DataInUseError';
}

/**
 * Finds or starts a MongoDB: that of MONGODB_URI, a mongod on the PATH, the embedded engine, or a downloaded mongod. A
 * database that it starts ends with this process, and is restarted if it ends earlier.
 * @throws NoMongoError when none is available, or when another process has the data open
 */
export async function startLocalMongo(options: StartOptions): Promise<LocalMongo> {
  try {
    return await tryProviders(options);
  } catch (error) {
    if (error instanceof DataLockedError) throw new DataInUseError(error.message);
    if (error instanceof FatalProviderError) throw new NoMongoError(error.message);
    // Such as a directory that cannot be created or a full disk; the system's message has the path.
    if (isSystemError(error)) throw new NoMongoError(`MongoDB could not be started: ${error.message}.`);
    throw error;
  }
}

async function tryProviders(options: StartOptions): Promise<LocalMongo> {
  const { uri, env, logger } = options;
  const allowed = allowedNames(env.GATEHOUSE_MONGO);
  if (uri && allowed.includes(URI_PROVIDER)) {
    await requireReachable(uri);
    return { uri, kind: 'MONGODB_URI', pid: undefined, stop: async () => {} };
  }
  if (uri) logger.warn('MONGODB_URI is set, but GATEHOUSE_MONGO leaves it out');

  const directory = join(resolve(options.dataDir), 'mongodb');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const keptBy = await readFile(join(directory, KEPT_BY), 'utf8').catch(() => '');
  const isKept = allowed.includes(keptBy);
  const failures = allowed.includes(URI_PROVIDER) ? ['MONGODB_URI is not set.'] : [];
  for (const provider of PROVIDERS) {
    if (!allowed.includes(provider.name) || (isKept && provider.name !== keptBy)) continue;
    try {
      return await startProvider(provider, directory, env, logger);
    } catch (error) {
      if (!(error instanceof ProviderError) || error instanceof FatalProviderError) throw error;
      failures.push(error.message);
    }
  }
  throw new NoMongoError(report(failures, isKept ? join(directory, keptBy) : undefined));
}

/** The providers in GATEHOUSE_MONGO; all if it is not set. */
function allowedNames(setting: string | undefined): string[] {
  if (!setting) return PROVIDER_NAMES;
  const names = setting.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !PROVIDER_NAMES.includes(name));
  if (unknown.length > 0) {
    throw new FatalProviderError(
      `GATEHOUSE_MONGO names "${unknown.join(', ')}"; it may name ${PROVIDER_NAMES.join(', ')}.`,
    );
  }
  return names;
}

async function startProvider(
  provider: Provider,
  directory: string,
  env: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<LocalMongo> {
  const dataDirectory = join(directory, provider.name);
  const launch = await provider.prepare({ dataDirectory, env, logger });
  const startedAt = performance.now();
  const database = await superviseDatabase(launch, dataDirectory, logger);
  await writeFile(join(directory, KEPT_BY), provider.name).catch(async (error: unknown) => {
    await database.stop();
    throw error;
  });
  const ms = Math.round(performance.now() - startedAt);
  logger.info(
    { database: launch.kind, databasePid: database.pid, dataDirectory, ms },
    'the local MongoDB is ready',
  );
  return {
    // w=1: with `majority` the embedded engine acknowledges a write before it is in the journal, so that a kill -9 loses
    // it. With w=1 and journal=true it does not.
    uri: `mongodb://${encodeURIComponent(database.socketPath)}/?directConnection=true&w=1&journal=true`,
    kind: launch.kind,
    get pid() {
      return database.pid;
    },
    stop: () => database.stop(),
  };
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function report(failures: readonly string[], keptIn: string | undefined): string {
  return [
    'No MongoDB could be started:',
    ...failures.map((failure) => `- ${failure}`),
    ...(keptIn ? [`Nothing else was tried, because the data of earlier starts is in ${keptIn}.`] : []),
    'Set MONGODB_URI to the address of a MongoDB, or install MongoDB so that mongod is on the PATH.',
  ].join('\n');
}

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@gatehouse/kit/logger';
import { FinalFailure, type Link, LinkFailure } from './link.ts';
import { downloadedMongod } from './links/download.ts';
import { embeddedEngine } from './links/embedded.ts';
import { installedMongod } from './links/mongod.ts';
import { requireReachable } from './links/uri.ts';
import { DataInUse } from './start-failure.ts';
import { superviseDatabase } from './supervisor.ts';

const CHAIN: readonly Link[] = [installedMongod, embeddedEngine, downloadedMongod];
const URI_LINK = 'uri';
/** The file that names the link whose database has the data. */
const KEPT_BY = 'kept-by';
const LINK_NAMES = [URI_LINK, ...CHAIN.map((link) => link.name)];

/** A MongoDB that can be used until stop(). */
export type LocalMongo = {
  /** Stays the same when the database is restarted, and from one start to the next. */
  uri: string;
  /** For people: 'MONGODB_URI', 'mongod', 'embedded engine', 'downloaded mongod' and the like. */
  kind: string;
  /** The database's process, a new one after a restart; undefined when it is not ours or just not there. */
  pid: number | undefined;
  /** Closes the database within 10 s; may be called again. A MongoDB that was found running runs on. */
  stop(): Promise<void>;
};

type StartOptions = {
  /** The setting MONGODB_URI, if any. When it cannot be reached nothing else is tried. */
  uri?: string | undefined;
  /** Where data lives; `mongodb` in it is used. A later start keeps to the kind of database found there. */
  dataDir: string;
  /**
   * PATH, HOME and XDG_CACHE_HOME; MONGOD_BINARY, a mongod to run; GATEHOUSE_MONGO, which restricts the ways
   * that are tried to those it names: uri, mongod, embedded, download, separated by commas.
   */
  env: NodeJS.ProcessEnv;
  logger: Logger;
};

/** There is no MongoDB to be had; the message says what was tried, why it failed and what to do. */
export class NoMongoError extends Error {
  override name = 'NoMongoError';
}

/** There is one, but another process has its data open. */
export class DataInUseError extends NoMongoError {
  override name = 'DataInUseError';
}

/**
 * Finds or starts a MongoDB: the one MONGODB_URI names, a mongod on the PATH, the embedded engine, or a
 * downloaded mongod. A database that it starts ends with this process, and is restarted when it ends earlier.
 * @throws NoMongoError when there is none, or when another process has the data open.
 */
export async function startLocalMongo(options: StartOptions): Promise<LocalMongo> {
  try {
    return await tryLinks(options);
  } catch (error) {
    if (error instanceof DataInUse) throw new DataInUseError(error.message);
    if (error instanceof FinalFailure) throw new NoMongoError(error.message);
    // A directory that cannot be made, a full disk: the system's own words name the file.
    if (isSystemError(error)) throw new NoMongoError(`MongoDB could not be started: ${error.message}.`);
    throw error;
  }
}

async function tryLinks(options: StartOptions): Promise<LocalMongo> {
  const { uri, env, logger } = options;
  const allowed = allowedNames(env.GATEHOUSE_MONGO);
  if (uri && allowed.includes(URI_LINK)) {
    await requireReachable(uri);
    return { uri, kind: 'MONGODB_URI', pid: undefined, stop: async () => {} };
  }
  if (uri) logger.warn('MONGODB_URI is set, but GATEHOUSE_MONGO leaves it out');

  const directory = join(resolve(options.dataDir), 'mongodb');
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const keptBy = await readFile(join(directory, KEPT_BY), 'utf8').catch(() => '');
  const isKept = allowed.includes(keptBy);
  const failures = allowed.includes(URI_LINK) ? ['MONGODB_URI is not set.'] : [];
  for (const link of CHAIN) {
    if (!allowed.includes(link.name) || (isKept && link.name !== keptBy)) continue;
    try {
      return await startLink(link, directory, env, logger);
    } catch (error) {
      if (!(error instanceof LinkFailure) || error instanceof FinalFailure) throw error;
      failures.push(error.message);
    }
  }
  throw new NoMongoError(report(failures, isKept ? join(directory, keptBy) : undefined));
}

/** The names in GATEHOUSE_MONGO; all when it is not set. */
function allowedNames(setting: string | undefined): string[] {
  if (!setting) return LINK_NAMES;
  const names = setting.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !LINK_NAMES.includes(name));
  if (unknown.length > 0) {
    throw new FinalFailure(
      `GATEHOUSE_MONGO names "${unknown.join(', ')}"; it may name ${LINK_NAMES.join(', ')}.`,
    );
  }
  return names;
}

async function startLink(
  link: Link,
  directory: string,
  env: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<LocalMongo> {
  const dataDirectory = join(directory, link.name);
  const launch = await link.prepare({ dataDirectory, env, logger });
  const startedAt = performance.now();
  const database = await superviseDatabase(launch, dataDirectory, logger);
  await writeFile(join(directory, KEPT_BY), link.name).catch(async (error: unknown) => {
    await database.stop();
    throw error;
  });
  const ms = Math.round(performance.now() - startedAt);
  logger.info(
    { database: launch.kind, databasePid: database.pid, dataDirectory, ms },
    'the local MongoDB is ready',
  );
  return {
    // w=1: the embedded engine acknowledges `majority` before the write is in its journal, and a kill -9 then
    // loses it; 1 together with journal=true it keeps.
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

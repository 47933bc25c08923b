import { readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { type DatabaseProcess, startDatabaseProcess } from './database-process.ts';
import type { LaunchSpec } from './provider.ts';
import { makeSocketDirectory } from './socket-directory.ts';
import { DataLockedError } from './start-error.ts';

const SOCKET_NAME = 'mongodb.sock';
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
// After a run of this length, a failure is not one of the start.
const STEADY_MS = 10_000;
// A database whose parent was killed takes up to two seconds to close; after that the data is in use.
const PREDECESSOR_LIMIT_MS = 2_500;
const PREDECESSOR_POLL_MS = 200;

/** A database that is restarted whenever it ends, at a fixed socket path. */
type SupervisedDatabase = {
  socketPath: string;
  /** The pid of the current process; undefined while there is none. */
  pid: number | undefined;
  /** Closes the database, without a restart. */
  stop(): Promise<void>;
};

/**
 * Starts the database and restarts it whenever it ends.
 * @throws ProviderError when the first start fails; DataLockedError when another process has the data open
 */
export async function superviseDatabase(
  launch: LaunchSpec,
  dataDirectory: string,
  logger: Logger,
): Promise<SupervisedDatabase> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const socketPath = join(await makeSocketDirectory(dataDirectory), SOCKET_NAME);
  let database: DatabaseProcess | undefined = await startAfterPredecessor();
  const keptRunning = keepRunning();
  let stopped: Promise<void> | undefined;

  async function start(): Promise<DatabaseProcess> {
    // Each time, since a cleaner of temporary files may have removed it.
    const socketDirectory = await makeSocketDirectory(dataDirectory);
    const started = await startDatabaseProcess(launch, { dataDirectory, socketDirectory }, signal);
    try {
      await publish(started.socketPath, socketPath);
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  async function startAfterPredecessor(): Promise<DatabaseProcess> {
    const giveUpAt = performance.now() + PREDECESSOR_LIMIT_MS;
    while (true) {
      try {
        return await start();
      } catch (error) {
        if (!(error instanceof DataLockedError) || performance.now() > giveUpAt) throw error;
        await sleep(PREDECESSOR_POLL_MS);
      }
    }
  }

  async function keepRunning(): Promise<void> {
    let delayMs = FIRST_DELAY_MS;
    while (database) {
      const startedAt = performance.now();
      const endedBy = await database.ended;
      database = undefined;
      if (performance.now() - startedAt > STEADY_MS) delayMs = FIRST_DELAY_MS;
      while (!database && !signal.aborted) {
        logger.warn(
          { database: launch.kind, endedBy, delayMs },
          'the local MongoDB ended; starting it again',
        );
        await sleep(delayMs, undefined, { signal }).catch(() => {});
        delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
        database = await startAgain();
      }
    }
  }

  /** Failures are logged, not thrown: the cause, such as a full disk, may be temporary. */
  async function startAgain(): Promise<DatabaseProcess | undefined> {
    if (signal.aborted) return undefined;
    try {
      const started = await start();
      // stop() found no process to end while this one was starting.
      if (signal.aborted) await started.stop();
      return started;
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the local MongoDB could not be started again');
      return undefined;
    }
  }

  async function stop(): Promise<void> {
    stopping.abort();
    // Before the database unlocks its data: afterwards the path may belong to a successor.
    if (database) await rm(socketPath, { force: true });
    await database?.stop();
    await keptRunning;
  }

  return {
    socketPath,
    get pid() {
      return database?.pid;
    },
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/**
 * Atomically renames a database's socket to the name that clients use; a bound socket can be renamed. Its process holds
 * the lock on the data, so anything else in the directory is left over from killed processes.
 */
async function publish(from: string, to: string): Promise<void> {
  await rename(from, to);
  const directory = dirname(to);
  for (const name of await readdir(directory)) {
    if (name !== SOCKET_NAME) await rm(join(directory, name), { recursive: true, force: true });
  }
}

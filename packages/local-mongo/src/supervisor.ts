import { readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/kit/logger';
import { type DatabaseProcess, startDatabaseProcess } from './database-process.ts';
import type { Launch } from './link.ts';
import { makeSocketDirectory } from './socket-directory.ts';
import { DataInUse } from './start-failure.ts';

const SOCKET_NAME = 'mongodb.sock';
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
// A database that ran this long did not end because of how it was started.
const STEADY_MS = 10_000;
// A database whose parent was killed takes up to two seconds to close; one that runs longer is in use.
const PREDECESSOR_LIMIT_MS = 2_500;
const PREDECESSOR_POLL_MS = 200;

/** A database that is started again whenever it ends, behind a socket path that stays. */
export type SupervisedDatabase = {
  socketPath: string;
  /** Of the present process; undefined while there is none. */
  pid: number | undefined;
  /** Closes the database for good. */
  stop(): Promise<void>;
};

/**
 * Starts the database and keeps it running.
 * @throws LinkFailure when it does not start the first time; DataInUse when another process has its data.
 */
export async function superviseDatabase(
  launch: Launch,
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
    // Again each time: a cleaner of temporary files may have removed it.
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
        if (!(error instanceof DataInUse) || performance.now() > giveUpAt) throw error;
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
        delayMs = Math.min(delayMs * 2, LONGEST_DELAY_MS);
        database = await startAgain();
      }
    }
  }

  /** A failed attempt is told and not thrown: what is missing, such as space on the disk, may come back. */
  async function startAgain(): Promise<DatabaseProcess | undefined> {
    if (signal.aborted) return undefined;
    try {
      const started = await start();
      // stop() found no process to end while this one was coming up.
      if (signal.aborted) await started.stop();
      return started;
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, 'the local MongoDB could not be started again');
      return undefined;
    }
  }

  async function stop(): Promise<void> {
    stopping.abort();
    // Before the database lets go of its data: without the data the path may be a successor's.
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
 * Gives a database's socket the name that clients know, in one step; a bound socket can be renamed. The
 * process that serves holds the lock on the data, so anything else in the directory is left over from killed ones.
 */
async function publish(from: string, to: string): Promise<void> {
  await rename(from, to);
  const directory = dirname(to);
  for (const name of await readdir(directory)) {
    if (name !== SOCKET_NAME) await rm(join(directory, name), { recursive: true, force: true });
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceError, unavailable } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import mongoose, { type Connection } from 'mongoose';

export type Database = {
  /** For defining models on; usable at once, connected after start(). */
  connection: Connection;
  /** Resolves when connected and every model's indexes exist; tries for as long as it takes. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** What keeps the database from answering; undefined when it answers. */
  unready(): Promise<string | undefined>;
  /** The error for the caller when this failure means that the database is away; else undefined. */
  unavailable(error: unknown): ServiceError | undefined;
};

/** How long an operation looks for a server, in milliseconds: short, as the caller waits for the answer. */
const SELECTION_TIMEOUT = 2000;
const RETRY_DELAY = { first: 200, most: 5000 };

/**
 * A service's own database. The name is used where the URI names none. Every write is acknowledged only
 * when it is in the journal of a majority, since an acknowledged write must survive any crash.
 */
export function createDatabase(options: { uri: string; name: string; logger: Logger }): Database {
  const { uri, name, logger } = options;
  const connection = mongoose.createConnection();
  const stopping = new AbortController();

  async function connect(): Promise<void> {
    await connection.openUri(uri, {
      ...(namesDatabase(uri) ? {} : { dbName: name }),
      appName: `gatehouse-${name}`,
      autoIndex: false,
      autoCreate: false,
      // Without it an operation would wait for a connection in silence; a 503 tells the caller.
      bufferCommands: false,
      serverSelectionTimeoutMS: SELECTION_TIMEOUT,
      // Two checks of the server's health within the default of 10 s would be too slow to notice its return.
      heartbeatFrequencyMS: 1000,
      minHeartbeatFrequencyMS: 100,
      writeConcern: { w: 'majority', journal: true },
      maxPoolSize: 50,
    });
    for (const model of Object.values(connection.models)) await model.createIndexes();
  }

  return {
    connection,
    async start() {
      for (let delay = RETRY_DELAY.first; ; delay = Math.min(delay * 2, RETRY_DELAY.most)) {
        try {
          await connect();
          return;
        } catch (error) {
          if (stopping.signal.aborted) throw new Error('stopped while waiting for the database');
          if (!isAway(error, connection)) throw error;
          logger.warn({ err: error, retry_in_ms: delay }, 'the database cannot be reached');
          await connection.close().catch(() => {});
        }
        await sleep(delay, undefined, { signal: stopping.signal }).catch(() => {});
      }
    },
    async stop() {
      stopping.abort();
      await connection.close();
    },
    async unready() {
      try {
        await connection.db?.command({ ping: 1 }, { timeoutMS: 1000 });
        return connection.db === undefined ? 'not yet connected to its database' : undefined;
      } catch {
        return 'its database cannot be reached';
      }
    },
    unavailable(error) {
      return isAway(error, connection)
        ? unavailable('The database cannot be reached just now.', error)
        : undefined;
    },
  };
}

/** Whether the URI's path names a database. */
function namesDatabase(uri: string): boolean {
  return /^mongodb(?:\+srv)?:\/\/[^/]+\/[^?]/.test(uri);
}

/** Errors of the driver and of mongoose by which they say that no server could be reached. */
function isAway(error: unknown, connection: Connection): boolean {
  const { MongoNetworkError, MongoServerSelectionError, MongoNotConnectedError, MongoTopologyClosedError } =
    mongoose.mongo;
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof mongoose.Error.MongooseServerSelectionError ||
    // With buffering off, mongoose refuses operations before the first connection with a bare error.
    (error instanceof mongoose.Error && connection.readyState !== mongoose.ConnectionStates.connected)
  );
}

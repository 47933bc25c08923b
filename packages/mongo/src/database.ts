import { setTimeout as sleep } from 'node:timers/promises';
import { type ServiceError, unavailable } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { createPeriodicTask } from '@gatehouse/kit/periodic';
import mongoose, { type Connection } from 'mongoose';

export type Database = {
  /** For defining collections on; usable at once, connected after start(). */
  connection: Connection;
  /** Resolves when connected and every model's indexes exist; tries for as long as it takes. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** What keeps the database from answering; undefined when it answers. */
  unready(): Promise<string | undefined>;
  /** The error for the caller when this failure means that the database is away; else undefined. */
  unavailable(error: unknown): ServiceError | undefined;
};

/** In milliseconds, and short: a caller waits for the answer. */
const TIMEOUTS = {
  /** How long an operation looks for a server. */
  selection: 2000,
  /** How long a server may take to greet, also for the regular checks of its health: so a hung one is found. */
  greeting: 3000,
  /** How long an operation waits for a free connection. */
  queue: 5000,
  /** How long the server may be silent on an operation. */
  answer: 10_000,
  ping: 1500,
};
/** How often a connected database is looked after, and how long the driver has to find its way back by itself. */
const WATCH = { everyMs: 2000, reconnectAfterMs: 6000 };
const RETRY_DELAY_MS = { first: 200, max: 5000 };

/**
 * A service's own database. The name is used where the URI names none. Every write is acknowledged only when it
 * is in the journal, since an acknowledged write must survive any crash: of a majority, or of as many servers as
 * the URI's `w` says.
 */
export function createDatabase(options: { uri: string; name: string; logger: Logger }): Database {
  const { uri, name, logger } = options;
  // An instance of its own: without buffering, an operation while there is no connection is a 503 at once and
  // not a wait, and only as an instance's setting does that hold before the first connection, too.
  const connection = new mongoose.Mongoose({ bufferCommands: false }).createConnection();
  const stopping = new AbortController();
  let awaySince: number | undefined;
  const watching = createPeriodicTask({
    run: watch,
    everyMs: WATCH.everyMs,
    onError: (error) => logger.error({ err: error }, 'could not connect anew'),
  });

  async function connect(): Promise<void> {
    await connection.openUri(uri, {
      ...(namesDatabase(uri) ? {} : { dbName: name }),
      appName: `gatehouse-${name}`,
      autoIndex: false,
      autoCreate: false,
      // Without it an operation would wait for a connection in silence; a 503 tells the caller.
      bufferCommands: false,
      serverSelectionTimeoutMS: TIMEOUTS.selection,
      connectTimeoutMS: TIMEOUTS.greeting,
      waitQueueTimeoutMS: TIMEOUTS.queue,
      socketTimeoutMS: TIMEOUTS.answer,
      // The default of 10 s between two checks of the server's health would be slow to notice its return.
      heartbeatFrequencyMS: 1000,
      minHeartbeatFrequencyMS: 100,
      writeConcern: { w: ownWriteConcern(uri) ?? 'majority', journal: true },
      maxPoolSize: 50,
    });
    for (const model of Object.values(connection.models)) await model.createIndexes();
  }

  /** Tries for as long as it takes; throws when waiting cannot help, and when stop() comes first. */
  async function connectAtLast(): Promise<void> {
    let delay = RETRY_DELAY_MS.first;
    while (!stopping.signal.aborted) {
      try {
        await connect();
        return;
      } catch (error) {
        if (stopping.signal.aborted) break;
        if (!isAway(error, connection)) throw error;
        logger.warn({ err: error, retry_in_ms: delay }, 'the database cannot be reached');
        await connection.close().catch(() => {});
      }
      await pause(delay);
      delay = Math.min(delay * 2, RETRY_DELAY_MS.max);
    }
    throw new Error('stopped while waiting for the database');
  }

  /** Connects anew when the driver has not found its way back to the database by itself. */
  async function watch(): Promise<void> {
    if (await answers()) {
      awaySince = undefined;
      return;
    }
    awaySince ??= performance.now();
    if (performance.now() - awaySince < WATCH.reconnectAfterMs || stopping.signal.aborted) return;
    logger.warn('the database has been away for a while; connecting anew');
    // Not by force: mongoose would refuse every operation from then on.
    await connection.close().catch(() => {});
    awaySince = undefined;
    await connectAtLast();
  }

  /** Whether the server answers in time; the driver notices only later that one hangs. */
  function answers(): Promise<boolean> {
    const ping = connection.db?.command({ ping: 1 }) ?? Promise.reject(new Error('not connected'));
    const answered = ping.then(
      () => true,
      () => false,
    );
    return Promise.race([answered, sleep(TIMEOUTS.ping, false, { ref: false })]);
  }

  function pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});
  }

  return {
    connection,
    async start() {
      await connectAtLast();
      watching.start();
    },
    async stop() {
      const watched = watching.stop();
      stopping.abort();
      // mongoose would wait for a connection that is being made; the driver breaks it off.
      if (connection.readyState === mongoose.ConnectionStates.connecting)
        await connection.getClient()?.close();
      await connection.close();
      await watched;
    },
    async unready() {
      if (connection.db === undefined) return 'not yet connected to its database';
      return (await answers()) ? undefined : 'its database cannot be reached';
    },
    unavailable(error) {
      if (error instanceof mongoose.mongo.MongoServerError && error.code === MAX_TIME_EXPIRED) {
        return unavailable('This takes too long: ask for less, by narrower filters or another sort.', error);
      }
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

/** The number of servers that the URI wants a write to be acknowledged by, if it says. */
function ownWriteConcern(uri: string): number | undefined {
  const count = /[?&]w=(\d+)(?:&|$)/.exec(uri)?.[1];
  return count === undefined ? undefined : Number(count);
}

/**
 * How long a query over many documents may take, in milliseconds: set as maxTimeMS, so that the database gives it up.
 * Well below the time after which the driver would give up the connection.
 */
export const MAX_QUERY_MS = 5000;
const MAX_TIME_EXPIRED = 50;

/** A server that shuts down, steps down or recovers says so: InterruptedAtShutdown, NotWritablePrimary and so on. */
const LEAVING_CODES = new Set<unknown>([91, 189, 10058, 10107, 11600, 11602, 13435, 13436]);
const SOCKET_ERRORS = new Set(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ENOTCONN']);

/** Errors of the driver and of mongoose by which they say that no server could be reached. */
function isAway(error: unknown, connection: Connection): boolean {
  const { mongo } = mongoose;
  return (
    error instanceof mongo.MongoNetworkError ||
    error instanceof mongo.MongoServerSelectionError ||
    error instanceof mongo.MongoNotConnectedError ||
    error instanceof mongo.MongoTopologyClosedError ||
    error instanceof mongo.MongoClientClosedError ||
    // Not exported by the driver.
    (error instanceof mongo.MongoError && error.name === 'MongoWaitQueueTimeoutError') ||
    (error instanceof mongo.MongoServerError && LEAVING_CODES.has(error.code)) ||
    // The driver lets the socket's own error through when it writes on a connection that was just lost.
    SOCKET_ERRORS.has((error as NodeJS.ErrnoException | undefined)?.code ?? '') ||
    error instanceof mongoose.Error.MongooseServerSelectionError ||
    // With buffering off, mongoose refuses operations before the first connection with a bare error.
    (error instanceof mongoose.Error && connection.readyState !== mongoose.ConnectionStates.connected)
  );
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import { isTracing } from '@gatehouse/core/tracing';
import mongoose, { type Connection } from 'mongoose';
import { endingDryRuns } from './collection.ts';
import { isUnreachable, unavailableError } from './driver-errors.ts';
import { type Migration, migrate } from './migrations.ts';
import { recordOperations } from './operation-spans.ts';
import { observePool } from './pool-metrics.ts';

export type Database = {
  /** For defining collections; connected after start(). */
  connection: Connection;
  /**
   * Resolves once connected, all migrations have been applied and all indexes exist; retries until then.
   * @throws NewerDatabaseError
   */
  start(): Promise<void>;
  /** Applies the pending migrations and creates the indexes, instead of start(). */
  migrate(): Promise<void>;
  stop(): Promise<void>;
  /** Why the database cannot be used; undefined when it can. */
  unready(): Promise<string | undefined>;
  /** How busy the connections are, for /metrics. */
  metrics(): MetricFamily[];
  /** The error for the caller if this failure means that the database is unreachable; else undefined. */
  unavailable(error: unknown): ServiceError | undefined;
};

/** In milliseconds; short, since callers wait for the response. */
const TIMEOUTS = {
  /** How long an operation waits for a server to be selected. */
  serverSelection: 2000,
  /** How long a connection may take to be established; also the timeout of heartbeats, so that a hung server is noticed. */
  connect: 3000,
  /** How long an operation waits for a free connection of the pool. */
  waitQueue: 5000,
  /** How long the server may take to respond to an operation. */
  socket: 10_000,
  ping: 1500,
};
/**
 * How often the connection is checked, how long an operation may wait for its response before the server is asked whether it is
 * there, and how long the driver has to reconnect by itself.
 */
const WATCH = { everyMs: 2000, responseMs: 250, reconnectAfterMs: 6000 };
/** How often the driver checks the server while no operation does: its default. */
const HEARTBEAT_MS = 10_000;
const RETRY_DELAY_MS = { first: 200, max: 5000 };

/**
 * A service's own database. The name is the default if the URI names no database. Writes are acknowledged once they are in
 * the journal of a majority, or of as many servers as the URI's `w` says: an acknowledged write survives any crash.
 */
export function createDatabase(options: {
  uri: string;
  name: string;
  logger: Logger;
  /** The migrations of the service. Without them, as in tools, the version of the data is not checked. */
  migrations?: readonly Migration[] | undefined;
  /** Whether start() applies them, or waits until another process has. */
  migrateAtStart?: 'on' | 'off' | undefined;
}): Database {
  const { uri, name, logger, migrations, migrateAtStart = 'on' } = options;
  const connection = createConnection();
  const stopping = new AbortController();
  let unreachableSince: number | undefined;
  let server = { isWaiting: () => false, silentMs: () => Number.POSITIVE_INFINITY };
  let appliesMigrations = migrateAtStart === 'on';
  let isMigrated = false;
  let poolMetrics: (() => MetricFamily[]) | undefined;
  let client: mongoose.mongo.MongoClient | undefined;
  const watching = createPeriodicTask({
    run: watch,
    everyMs: WATCH.everyMs,
    onError: (error) => logger.error({ err: error }, 'could not reconnect'),
  });

  async function connect(): Promise<void> {
    client = createClient(uri, name);
    poolMetrics = observePool(client);
    await client.connect();
    connection.setClient(client);
    server = observeServer(client);
    // Before the indexes: a unique one may need what they change.
    isMigrated = false;
    if (migrations !== undefined) {
      await migrate(connection, { migrations, apply: appliesMigrations, signal: stopping.signal, logger });
    }
    isMigrated = true;
    await createIndexes(connection);
  }

  /** Retries until connected; throws on errors that a retry cannot fix, and after stop(). */
  async function connectWithRetry(): Promise<void> {
    let delay = RETRY_DELAY_MS.first;
    while (!stopping.signal.aborted) {
      try {
        await connect();
        return;
      } catch (error) {
        if (stopping.signal.aborted) break;
        const isTemporary = isUnreachable(error, connection);
        await connection.close().catch(() => {});
        await client?.close().catch(() => {});
        if (!isTemporary) throw error;
        logger.warn({ err: error, retry_in_ms: delay }, 'the database cannot be reached');
      }
      await sleep(delay, undefined, { signal: stopping.signal }).catch(() => {});
      delay = Math.min(delay * 2, RETRY_DELAY_MS.max);
    }
    throw new Error('stopped while waiting for the database');
  }

  /** Reconnects when the driver has not done so by itself. */
  async function watch(): Promise<void> {
    // At rest the heartbeats are enough.
    const isAtRest = !server.isWaiting() && server.silentMs() < HEARTBEAT_MS + TIMEOUTS.connect;
    const isWell = isAtRest || (await responds(connection));
    // Heartbeats have a connection of their own; this ping may have to wait while other operations use all connections of the pool.
    if (isWell || server.silentMs() < WATCH.everyMs) {
      unreachableSince = undefined;
      return;
    }
    unreachableSince ??= performance.now();
    if (performance.now() - unreachableSince < WATCH.reconnectAfterMs || stopping.signal.aborted) return;
    logger.warn('the database has been unreachable for a while; reconnecting');
    // Without force, after which mongoose would reject all operations.
    await connection.close().catch(() => {});
    unreachableSince = undefined;
    await connectWithRetry();
  }

  async function stop(): Promise<void> {
    const watchStopped = watching.stop();
    stopping.abort();
    await connection.close();
    // One that is not established yet.
    await client?.close();
    await watchStopped;
  }

  return {
    connection,
    async start() {
      if (isTracing()) recordOperations(connection);
      await connectWithRetry();
      watching.start();
    },
    async migrate() {
      appliesMigrations = true;
      await connectWithRetry().finally(stop);
    },
    stop,
    async unready() {
      if (connection.db === undefined) return 'not yet connected to its database';
      if (!isMigrated) return 'the migrations of its database have not been applied';
      return (await responds(connection)) ? undefined : 'its database cannot be reached';
    },
    metrics: () => poolMetrics?.() ?? [],
    unavailable: (error) => unavailableError(error, connection),
  };
}

/**
 * Without buffering, an operation without a connection fails at once (503). Before the first connection that holds only if the
 * mongoose instance is configured so, hence a separate instance.
 */
function createConnection(): Connection {
  const connection = new mongoose.Mongoose({
    bufferCommands: false,
    autoIndex: false,
    autoCreate: false,
  }).createConnection();
  const { collection } = connection;
  connection.collection = ((...args: Parameters<typeof collection>) =>
    endingDryRuns(collection.apply(connection, args))) as typeof collection;
  return connection;
}

function createClient(uri: string, name: string): mongoose.mongo.MongoClient {
  const client = new mongoose.mongo.MongoClient(uri, {
    ...(namesDatabase(uri) ? {} : { dbName: name }),
    appName: `gatehouse-${name}`,
    serverSelectionTimeoutMS: TIMEOUTS.serverSelection,
    connectTimeoutMS: TIMEOUTS.connect,
    waitQueueTimeoutMS: TIMEOUTS.waitQueue,
    socketTimeoutMS: TIMEOUTS.socket,
    heartbeatFrequencyMS: HEARTBEAT_MS,
    // An operation that waits for a server that is away makes the driver look for it this often.
    minHeartbeatFrequencyMS: 100,
    writeConcern: writeConcernOf(uri),
    maxPoolSize: 50,
  });
  // How often pools look for lost connections, which an operation would notice, too. The default is ten times a second. The parser of the
  // client's options does not know this option.
  Object.assign(client.options, { minPoolSizeCheckFrequencyMS: HEARTBEAT_MS });
  return client.setMaxListeners(0);
}

/**
 * Listens to the server of a connected client: how many milliseconds ago it was heard, and whether an operation has waited for so
 * long that the server may hang and never respond.
 */
function observeServer(client: mongoose.mongo.MongoClient) {
  let heardAt = performance.now();
  client.on('serverHeartbeatSucceeded', () => {
    heardAt = performance.now();
  });
  client.on('serverHeartbeatFailed', () => {
    heardAt = Number.NEGATIVE_INFINITY;
  });
  const usedSince = new Map<unknown, number>();
  client.on('connectionCheckedOut', ({ connectionId }) => usedSince.set(connectionId, performance.now()));
  client.on('connectionCheckedIn', ({ connectionId }) => usedSince.delete(connectionId));
  return {
    silentMs: () => performance.now() - heardAt,
    isWaiting: () => [...usedSince.values()].some((since) => performance.now() - since > WATCH.responseMs),
  };
}

/** All indexes of a collection in one command; mongoose would send one for each. */
async function createIndexes({ models }: Connection): Promise<void> {
  for (const { schema, collection } of Object.values(models)) {
    const indexes = schema
      .indexes()
      .map(([key, options]) => ({ ...options, key }) as mongoose.mongo.IndexDescription);
    if (indexes.length > 0) await collection.createIndexes(indexes);
  }
}

/** Whether the server responds in time; the driver itself notices a hung server only later. */
function responds({ db }: Connection): Promise<boolean> {
  const ping = db?.command({ ping: 1 }) ?? Promise.reject(new Error('not connected'));
  const responded = ping.then(
    () => true,
    () => false,
  );
  return Promise.race([responded, sleep(TIMEOUTS.ping, false, { ref: false })]);
}

/** Whether the URI's path names a database. */
function namesDatabase(uri: string): boolean {
  return /^mongodb(?:\+srv)?:\/\/[^/]+\/[^?]/.test(uri);
}

/** In the journal of a majority, or of as many servers as the `w` of the URI says, if it is a number. */
export function writeConcernOf(uri: string) {
  const count = /[?&]w=(\d+)(?:&|$)/.exec(uri)?.[1];
  return { w: count === undefined ? 'majority' : Number(count), journal: true } as const;
}

/**
 * The maxTimeMS of queries over many documents, after which the database aborts them: well below the socket timeout, after
 * which the driver would close the connection.
 */
export const MAX_QUERY_MS = 5000;

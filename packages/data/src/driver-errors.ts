import { type ServiceError, unavailable } from '@gatehouse/core/errors';
import mongoose, { type Connection } from 'mongoose';

const MAX_TIME_EXPIRED = 50;

/** Codes of a server that shuts down, steps down or recovers: InterruptedAtShutdown, NotWritablePrimary and so on. */
const STATE_CHANGE_CODES = new Set<unknown>([91, 189, 10058, 10107, 11600, 11602, 13435, 13436]);
/** Their classes are not exported by the driver. */
const POOL_ERRORS = new Set(['MongoWaitQueueTimeoutError', 'MongoPoolClosedError']);
const SOCKET_ERRORS = new Set(['EPIPE', 'ECONNRESET', 'ECONNREFUSED', 'ENOTCONN']);

/** The error for the caller if a query took too long, or the database is unreachable; else undefined. */
export function unavailableError(thrown: unknown, connection: Connection): ServiceError | undefined {
  const error = ofDriver(thrown);
  if (error instanceof mongoose.mongo.MongoServerError && error.code === MAX_TIME_EXPIRED) {
    return unavailable('This query takes too long: use narrower filters or another sort.', error);
  }
  return isUnreachable(error, connection) ? unavailable('The database cannot be reached.', error) : undefined;
}

/** The driver's own error, which is wrapped in another one if a bulk write could not be sent. */
function ofDriver(error: unknown): unknown {
  const { MongoBulkWriteError } = mongoose.mongo;
  return error instanceof MongoBulkWriteError && error.errorResponse instanceof Error
    ? error.errorResponse
    : error;
}

/** Whether an error of the driver or of mongoose means that no server could be reached. */
export function isUnreachable(error: unknown, connection: Connection): boolean {
  const { mongo } = mongoose;
  return (
    error instanceof mongo.MongoNetworkError ||
    error instanceof mongo.MongoServerSelectionError ||
    error instanceof mongo.MongoNotConnectedError ||
    error instanceof mongo.MongoTopologyClosedError ||
    error instanceof mongo.MongoClientClosedError ||
    (error instanceof mongo.MongoError && POOL_ERRORS.has(error.name)) ||
    (error instanceof mongo.MongoServerError && STATE_CHANGE_CODES.has(error.code)) ||
    // The driver passes on the socket's error when it writes to a connection that was just lost.
    SOCKET_ERRORS.has((error as NodeJS.ErrnoException | undefined)?.code ?? '') ||
    error instanceof mongoose.Error.MongooseServerSelectionError ||
    // Without buffering, mongoose rejects operations before the first connection with a plain error.
    (error instanceof mongoose.Error && connection.readyState !== mongoose.ConnectionStates.connected)
  );
}

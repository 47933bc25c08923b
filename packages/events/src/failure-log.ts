import type { Logger } from '@gatehouse/core/logger';

const INTERVAL_MS = 10_000;

/** Logs one of many like failures; `about` says what failed. */
export type FailureLog = (error: unknown, about?: Record<string, unknown>) => void;

/** Logs failures as a warning with this message, at most one line in ten seconds, and none that stopping causes. */
export function createFailureLog(logger: Logger, message: string, stopping: AbortSignal): FailureLog {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error, about = {}) => {
    if (stopping.aborted || performance.now() - loggedAt < INTERVAL_MS) return;
    loggedAt = performance.now();
    logger.warn({ err: error, ...about }, message);
  };
}

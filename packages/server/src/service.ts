import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import type { CompletedRequest } from './completed-request.ts';

/** A service as a value: a process runs one of them, a laptop runs all of them on one port. */
export type Service = {
  readonly name: string;
  /** The paths it answers, by whole segments (see services.ts). */
  readonly prefixes: readonly string[];
  /** Handles a request. Where one port serves several services, requests may come before start() has ended, and get 503 where necessary. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Resolves when it can serve. Waits for its dependencies as long as it takes; rejects when it never can. */
  start(): Promise<void>;
  /** Ends what start() began, even while start() is still waiting. Called after the last request has ended. */
  stop(): Promise<void>;
  /**
   * Applies the pending migrations of its database and creates the indexes, instead of start(). Waits for the database as long
   * as it takes.
   */
  migrate?(): Promise<void>;
  /** The reason why it cannot serve at the moment, in a few words; undefined when it can. */
  unready(): Promise<string | undefined>;
  /** Called at the end of each of its requests. Must be fast, and not throw. */
  observe?(request: CompletedRequest): void;
  /**
   * Its metrics at /metrics, beside those of requests. Not a promise: a scrape gets what the service knows already, and waits for nothing.
   */
  metrics?(): readonly MetricFamily[];
  /**
   * Hands over what it has counted. Called after the last request has ended and before any service of the process is
   * stopped, since another may be the one that takes it.
   */
  flush?(): Promise<void>;
};

import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import type { MetricFamily } from '@gatehouse/core/metrics-text';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import {
  createRevocationSet,
  type Revocation,
  type RevocationSet,
  readRevocation,
} from '@gatehouse/verify/revocations';
import { createPublisherWatch } from './publisher-watch.ts';

/** The subject to which every service subscribes. A message is `{from, n, revocation?, ended?}`; without `revocation` it is a heartbeat. */
export const REVOCATIONS_SUBJECT = 'gatehouse.revocations';

/** The part of a broadcast that the feed needs (see @gatehouse/events/broadcast). */
export type RevocationBroadcast = {
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  /** Called after each (re)connection: messages sent before it may be lost. */
  onReconnect(listener: () => void): () => void;
  /** Called when the connection is lost. */
  onDisconnect(listener: () => void): () => void;
};

export type RevocationFeed = {
  /** Resolves when the revocations are loaded, however long that takes. Rejects if stop() comes first. */
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly set: RevocationSet;
  /** Throws `unavailable` when too little is known about revocations to accept any credential. */
  check(): void;
  /** The reason why the feed cannot be relied on; undefined if it can. */
  unready(): string | undefined;
  /** How far it may be behind, for /metrics. */
  metrics(): MetricFamily[];
};

const RETRY_DELAY_MS = { first: 200, max: 5000 };
/** Services that start together cannot reach each other at once: failures are not logged for this long. */
const STARTUP_GRACE_MS = 1500;
/** How often the log says that credentials are refused for want of room. */
const FULL_LOG_INTERVAL_MS = 60_000;
/** The pause between two fetches while there is no connection: a revocation must be known within a second then, too. */
const DISCONNECTED_POLL_MS = 300;
/** The least time between two fetches, so that a flood of bad messages does not become a flood of fetches. */
const MIN_FETCH_INTERVAL_MS = 50;

/**
 * Keeps a RevocationSet up to date, from a snapshot and then from a broadcast. The broadcast may lose messages: whenever
 * one may be missing (a gap in a publisher's numbers, a silent publisher, no connection), the changes are fetched. They
 * are fetched every minute in any case: a broadcast that has split passes on the messages of some publishers alone, and
 * nothing shows that there are others.
 * Durations are measured with this machine's clock alone, and `as_of` is opaque.
 */
export function createRevocationFeed(options: {
  broadcast: RevocationBroadcast;
  /**
   * Resolves to `{revocations, as_of, more}`: those since an earlier answer's `as_of`, or all; a page of them if `more` is
   * true. Must settle within a few seconds.
   */
  fetch: (since?: string) => Promise<unknown>;
  logger: Logger;
  /** How long credentials are accepted without news. */
  staleAfterSeconds?: number;
  /** A publisher without a message for this long counts as silent; it sends one every 2 s. */
  silentAfterSeconds?: number;
  /** The interval between fetches while messages may be missing. */
  pollSeconds?: number;
  /** The interval between fetches while nothing seems to be missing. */
  rereadSeconds?: number;
  set?: RevocationSet;
  /** Called for each entry received, even if it is already known. */
  onRevocation?: (revocation: Revocation) => void;
}): RevocationFeed {
  const { broadcast, logger, staleAfterSeconds = 300, silentAfterSeconds = 5, pollSeconds = 1 } = options;
  const { set = createRevocationSet(), onRevocation, rereadSeconds = 60 } = options;
  const publishers = createPublisherWatch({
    silentAfter: silentAfterSeconds * 1000,
    // How long a publisher that has ended is awaited: as long as credentials are accepted without news.
    forgottenAfter: Math.max(staleAfterSeconds, 2 * silentAfterSeconds) * 1000,
  });
  const loaded = Promise.withResolvers<void>();
  // If the feed is stopped before it is started, nobody awaits this.
  loaded.promise.catch(() => {});
  const unsubscribes: (() => void)[] = [];
  /** How far the responses reach; after a fetch that was broken off, the page to continue after. */
  let asOf: string | undefined;
  let isLoaded = false;
  let rereadAt = Number.NEGATIVE_INFINITY;
  let fullLoggedAt = Number.NEGATIVE_INFINITY;
  /** When it was last certain that nothing was missing. */
  let freshAt = Number.NEGATIVE_INFINITY;
  /** How many times something may have been missed, and how many of these times a fetch has covered. */
  let gaps = 1;
  let closedGaps = 0;
  /** Failed fetches in a row. */
  let failures = 0;
  let isSilent = false;
  let isConnected = true;
  let wasPolling = false;
  let startedAt = Number.NEGATIVE_INFINITY;

  function openGap(): void {
    gaps += 1;
    // A failed fetch is not repeated before its pause is over.
    if (failures === 0) following.wake();
  }

  function add(revocation: Revocation): void {
    set.add(revocation);
    onRevocation?.(revocation);
    if (set.refusedUntil === undefined || performance.now() - fullLoggedAt < FULL_LOG_INTERVAL_MS) return;
    fullLoggedAt = performance.now();
    const refused_until = new Date(set.refusedUntil * 1000).toISOString();
    logger.error({ size: set.size, refused_until }, 'too many revocations: older credentials are refused');
  }

  function receive(message: unknown): void {
    const { from, n, revocation, ended } = Object(message) as Record<string, unknown>;
    if (typeof from !== 'string' || !Number.isSafeInteger(n)) {
      logger.warn('a malformed message was ignored');
      return;
    }
    const entry = revocation === undefined ? undefined : readRevocation(revocation);
    if (entry !== undefined) add(entry);
    else if (revocation !== undefined) logger.warn('a malformed revocation was ignored');
    const isNext = publishers.hear(from, n as number);
    if (ended === true) publishers.forget(from);
    if (!isNext || (entry === undefined && revocation !== undefined)) openGap();
    // While another publisher is silent, only a fetch shows whether something is missing.
    else if (gaps === closedGaps && publishers.silent() === 0) freshAt = performance.now();
  }

  async function load(signal: AbortSignal): Promise<void> {
    const begun = performance.now();
    const covered = gaps;
    while (await loadPage(signal));
    if (signal.aborted) return;
    closedGaps = covered;
    freshAt = begun;
    rereadAt = performance.now() + jittered(rereadSeconds * 1000);
    isLoaded = true;
    loaded.resolve();
  }

  /** Returns whether there is another. */
  async function loadPage(signal: AbortSignal): Promise<boolean> {
    const response = await options.fetch(asOf);
    if (signal.aborted) return false;
    const { revocations, as_of: next, more } = Object(response) as Record<string, unknown>;
    if (!Array.isArray(revocations) || typeof next !== 'string') throw new Error('the answer is malformed');
    const entries = revocations.map(readRevocation).filter((entry) => entry !== undefined);
    if (entries.length < revocations.length) logger.warn('malformed revocations were ignored');
    for (const entry of entries) add(entry);
    asOf = next;
    return more === true;
  }

  /** Fetches at once when something may be missing, then repeatedly until nothing is, and from time to time in any case. */
  const following = createPeriodicTask({
    immediately: true,
    async run(signal) {
      isSilent = publishers.silent() > 0;
      const isDue = performance.now() >= rereadAt;
      if (isSilent || !isConnected || gaps > closedGaps || isDue) await load(signal);
      if (signal.aborted) return;
      failures = 0;
      reportPolling(isSilent || !isConnected);
      await sleep(MIN_FETCH_INTERVAL_MS, undefined, { signal }).catch(() => {});
    },
    onError(error) {
      failures += 1;
      reportPolling(true, error);
    },
    everyMs() {
      if (failures > 0 && !isLoaded) {
        return jittered(Math.min(RETRY_DELAY_MS.first * 2 ** (failures - 1), RETRY_DELAY_MS.max));
      }
      if (failures === 0 && gaps > closedGaps) return 0;
      if (failures > 0) return jittered(pollSeconds * 1000);
      if (!isConnected) return jittered(Math.min(DISCONNECTED_POLL_MS, pollSeconds * 1000));
      if (isSilent) return jittered(pollSeconds * 1000);
      return Math.min(publishers.nextSilence(), Math.max(0, rereadAt - performance.now()) + 1);
    },
  });

  function reportPolling(isPolling: boolean, error?: unknown): void {
    if (!isLoaded && performance.now() - startedAt < STARTUP_GRACE_MS) return;
    if (isPolling && !wasPolling) {
      logger.warn({ err: error, poll_seconds: pollSeconds }, 'revocations may be missing; polling for them');
    } else if (!isPolling && wasPolling) {
      logger.info('revocations are broadcast again');
    }
    wasPolling = isPolling;
  }

  const isStale = () => performance.now() - freshAt > staleAfterSeconds * 1000;

  return {
    set,
    async start() {
      // Before the first fetch, so that nothing revoked between the two is missed.
      unsubscribes.push(
        broadcast.subscribe(REVOCATIONS_SUBJECT, receive),
        broadcast.onReconnect(() => {
          isConnected = true;
          openGap();
        }),
        broadcast.onDisconnect(() => {
          isConnected = false;
          openGap();
        }),
      );
      startedAt = performance.now();
      publishers.begin();
      following.start();
      await loaded.promise;
    },
    async stop() {
      // A fetch under way is not awaited: its response is ignored.
      void following.stop();
      for (const unsubscribe of unsubscribes) unsubscribe();
      loaded.reject(new Error('stopped while waiting for the revocations'));
    },
    check() {
      if (isStale()) throw unavailable('It is not known at the moment which credentials are revoked.');
    },
    unready() {
      if (!isLoaded) return 'the revocations are not loaded yet';
      return isStale() ? 'the revocations are out of date' : undefined;
    },
    metrics: () => [
      {
        name: 'gatehouse_revocations_behind_seconds',
        help: 'The time since the revocations were last known to be complete.',
        type: 'gauge',
        samples: isLoaded ? [{ value: (performance.now() - freshAt) / 1000 }] : [],
      },
    ],
  };
}

/** Spreads the requests of replicas over time. */
function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}

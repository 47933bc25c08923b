import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { createPublisherWatch } from './publisher-watch.ts';
import { createRevocationSet, type Revocation, type RevocationSet, readRevocation } from './revocations.ts';

/** What every service listens to. A message is `{from, n, revocation?}`; without `revocation` it is a heartbeat. */
export const REVOCATIONS_SUBJECT = 'gatehouse.revocations';

/** What the feed needs of a broadcast (see @gatehouse/events/broadcast). */
export type RevocationBroadcast = {
  subscribe(subject: string, listener: (message: unknown) => void): () => void;
  /** Called after each (re)connection: what was sent before may be lost. */
  onReconnect(listener: () => void): () => void;
};

export type RevocationFeed = {
  /** Resolves when the revocations are known; tries for as long as it takes. Rejects when stop() comes first. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** What is revoked, as far as it is known. */
  readonly set: RevocationSet;
  /** Throws `unavailable` when too little is known about revocations to take any credential. */
  check(): void;
  /** What keeps the feed from being relied on; undefined when nothing does. */
  unready(): string | undefined;
};

/** In milliseconds. */
const RETRY_DELAY = { first: 200, most: 5000 };
/** How long a failure to load passes for a start, and is not worth a line. */
const STARTING = 1500;
/** Between two fetches in any case, so that a flood of bad messages does not become one of fetches. */
const SHORTEST_PAUSE = 50;

/**
 * Keeps a RevocationSet up to date: by a snapshot, then by what is broadcast. The broadcast loses messages; wherever
 * one may be missing (a gap in a publisher's numbers, a publisher that has gone silent, a reconnection), what has
 * changed is fetched. Durations are measured by this machine's clock alone, and `as_of` is not interpreted.
 */
export function createRevocationFeed(options: {
  broadcast: RevocationBroadcast;
  /** What was revoked since an earlier answer's `as_of`, or all: `{revocations, as_of}`. Must end in a few seconds. */
  fetch: (since?: string) => Promise<unknown>;
  logger: Logger;
  /** For how long credentials are taken without news. */
  staleAfterSeconds?: number;
  /** After how long without a message a publisher, which sends one every 2 s, counts as silent. */
  silentAfterSeconds?: number;
  /** How often is fetched while messages may be missing. */
  pollSeconds?: number;
  set?: RevocationSet;
  /** Called for each entry that comes in, also for one that is known already. */
  onRevocation?: (revocation: Revocation) => void;
}): RevocationFeed {
  const { broadcast, logger, staleAfterSeconds = 300, silentAfterSeconds = 5, pollSeconds = 1 } = options;
  const { set = createRevocationSet(), onRevocation } = options;
  const publishers = createPublisherWatch({
    silentAfter: silentAfterSeconds * 1000,
    // A publisher that has ended is not waited for longer than credentials are taken without news.
    forgottenAfter: Math.max(staleAfterSeconds, 2 * silentAfterSeconds) * 1000,
  });
  const stopping = new AbortController();
  const loaded = Promise.withResolvers<void>();
  // Whoever stops it before it is started waits for nothing.
  loaded.promise.catch(() => {});
  const unsubscribes: (() => void)[] = [];
  let asOf: string | undefined;
  /** When it was last certain that nothing was missing. */
  let freshAt = Number.NEGATIVE_INFINITY;
  /** How many times something may have been missed, and how many of these a fetch has made up for. */
  let gaps = 1;
  let startedAt = Number.NEGATIVE_INFINITY;
  let closedGaps = 0;
  let wake = () => {};
  let polling = false;

  function openGap(): void {
    gaps += 1;
    wake();
  }

  function add(revocation: Revocation): void {
    set.add(revocation);
    onRevocation?.(revocation);
  }

  function receive(message: unknown): void {
    const { from, n, revocation } = Object(message) as Record<string, unknown>;
    if (typeof from !== 'string' || !Number.isSafeInteger(n)) {
      logger.warn('a message that is no revocation was ignored');
      return;
    }
    const entry = revocation === undefined ? undefined : readRevocation(revocation);
    if (entry !== undefined) add(entry);
    else if (revocation !== undefined) logger.warn('a revocation that cannot be read was ignored');
    const isNext = publishers.hear(from, n as number);
    if (!isNext || (entry === undefined && revocation !== undefined)) openGap();
    // While another publisher is silent, only a fetch tells whether something is missing.
    else if (gaps === closedGaps && publishers.silent() === 0) freshAt = performance.now();
  }

  async function load(): Promise<void> {
    const begun = performance.now();
    const covered = gaps;
    const answer = await options.fetch(asOf);
    if (stopping.signal.aborted) return;
    const { revocations, as_of: next } = Object(answer) as Record<string, unknown>;
    if (!Array.isArray(revocations) || typeof next !== 'string')
      throw new Error('the answer has another form');
    const entries = revocations.map(readRevocation).filter((entry) => entry !== undefined);
    if (entries.length < revocations.length) logger.warn('revocations that cannot be read were ignored');
    for (const entry of entries) add(entry);
    asOf = next;
    closedGaps = covered;
    freshAt = begun;
    loaded.resolve();
  }

  /** Fetches whenever something may be missing: at once, and then again and again until nothing is. */
  async function follow(): Promise<void> {
    let retryDelay = RETRY_DELAY.first;
    while (!stopping.signal.aborted) {
      const isSilent = publishers.silent() > 0;
      let failure: unknown;
      if (isSilent || gaps > closedGaps) {
        failure = await load().then(
          () => undefined,
          (error) => error ?? new Error('it failed'),
        );
      }
      if (stopping.signal.aborted) return;
      tell(isSilent || failure !== undefined, failure);
      if (failure === undefined) {
        await pause(SHORTEST_PAUSE);
        const longest = isSilent ? jittered(pollSeconds * 1000) : publishers.nextSilence();
        if (gaps === closedGaps) await pauseUntilWoken(longest);
      } else if (asOf === undefined) {
        await pause(jittered(retryDelay));
        retryDelay = Math.min(retryDelay * 2, RETRY_DELAY.most);
      } else {
        await pause(jittered(pollSeconds * 1000));
      }
    }
  }

  function tell(isPolling: boolean, failure: unknown): void {
    // What starts together takes a moment until it can ask each other.
    if (asOf === undefined && performance.now() - startedAt < STARTING) return;
    if (isPolling && !polling) {
      logger.warn(
        { err: failure, poll_seconds: pollSeconds },
        'revocations may be missing; polling for them',
      );
    } else if (!isPolling && polling) {
      logger.info('revocations are broadcast again');
    }
    polling = isPolling;
  }

  function pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});
  }

  async function pauseUntilWoken(ms: number): Promise<void> {
    const woken = new AbortController();
    wake = () => woken.abort();
    if (!stopping.signal.aborted) await sleep(ms, undefined, { signal: woken.signal }).catch(() => {});
    wake = () => {};
  }

  const isStale = () => performance.now() - freshAt > staleAfterSeconds * 1000;

  return {
    set,
    async start() {
      // Before the first fetch, so that what is revoked between the two is not missed.
      unsubscribes.push(broadcast.subscribe(REVOCATIONS_SUBJECT, receive), broadcast.onReconnect(openGap));
      startedAt = performance.now();
      publishers.begin();
      void follow();
      await loaded.promise;
    },
    async stop() {
      stopping.abort();
      wake();
      for (const unsubscribe of unsubscribes) unsubscribe();
      loaded.reject(new Error('stopped while waiting for the revocations'));
    },
    check() {
      if (isStale()) throw unavailable('Which credentials are revoked is not known just now.');
    },
    unready() {
      if (asOf === undefined) return 'the revocations are not loaded yet';
      return isStale() ? 'the revocations are out of date' : undefined;
    },
  };
}

/** So that replicas do not ask in step. */
function jittered(ms: number): number {
  return ms * (0.75 + Math.random() / 2);
}

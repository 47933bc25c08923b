import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gatehouse/core/logger';
import { createRevocationFeed, REVOCATIONS_SUBJECT } from '@gatehouse/tokens/revocation-feed';
import type { Revocation } from '@gatehouse/verify/revocations';
import type { Test } from 'tap';
import { callerWith } from './callers.ts';

export const LATER = Math.floor(Date.now() / 1000) + 3600;
export const AWAY = { name: 'ServiceError', kind: 'unavailable' };
export const revocationOf = (id: string): Revocation => ({ kind: 'token', id, expiresAt: LATER });

export async function until(holds: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`${what}: not within 5 s`);
    await sleep(5);
  }
}

type Options = Partial<Parameters<typeof createRevocationFeed>[0]>;

/** A feed with an identity that knows what is in `known`; times are short: a publisher is silent after 100 ms. */
export function setUp(t: Test, options: Options = {}) {
  const lines: { level: string; msg: string }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const listeners = new Set<(message: unknown) => void>();
  const reconnected = new Set<() => void>();
  const disconnected = new Set<() => void>();
  const identity = {
    known: [] as Revocation[],
    fetches: [] as (string | undefined)[],
    failure: undefined as unknown,
    response: undefined as unknown,
  };
  const feed = createRevocationFeed({
    broadcast: {
      subscribe(subject, listener) {
        t.equal(subject, REVOCATIONS_SUBJECT);
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      onReconnect(listener) {
        reconnected.add(listener);
        return () => void reconnected.delete(listener);
      },
      onDisconnect(listener) {
        disconnected.add(listener);
        return () => void disconnected.delete(listener);
      },
    },
    async fetch(since) {
      identity.fetches.push(since);
      if (identity.failure !== undefined) throw identity.failure;
      const { known } = identity;
      return (
        identity.response ?? { revocations: known.slice(Number(since ?? 0)), as_of: String(known.length) }
      );
    },
    logger: createLogger({ name: 'test', readable: false, destination }),
    silentAfterSeconds: 0.1,
    pollSeconds: 0.03,
    staleAfterSeconds: 5,
    ...options,
  });
  const send = (message: unknown) => {
    for (const listener of listeners) listener(message);
  };
  /** A publisher, which sends a heartbeat every 20 ms. */
  const publish = (from: string, first = 1) => {
    let n = first - 1;
    const next = (revocation?: unknown) => {
      n += 1;
      send({ from, n, ...(revocation === undefined ? {} : { revocation }) });
    };
    const beating = setInterval(() => next(), 20);
    const stop = () => clearInterval(beating);
    t.teardown(stop);
    next();
    return {
      next,
      stop,
      lose: () => {
        n += 1;
      },
    };
  };
  t.teardown(() => feed.stop());
  const isRevoked = (id: string) => feed.set.isRevoked(callerWith({ tokenId: id }));
  const reconnect = () => {
    for (const listener of reconnected) listener();
  };
  const disconnect = () => {
    for (const listener of disconnected) listener();
  };
  return { feed, identity, lines, listeners, reconnected, send, publish, reconnect, disconnect, isRevoked };
}

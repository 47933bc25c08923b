import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { Logger } from '@gatehouse/kit/logger';
import { REVOCATIONS_SUBJECT } from '@gatehouse/tokens/revocation-feed';
import type { Revocation } from '@gatehouse/tokens/revocations';
import type { RevocationStore, StoredRevocation } from './revocation-store.ts';

/** In milliseconds: how often a listener is told that nothing is wrong, and how soon an announcement is made up for. */
const HEARTBEAT = 2000;
const SWEEP = 1000;
/** How far back a listener's question reaches beyond what it has seen: writes of other replicas may overtake, in ms. */
const OVERLAP = 5000;

export type Revocations = {
  /** Durable when it resolves, and on its way to every service. */
  write(entries: readonly Revocation[]): Promise<void>;
  /** The same; false when it was there already: of several at the same moment, one is the first. */
  writeOnce(entry: Revocation): Promise<boolean>;
  /** What a listener that has seen everything up to `since` needs to know; without it, all that is in force. */
  list(since: string | undefined): Promise<{ revocations: Revocation[]; as_of: string }>;
  start(): void;
  stop(): Promise<void>;
};

/**
 * The source of the revocation feed: first to MongoDB, then to everybody. What could not be announced, because the
 * broadcast was away or the process died, is announced by a sweep of this or another replica.
 */
export function createRevocations(options: {
  store: RevocationStore;
  broadcast: Broadcast;
  logger: Logger;
}): Revocations {
  const { store, broadcast, logger } = options;
  const from = randomUUID();
  const stopping = new AbortController();
  const running: Promise<void>[] = [];
  let count = 0;

  function send(revocation?: Revocation): Promise<void> {
    count += 1;
    return broadcast.publish(REVOCATIONS_SUBJECT, {
      from,
      n: count,
      ...(revocation === undefined ? {} : { revocation }),
    });
  }

  async function announce(entry: StoredRevocation): Promise<void> {
    try {
      await send(revocationOf(entry));
      await store.announced(entry);
    } catch (error) {
      logger.debug({ err: error }, 'a revocation could not be announced yet');
    }
  }

  async function every(ms: number, action: () => Promise<unknown>): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(ms, undefined, { signal: stopping.signal }).catch(() => {});
      if (!stopping.signal.aborted) await action().catch(() => {});
    }
  }

  async function put({ expiresAt, epoch, ...entry }: Revocation): Promise<StoredRevocation> {
    const written = await store.put({ ...entry, epoch, expiresAt: new Date(expiresAt * 1000) });
    // Not awaited beyond the sending: the mark only spares the sweep a repetition.
    void announce(written);
    return written;
  }

  return {
    async write(entries) {
      await Promise.all(entries.map(put));
    },
    writeOnce: async (entry) => (await put(entry)).revision === 1,
    async list(since) {
      const time = since === undefined ? undefined : Date.parse(since);
      const known = time === undefined || Number.isNaN(time) ? undefined : time;
      const entries = await store.since(known === undefined ? undefined : new Date(known - OVERLAP));
      const latest = Math.max(known ?? 0, ...entries.map(({ updatedAt }) => updatedAt.getTime()));
      return { revocations: entries.map(revocationOf), as_of: new Date(latest).toISOString() };
    },
    start() {
      running.push(
        every(HEARTBEAT, () => send()),
        every(SWEEP, async () => {
          for (const entry of await store.pending()) await announce(entry);
        }),
      );
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

function revocationOf({ kind, id, epoch, expiresAt }: StoredRevocation): Revocation {
  return {
    kind: kind as Revocation['kind'],
    id,
    ...(epoch === undefined ? {} : { epoch }),
    expiresAt: Math.ceil(expiresAt.getTime() / 1000),
  };
}

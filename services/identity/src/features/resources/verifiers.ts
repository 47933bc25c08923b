import { randomUUID } from 'node:crypto';
import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import { LRUCache } from 'lru-cache';
import { isTest, type VerifierDescription } from './verifier.ts';
import { POLLING, type VerifierStore } from './verifier-store.ts';

const RECORD_MS = 30_000;

/** The connection of a verifier to the feed. */
export type VerifierConnection = {
  /** All that was sent up to a time has been taken. */
  caughtUp(time: number): void;
  sent(id: string): void;
  close(): void;
};

/** The verifiers that read at this process, which are recorded at connect, and every 30 s at most. The feed never waits for that. */
export type Verifiers = PeriodicTask & {
  connect(resource: string, verifier: VerifierDescription): VerifierConnection;
  /** Records one that reads JSON, and these revocations as sent. */
  poll(resource: string, verifier: VerifierDescription, sent: readonly { id: string }[]): void;
};

export function createVerifiers(options: {
  store: Pick<VerifierStore, 'put' | 'touch' | 'close' | 'noteTest'>;
  logger: Logger;
  recordMs?: number;
}): Verifiers {
  const { store, logger, recordMs = RECORD_MS } = options;
  const connections = new Set<{ resource: string; id: string; connection: string; caughtUpAt: number }>();
  const recorded = new LRUCache<string, string>({ max: 10_000, ttl: recordMs });
  const onError = (err: unknown) => logger.debug({ err }, 'the verifiers of APIs could not be recorded');

  async function put(resource: string, verifier: VerifierDescription, connection: string): Promise<void> {
    const key = `${resource} ${verifier.id}`;
    if (recorded.get(key) === connection) return;
    recorded.set(key, connection);
    await store.put(resource, verifier, connection).catch(onError);
  }

  function noteSent(resource: string, id: string, revocation: string): void {
    if (isTest(revocation)) store.noteTest(resource, id, revocation, 'sent').catch(onError);
  }

  async function touchAll(): Promise<void> {
    const now = Date.now();
    await store.touch([...connections].map((it) => ({ ...it, behindMs: now - it.caughtUpAt })));
  }

  return {
    ...createPeriodicTask({ run: touchAll, everyMs: recordMs, onError }),
    connect(resource, verifier) {
      const { id } = verifier;
      const one = { resource, id, connection: randomUUID(), caughtUpAt: Date.now() };
      connections.add(one);
      const begun = put(resource, verifier, one.connection);
      return {
        caughtUp(time) {
          one.caughtUpAt = time;
        },
        sent: (revocation) => noteSent(resource, id, revocation),
        close() {
          connections.delete(one);
          begun.then(() => store.close(resource, id, one.connection)).catch(onError);
        },
      };
    },
    poll(resource, verifier, sent) {
      void put(resource, verifier, POLLING);
      for (const { id } of sent) noteSent(resource, verifier.id, id);
    },
  };
}

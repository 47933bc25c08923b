import { createOutboxRelay, type OutboxEvent } from '@gatehouse/events/outbox-relay';
import type { Logger } from '@gatehouse/kit/logger';
import type { Database } from '@gatehouse/mongo/database';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { RevocationSet } from '@gatehouse/tokens/revocations';
import type { AccountChanged } from './user.ts';

/** How long the request that made a change waits for identity to know of it, in milliseconds. */
const PATIENCE = 500;
/** No token lives longer than this, in seconds. */
const LONGEST_TOKEN = 86_400;

export type AccountEvents = {
  /** Starts looking for events that were not delivered, of this process and of any other. */
  start(): void;
  stop(): Promise<void>;
  /** Resolves when identity knows of the change, or after a moment: then it learns of it later. Never rejects. */
  announce(event: AccountChanged): Promise<void>;
};

/**
 * What users publishes: that the epochs of an account have been raised. The event is stored with its cause, and
 * delivered to identity as often as it takes. What is left of an account that was deleted goes with its last event.
 */
export function createAccountEvents(options: {
  connection: Database['connection'];
  /** Where identity is, as seen from here. */
  identityUrl: string;
  client: InternalClient;
  revocations: RevocationSet;
  logger: Logger;
}): AccountEvents {
  const { connection, identityUrl, client, revocations, logger } = options;

  async function deliver({ id, at, data }: OutboxEvent): Promise<void> {
    const response = await client.fetch(`${identityUrl}/internal/identity/account-changes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, at, ...data }),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`identity has not taken the event: it answered ${response.status}`);
  }

  const relay = createOutboxRelay({
    collection: connection.collection('users'),
    deliver,
    logger,
    tombstone: { deleted_at: { $gt: new Date(0) } },
  });
  return {
    start: relay.start,
    stop: relay.stop,
    async announce({ userId, epoch }) {
      // Here at once, whatever becomes of identity.
      const expiresAt = Math.floor(Date.now() / 1000) + LONGEST_TOKEN;
      revocations.add({ kind: 'subject', id: userId, epoch, expiresAt });
      await relay.push(userId, PATIENCE);
    },
  };
}

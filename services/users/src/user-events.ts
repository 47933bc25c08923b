import type { EventTransport } from '@gatehouse/events/local-events';
import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import type { Logger } from '@gatehouse/kit/logger';
import type { Database } from '@gatehouse/mongo/database';
import type { OutboxEvent } from '@gatehouse/mongo/outbox';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { RevocationSet } from '@gatehouse/tokens/revocations';
import type { AccountChanged, UserStore } from './user.ts';
import { ACCOUNT_CHANGED } from './user-changes.ts';

/** How long the request that made a change waits for identity to know of it. */
const MAX_WAIT_MS = 500;
/** No token lives longer than this. */
const MAX_TOKEN_SECONDS = 86_400;

export type AccountEvents = {
  /** Starts looking for events that were not delivered, of this process and of any other. */
  start(): void;
  stop(): Promise<void>;
  /** Resolves when identity knows of the change, or after a moment: then it learns of it later. Never rejects. */
  announce(event: AccountChanged): Promise<void>;
  /** The store, with the events `users.user.*` of each write on their way when it resolves. */
  publishing<S extends UserStore>(store: S): S;
};

/**
 * What users publishes: to identity that the epochs of an account have been raised (`users.account.changed`), and to all
 * listeners that a user was created, changed or deleted (`users.user.*`). Events are stored with their cause, and
 * delivered as often as it takes.
 */
export function createAccountEvents(options: {
  connection: Database['connection'];
  /** Of identity's internal routes. */
  client: InternalClient;
  revocations: RevocationSet;
  logger: Logger;
  /** Where `users.user.*` go; without it nobody listens, and they are let go. */
  transport?: EventTransport | undefined;
}): AccountEvents {
  const { connection, client, revocations, logger, transport } = options;

  async function tellIdentity({ id, at, data }: OutboxEvent): Promise<void> {
    const { status } = await client.request('POST', '/account-changes', { id, at, ...data });
    if (status >= 400) throw new Error(`identity has not taken the event: it answered ${status}`);
  }

  const publisher = createOutboxPublisher({
    collection: connection.collection('users'),
    logger,
    transport,
    receivers: { [ACCOUNT_CHANGED]: tellIdentity },
  });

  return {
    start: publisher.start,
    stop: publisher.stop,
    async announce({ userId, epoch }) {
      // Here at once, whatever becomes of identity.
      const expiresAt = Math.floor(Date.now() / 1000) + MAX_TOKEN_SECONDS;
      revocations.add({ kind: 'subject', id: userId, epoch, expiresAt });
      await publisher.deliver(userId, ACCOUNT_CHANGED, MAX_WAIT_MS);
    },
    publishing: (store) =>
      publisher.publishing(store, ['insert', 'update', 'verifyEmail', 'changeSecurity', 'remove']),
  };
}

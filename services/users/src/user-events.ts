import type { EventTransport } from '@gatehouse/events/local-events';
import { createOutboxRelay, type OutboxEvent } from '@gatehouse/events/outbox-relay';
import type { Logger } from '@gatehouse/kit/logger';
import type { Database } from '@gatehouse/mongo/database';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { RevocationSet } from '@gatehouse/tokens/revocations';
import type { AccountChanged, UserStore } from './user.ts';

/** How long the request that made a change waits for identity to know of it, in milliseconds. */
const PATIENCE = 500;
/** No token lives longer than this, in seconds. */
const LONGEST_TOKEN = 86_400;

/** Identity is told of accounts whose tokens end, all others of users; neither waits for the other. */
type Lane = 'account' | 'user';

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
 * What users publishes: to identity that the epochs of an account have been raised (`users.account.changed`), and to
 * whoever listens that a user was created, changed or deleted (`users.user.*`). Events are stored with their cause, and
 * delivered as often as it takes. What is left of an account that was deleted goes with its last event.
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

  const relay = createOutboxRelay({
    collection: connection.collection('users'),
    lane: laneOf,
    deliver: async (event) => (laneOf(event) === 'account' ? tellIdentity(event) : transport?.publish(event)),
    logger,
    tombstone: { deleted_at: { $gt: new Date(0) } },
  });

  /** Not waited for: whoever listens does so in their own time. */
  function send(id: string): void {
    void relay.push(id, undefined, 'user' satisfies Lane);
  }

  return {
    start: relay.start,
    stop: relay.stop,
    async announce({ userId, epoch }) {
      // Here at once, whatever becomes of identity.
      const expiresAt = Math.floor(Date.now() / 1000) + LONGEST_TOKEN;
      revocations.add({ kind: 'subject', id: userId, epoch, expiresAt });
      await relay.push(userId, PATIENCE, 'account' satisfies Lane);
    },
    publishing(store) {
      function afterwards<A extends [id: string, ...rest: unknown[]], R>(write: (...given: A) => Promise<R>) {
        return async (...given: A): Promise<R> => {
          const done = await write(...given);
          // Otherwise nothing was written.
          if (done !== undefined) send(given[0]);
          return done;
        };
      }
      return {
        ...store,
        async insert(user) {
          await store.insert(user);
          send(user.id);
        },
        update: afterwards(store.update),
        verifyEmail: afterwards(store.verifyEmail),
        changeStanding: afterwards(store.changeStanding),
        remove: afterwards(store.remove),
      };
    },
  };
}

function laneOf({ subject }: OutboxEvent): Lane {
  return subject.startsWith('users.user.') ? 'user' : 'account';
}

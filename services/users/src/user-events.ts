import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import type { Database } from '@gatehouse/data/database';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import type { EventTransport } from '@gatehouse/events/local-events';
import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import type { RevocationSet } from '@gatehouse/verify/revocations';
import type { AccountChanged, UserStore } from './user.ts';
import { ACCOUNT_CHANGED, ACCOUNT_RECORDED, erasureSubject, subjectOf } from './user-changes.ts';

/** How long the request that makes a change waits until identity has received it. */
const MAX_WAIT_MS = 500;
/** The pause after the first failure, twice as long after each further one. */
const RETRY_MS = 25;
/** No token lives longer than this. */
const MAX_TOKEN_SECONDS = 86_400;

type AccountEvents = {
  /** Starts looking for undelivered events, of this process and of any other. */
  start(): void;
  stop(): Promise<void>;
  /**
   * Resolves when identity has received the change, or after MAX_WAIT_MS: it is then delivered later. A change that is only recorded is
   * not waited for. Never rejects.
   */
  publishAccountChange(event: AccountChanged): Promise<void>;
  /** The store, which publishes the events `users.user.*` of each write. */
  publishing<S extends UserStore>(store: S): S;
};

/**
 * The events of users: `users.account.changed` tells identity that the epochs of an account were raised, or its verified
 * address replaced; `users.account.recorded` tells it what else the audit log is to have; `users.user.*` tell all
 * subscribers that a user was created, changed or deleted; `users.erasure.*` make each service erase what it holds about a deleted
 * user. Events are stored in the write that causes them, and delivered at
 * least once.
 */
export function createAccountEvents(options: {
  connection: Database['connection'];
  /** For identity's internal routes. */
  client: InternalClient;
  revocations: RevocationSet;
  /** The services that erase what they hold about deleted people, with clients of their internal routes. */
  erasers?: readonly { name: string; client: InternalClient }[];
  logger: Logger;
  /** Takes `users.user.*`; without it they are dropped. */
  transport?: EventTransport | undefined;
}): AccountEvents {
  const { connection, client, revocations, erasers = [], logger, transport } = options;

  /** Repeated at once, since another replica of identity receives what one could not that was killed. */
  async function publishInTime(userId: string): Promise<void> {
    const deadline = performance.now() + MAX_WAIT_MS;
    for (let pause = RETRY_MS; ; pause *= 2) {
      if (await publisher.publish(userId, ACCOUNT_CHANGED, deadline - performance.now())) return;
      if (performance.now() + pause > deadline) return;
      await sleep(pause);
    }
  }

  async function tellIdentity({ id, at, data }: OutboxEvent): Promise<void> {
    const { status } = await client.request('POST', '/account-changes', { id, at, ...data });
    if (status >= 400) throw new Error(`identity has not taken the event: it answered ${status}`);
  }

  const erasures = erasers.map(({ name, client }) => [
    erasureSubject(name),
    async ({ data }: OutboxEvent) => {
      const { status } = await client.request('POST', '/erasures', data);
      if (status >= 400) throw new Error(`${name} has not taken the event: it answered ${status}`);
    },
  ]);

  const publisher = createOutboxPublisher({
    collection: connection.collection('users'),
    logger,
    transport,
    receivers: {
      [ACCOUNT_CHANGED]: tellIdentity,
      [ACCOUNT_RECORDED]: tellIdentity,
      ...Object.fromEntries(erasures),
    },
  });

  return {
    start: publisher.start,
    stop: publisher.stop,
    async publishAccountChange(change) {
      const { userId, epoch } = change;
      if (subjectOf(change) === ACCOUNT_RECORDED) {
        publisher.send(userId, ACCOUNT_RECORDED);
        return;
      }
      // In this process at once, even if identity cannot be reached.
      const expiresAt = Math.floor(Date.now() / 1000) + MAX_TOKEN_SECONDS;
      revocations.add({ kind: 'subject', id: userId, epoch, expiresAt });
      if (change.reason === 'deleted') {
        for (const { name } of erasers) publisher.send(userId, erasureSubject(name));
      }
      await publishInTime(userId);
    },
    publishing: (store) =>
      publisher.publishing(store, [
        'insert',
        'update',
        'verifyEmail',
        'restoreEmail',
        'changeSecurity',
        'remove',
      ]),
  };
}

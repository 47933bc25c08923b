import type { Logger } from '@gatehouse/core/logger';
import type { Database } from '@gatehouse/data/database';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { LANES, QUEUE_ACTION } from './lane-store.ts';

/** How long the request of an operator waits until identity has its action; it is delivered later otherwise. */
const MAX_WAIT_MS = 500;

/** Tells identity, which has the audit log, what operators do to queues: at least once, from the documents of the lanes. */
export function createQueueActions(options: {
  connection: Database['connection'];
  /** For identity's internal routes. */
  identity: InternalClient;
  logger: Logger;
}) {
  const { connection, identity, logger } = options;

  async function tellIdentity({ id, data }: OutboxEvent): Promise<void> {
    const { status } = await identity.request('POST', '/queue-actions', { id, ...data });
    if (status >= 400) throw new Error(`identity has not taken the action: it answered ${status}`);
  }

  const { start, stop, deliver } = createOutboxPublisher({
    collection: connection.collection(LANES),
    logger,
    receivers: { [QUEUE_ACTION]: tellIdentity },
    tombstones: false,
  });
  return {
    start,
    stop,
    /** Delivers the actions of a lane; resolves when identity has them, or takes too long. Never rejects. */
    deliver: (lane: string) => deliver(lane, QUEUE_ACTION, MAX_WAIT_MS),
  };
}

import type { Logger } from '@gatehouse/core/logger';
import type { Database } from '@gatehouse/data/database';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import type { InternalClient } from '@gatehouse/tokens/internal-client';

/** How long the request of an operator waits until identity has recorded its action; after that, it is delivered later. */
const MAX_WAIT_MS = 500;

/**
 * Tells identity, which has the audit log, what people do here: at least once, from the outboxes of a collection.
 *
 * @param options.subject the subject of the events that are actions
 */
export function createReportedActions(options: {
  connection: Database['connection'];
  collection: string;
  subject: string;
  /** For identity's internal routes. */
  identity: InternalClient;
  logger: Logger;
}) {
  const { connection, collection, subject, identity, logger } = options;

  async function tellIdentity({ id, data }: OutboxEvent): Promise<void> {
    const { status } = await identity.request('POST', '/queue-actions', { id, ...data });
    if (status >= 400) throw new Error(`identity has not taken the action: it answered ${status}`);
  }

  const { start, stop, publish, send } = createOutboxPublisher({
    collection: connection.collection(collection),
    logger,
    receivers: { [subject]: tellIdentity },
  });
  return {
    start,
    stop,
    /** Publishes the actions of a document; resolves when identity has them, or takes too long. Never rejects. */
    publish: (document: string) => publish(document, subject, MAX_WAIT_MS),
    /** As publish(), for callers that do not wait. */
    send: (document: string) => send(document, subject),
  };
}

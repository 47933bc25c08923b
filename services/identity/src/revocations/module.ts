import type { Logger } from '@gatehouse/core/logger';
import type { Broadcast } from '@gatehouse/events/broadcast';
import { createRevocationFeed } from '@gatehouse/tokens/revocation-feed';
import type { Connection } from 'mongoose';
import { createRevocationStore } from './revocation-store.ts';
import { createRevocations } from './revocations.ts';

/** The source of the revocation feed, and the feed as this service itself follows it. */
export function createRevocationsModule(options: {
  connection: Connection;
  broadcast: Broadcast;
  tokenLifetime: number;
  isOnlyWriter: boolean;
  staleAfterSeconds: number | undefined;
  /** An application was revoked or changed, perhaps by another replica. */
  onClientChange(id: string): void;
  logger: Logger;
}) {
  const { connection, broadcast, staleAfterSeconds, onClientChange, logger } = options;
  const store = createRevocationStore(connection);
  const revocations = createRevocations({ ...options, store });
  const feed = createRevocationFeed({
    broadcast,
    fetch: revocations.list,
    logger,
    onRevocation: ({ kind, id }) => {
      if (kind === 'client') onClientChange(id);
    },
    ...(staleAfterSeconds === undefined ? {} : { staleAfterSeconds }),
  });
  return { revocations, feed, collections: [store.collection] };
}

import { createMessaging } from '@gatehouse/api/messaging';
import type { Logger } from '@gatehouse/core/logger';
import { deriveKeys } from '@gatehouse/core/sealing';
import { createDatabase } from '@gatehouse/data/database';
import { createRateLimitStore } from '@gatehouse/data/rate-limit-store';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { EventTransport } from '@gatehouse/events/local-events';
import { createToServiceError } from '../../http/service-error.ts';
import { type AuditEntry, createAudit } from '../audit/audit.ts';
import { auditEvent } from '../audit/audit-events.ts';
import { createAuditStore } from '../audit/audit-store.ts';
import type { Extensions } from '../extensions.ts';
import type { CoreConfig } from './identity-config.ts';

/** The dependencies that a process may provide. It starts and stops the broadcast itself; without one, natsUrl must be set. */
export type IdentityDependencies = {
  broadcast?: Broadcast;
  /** Takes the events of the service, and what was counted, which go over NATS otherwise. */
  events?: EventTransport;
};

/** The connections of the service, to its database and to the other processes; and its audit log. */
export function createFoundation(
  config: CoreConfig,
  parentLogger: Logger,
  dependencies: IdentityDependencies,
  { auditListeners, auditDestinations }: Pick<Extensions, 'auditListeners' | 'auditDestinations'>,
) {
  const logger = parentLogger.child({ service: 'identity' });
  const messaging = createMessaging('identity', config.natsUrl, dependencies, logger);
  const { broadcast, usage } = messaging;
  const { events, queues, nats } = messaging.context;
  const database = createDatabase({
    uri: config.mongodbUri,
    name: 'identity',
    logger,
    migrations: [],
    migrateAtStart: config.migrateAtStart,
  });
  const { connection } = database;
  const auditStore = createAuditStore(connection, auditDestinations);
  const [auditKey] = deriveKeys(config.masterKeys, 'audit');
  const audit = createAudit({
    store: auditStore,
    key: auditKey,
    keepDays: config.auditDays,
    logger,
    onRecord({ action, client, details }) {
      if (action === 'sign_in.succeeded') usage?.count('logins', client, signInMethod(details));
    },
    eventOf: auditEvent,
    isExported: () => auditDestinations.length > 0,
    async onStored(record) {
      for (const listen of auditListeners) await listen(record);
    },
  });
  return {
    logger,
    broadcast,
    /** Whether no other process revokes anything. */
    isOnlyWriter: nats === undefined,
    usage,
    /** Takes the events of the service. */
    events,
    queues,
    database,
    connection,
    auditStore,
    audit,
    sharedLimits: config.rateLimitStore === 'mongodb' ? createRateLimitStore(connection) : undefined,
    toServiceError: createToServiceError(logger, database.unavailable),
    onTokenIssued: (clientId: string | undefined) => usage?.count('tokens_issued', clientId),
    /** In the order in which they are started. */
    connections: [...messaging.connections, database],
  };
}

/** How somebody signed in, by the details of the entry about it: the first factor, and whether a code was needed. */
function signInMethod(details: AuditEntry['details'] = {}): string {
  const { provider, method = 'password', second_factor: factor } = details;
  const first = String(provider ?? method);
  return factor === undefined || factor === 'remembered_browser' ? first : `${first}+code`;
}

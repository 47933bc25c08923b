import type { Logger } from '@gatehouse/core/logger';
import { deriveKeys } from '@gatehouse/core/sealing';
import { createDatabase } from '@gatehouse/data/database';
import { createRateLimitStore } from '@gatehouse/data/rate-limit-store';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { EventTransport } from '@gatehouse/events/local-events';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createServiceUsage } from '@gatehouse/events/service-usage';
import { createToServiceError } from '../../http/service-error.ts';
import { type AuditEntry, createAudit } from '../audit/audit.ts';
import { auditEvent } from '../audit/audit-events.ts';
import { createAuditStore } from '../audit/audit-store.ts';
import type { Extensions } from '../extensions.ts';
import type { IdentityConfig } from './identity-config.ts';
import { IDENTITY_MIGRATIONS } from './migrations.ts';

/** The dependencies that a process may provide. It starts and stops the broadcast itself; without one, natsUrl must be set. */
export type IdentityDependencies = {
  broadcast?: Broadcast;
  /** Takes to analytics what was counted, which is sent over NATS otherwise. */
  events?: EventTransport;
};

/** The connections of the service: to its database, to the other processes, and to analytics; and its audit log. */
export function createFoundation(
  config: IdentityConfig,
  parentLogger: Logger,
  dependencies: IdentityDependencies,
  { auditListeners }: Pick<Extensions, 'auditListeners'>,
) {
  const logger = parentLogger.child({ service: 'identity' });
  const ownBroadcast = dependencies.broadcast === undefined ? natsBroadcast(config, logger) : undefined;
  const broadcast = dependencies.broadcast ?? (ownBroadcast as Broadcast);
  const usage = createServiceUsage({
    name: 'identity',
    logger,
    events: dependencies.events,
    nats: ownBroadcast?.connection,
  });
  const database = createDatabase({
    uri: config.mongodbUri,
    name: 'identity',
    logger,
    migrations: IDENTITY_MIGRATIONS,
    migrateAtStart: config.migrateAtStart,
  });
  const { connection } = database;
  const auditStore = createAuditStore(connection);
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
    onStored(record) {
      for (const listener of auditListeners) listener(record);
    },
  });
  return {
    logger,
    broadcast,
    /** Whether no other process revokes anything. */
    isOnlyWriter: ownBroadcast === undefined,
    usage,
    database,
    connection,
    auditStore,
    audit,
    sharedLimits: config.rateLimitStore === 'mongodb' ? createRateLimitStore(connection) : undefined,
    toServiceError: createToServiceError(logger, database.unavailable),
    onTokenIssued: (clientId: string | undefined) => usage?.count('tokens_issued', clientId),
    /** In the order in which they are started. */
    connections: [ownBroadcast ?? {}, usage ?? {}, database],
  };
}

/** How somebody signed in, by the details of the entry about it: the first factor, and whether a code was needed. */
function signInMethod(details: AuditEntry['details'] = {}): string {
  const { provider, method = 'password', second_factor: factor } = details;
  const first = String(provider ?? method);
  return factor === undefined || factor === 'remembered_browser' ? first : `${first}+code`;
}

function natsBroadcast({ natsUrl }: IdentityConfig, logger: Logger) {
  if (natsUrl === undefined) throw new Error('without a broadcast, natsUrl must be set');
  return createNatsBroadcast({ url: natsUrl, name: 'identity', logger });
}

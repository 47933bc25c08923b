import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import type { AuditRecord } from '../../core/audit/audit.ts';
import { AUDIT_EVENT } from '../../core/audit/audit-events.ts';
import type { Ports } from '../../core/ports.ts';
import type { IdentityModule } from '../../identity-module.ts';

/** Publishes sign-ins, and changes of applications and their credentials, from the entries of the audit log that are about them. */
export function events({ connection, auditStore, logger, events }: Ports): IdentityModule {
  const publisher = createOutboxPublisher({
    collection: connection.collection(auditStore.collection),
    logger,
    transport: events,
  });
  function published(record: AuditRecord): void {
    if (record.published !== undefined) publisher.send(record.id, AUDIT_EVENT);
  }
  return { parts: [publisher], extensions: { auditListeners: [published] } };
}

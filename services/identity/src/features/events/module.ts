import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import { createInternalClient } from '@gatehouse/tokens/internal-client';
import { AUDIT_EVENT } from '../../core/audit/audit-events.ts';
import type { Core } from '../../core/core.ts';
import type { IdentityModule } from '../../identity-module.ts';

/** Tells the notifications service of sign-ins, and of changes of applications and their credentials, which it delivers to webhooks. */
export function events(core: Core): IdentityModule {
  const { connection, auditStore, logger, requestToken, extensions } = core;
  const { notificationsUrl } = core.config;
  // Without one, nobody listens, and the events are let go.
  const client =
    notificationsUrl === undefined
      ? undefined
      : createInternalClient({ service: 'notifications', url: notificationsUrl, requestToken });

  async function tell({ id, at, subject, data }: OutboxEvent): Promise<void> {
    const response = await client?.request('POST', '/events', { id, at, subject, data });
    if (response !== undefined && response.status >= 400) {
      throw new Error(`notifications has not taken the event: it answered ${response.status}`);
    }
  }

  const publisher = createOutboxPublisher({
    collection: connection.collection(auditStore.collection),
    logger,
    receivers: { [AUDIT_EVENT]: tell },
    tombstones: false,
  });
  extensions.auditListeners.push((record) => {
    if (record.published !== undefined) publisher.send(record.id, AUDIT_EVENT);
  });
  return { parts: [publisher] };
}

import { type OutboxEvent, outboxEvent } from '@gatehouse/data/outbox';
import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { AuditRecord } from './audit.ts';

/** The subject of events that other services hear of. */
export const AUDIT_EVENT = 'identity.audit.recorded';

const SECRET = 'client_secret';
const API_KEY = 'api_key';

/** The actions that become events, and the kind of credential of each. */
const PUBLISHED: Partial<Record<AuditAction, { type: string; kind?: string }>> = {
  'sign_in.succeeded': { type: 'sign_in.succeeded' },
  'sign_in.failed': { type: 'sign_in.failed' },
  'application.created': { type: 'application.created' },
  'application.changed': { type: 'application.updated' },
  'application.transferred': { type: 'application.transferred' },
  'application.deleted': { type: 'application.deleted' },
  'secret.added': { type: 'credential.created', kind: SECRET },
  'secret.removed': { type: 'credential.revoked', kind: SECRET },
  'api_key.created': { type: 'credential.created', kind: API_KEY },
  'api_key.rotated': { type: 'credential.rotated', kind: API_KEY },
  'api_key.revoked': { type: 'credential.revoked', kind: API_KEY },
};

/** The event of an entry of the audit log, to be stored with it; undefined for most. */
export function auditEvent({ id, action, subject, client }: AuditRecord): OutboxEvent | undefined {
  const published = PUBLISHED[action];
  // Nobody can be told of a failed sign-in to an unknown account, at no application.
  if (published === undefined || (subject === undefined && client === undefined)) return undefined;
  const data = { ...published, user_id: subject ?? null, client_id: client ?? null };
  return outboxEvent(AUDIT_EVENT, data, id.replace(/^aud_/, 'evt_'));
}

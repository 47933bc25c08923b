import type { AuditAction } from '@gatehouse/domain/audit-actions';
import type { AuditRecord } from '../../../src/core/audit/audit.ts';

/** An entry of the audit log with a value in each field. */
export function entryOf(action: AuditAction): AuditRecord {
  return {
    id: 'aud_01m7g9w2k0000c4v8x3r6t5n1z',
    action,
    at: new Date('2026-11-02T09:30:00Z'),
    expiresAt: new Date('2027-11-02T09:30:00Z'),
    actor: 'usr_admin',
    subject: 'usr_ann',
    client: 'app_web',
    origin: { address: '192.0.2.1', userAgent: 'Browser/1', requestId: 'req_1' },
    loginHash: 'hash',
    details: { fields: ['username'], nothing: null },
  };
}

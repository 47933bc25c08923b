import { listOf, managed, type Operations, response, shape } from '../../openapi/operations.ts';
import {
  AUDIT_PATH,
  AuditEntryView,
  auditEndpoint,
  LastSignInsQuery,
  LastSignInView,
} from './audit-routes.ts';

const at = '2026-11-02T09:30:00.000Z';

const [auditPage] = auditEndpoint.responses;
if (auditPage === undefined) throw new Error('the audit log has no answer');
const auditEntry = shape('AuditEntry', AuditEntryView, {
  id: 'aud_01m7g9w2k0000c4v8x3r6t5n1z',
  action: 'account.changed',
  created_at: at,
  actor: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
  subject: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
  client: 'gatehouse-login',
  address: '192.0.2.1',
  user_agent: 'curl/8.5.0',
  request_id: 'req_01',
  details: { change: 'role', from: 'user', to: 'editor' },
});
const lastSignIn = shape('LastSignIn', LastSignInView, {
  user_id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
  signed_in_at: at,
});

/** The audit log. */
export const auditOperations: Operations = {
  [`GET ${AUDIT_PATH}`]: managed({
    operationId: 'list_api_v1_audit',
    tag: AUDIT_PATH,
    summary: 'List the audit log',
    description:
      'For admins. Who did what to accounts, applications, keys and queues, when and from where; the latest entry first.',
    query: [{ profile: 'cursor', schema: auditEndpoint.query }],
    responses: {
      200: response('A page of the log.', { name: 'AuditPage', schema: auditPage, parts: [auditEntry] }),
    },
  }),
  [`GET ${AUDIT_PATH}/last-sign-ins`]: managed({
    operationId: 'list_last_sign_ins_api_v1_audit',
    tag: AUDIT_PATH,
    summary: 'Ask when people last signed in',
    description:
      'For admins. In browsers and by logins at the API, as far back as the audit log goes; people who have not signed in since are not in the response.',
    query: [{ profile: 'interface', schema: LastSignInsQuery }],
    responses: { 200: response('The last sign-in of each person.', listOf('LastSignIns', lastSignIn)) },
  }),
};

import { Type } from 'typebox';
import {
  AUDIT_PATH,
  AuditEntryView,
  auditEndpoint,
  LastSignInsQuery,
  LastSignInView,
} from '../api/audit-routes.ts';
import { Login } from '../api/auth-routes.ts';
import { SessionQuery, SessionView } from '../api/session-routes.ts';
import { KeyRotation, SigningKeys, SigningKeyView } from '../api/signing-key-routes.ts';
import { listOf, managed, type Operations, ofAuth, response, shape } from './operations.ts';

const AUTH = '/api/v1/auth';
const SESSIONS = '/api/v1/sessions';
const KEYS = '/api/v1/signing-keys';
const at = '2026-11-02T09:30:00.000Z';
const OrNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

const loginResult = shape(
  'LoginResult',
  Type.Object({ token: Type.String({ description: 'An access token.' }), user_id: Type.String() }),
  { token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2ln', user_id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q' },
);
const status = shape(
  'AuthStatus',
  Type.Object({
    authenticated: Type.Boolean(),
    user_id: OrNull('Null without a credential, and for one that is no person’s.'),
  }),
  { authenticated: false, user_id: null },
);
const permissions = shape(
  'Permissions',
  Type.Object({
    user_id: OrNull('Null for a machine.'),
    client_id: Type.String(),
    roles: Type.Array(Type.String()),
    scopes: Type.Array(Type.String()),
  }),
);

/** /api/v1/auth. */
export const authOperations: Operations = {
  [`POST ${AUTH}/login`]: ofAuth({
    ...{ operationId: 'login_api_v1_auth', tag: AUTH, summary: 'Log in with a password' },
    description:
      'For programs of one’s own, as the password goes through them: applications for others use the authorization code flow ' +
      '(RFC 9700 §2.4). A deployment can turn it off.',
    body: [shape('Login', Login, { username: 'ada', password: 'correct horse battery' })],
    responses: { 200: response('The login.', loginResult) },
    kinds: ['unauthenticated', 'forbidden', 'rate_limited', 'unavailable'],
  }),
  [`GET ${AUTH}/status`]: ofAuth({
    ...{ operationId: 'status_api_v1_auth', tag: AUTH, summary: 'Ask who is logged in' },
    description: 'By the Authorization header, or by a token in the query, which logs of others may keep.',
    query: [{ profile: 'interface', schema: Type.Object({ token: Type.Optional(Type.String()) }) }],
    responses: { 200: response('Who it is.', status) },
    kinds: ['unauthenticated', 'rate_limited', 'unavailable'],
  }),
  [`POST ${AUTH}/logout`]: ofAuth({
    ...{ operationId: 'logout_api_v1_auth', tag: AUTH, summary: 'Log out' },
    description: 'Ends the token, and the login or the grant that it belongs to.',
    scopes: [],
    responses: { 204: { description: 'The token is no longer accepted.' } },
  }),
  [`POST ${AUTH}/refresh`]: ofAuth({
    ...{ operationId: 'refresh_api_v1_auth', tag: AUTH, summary: 'Renew the token of a login' },
    description: 'The old token ends. For at most 30 days after the login.',
    scopes: [],
    responses: { 200: response('The new token.', loginResult) },
  }),
  [`GET ${AUTH}/permissions`]: ofAuth({
    ...{ operationId: 'permissions_api_v1_auth', tag: AUTH, summary: 'Ask what the credential permits' },
    scopes: [],
    responses: { 200: response('Roles and scopes.', permissions) },
  }),
};

const session = shape('Session', SessionView, {
  ...{ id: 'lgn_01m7g9w2k0000c4v8x3r6t5n1z', type: 'login', client: 'curl/8.5.0', address: '192.0.2.1' },
  ...{ created_at: at, last_used_at: at, current: true },
});
const query = [{ profile: 'interface', schema: SessionQuery }];
const [auditPage] = auditEndpoint.responses;
if (auditPage === undefined) throw new Error('the audit log has no answer');
const auditEntry = shape('AuditEntry', AuditEntryView, {
  ...{ id: 'aud_01m7g9w2k0000c4v8x3r6t5n1z', action: 'account.changed', created_at: at },
  ...{ actor: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', subject: 'usr_01m7g9x1h0000d6w2y8s4v7r3t' },
  ...{ client: 'gatehouse-login', address: '192.0.2.1', user_agent: 'curl/8.5.0', request_id: 'req_01' },
  details: { change: 'role', from: 'user', to: 'editor' },
});
const lastSignIn = shape('LastSignIn', LastSignInView, {
  ...{ user_id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', signed_in_at: at },
});
const signingKey = shape('SigningKey', SigningKeyView, {
  ...{ kid: 'key_01m7g9w2k0000c4v8x3r6t5n1z', alg: 'ES256', state: 'current' },
  ...{ created_at: at, activated_at: at, retired_at: null },
});
const signingKeys = { name: 'SigningKeys', schema: SigningKeys, parts: [signingKey] };

/** Sessions, and what admins see and do. */
export const administrationOperations: Operations = {
  [`GET ${SESSIONS}`]: managed({
    ...{ operationId: 'list_api_v1_sessions', tag: SESSIONS, summary: 'List sessions and logins' },
    description: 'The 200 of each kind that were used last.',
    query,
    responses: { 200: response('Where the person is signed in.', listOf('Sessions', session)) },
    kinds: ['not_found'],
  }),
  [`DELETE ${SESSIONS}`]: managed({
    ...{ operationId: 'remove_all_api_v1_sessions', tag: SESSIONS, summary: 'End all sessions and logins' },
    query,
    responses: { 204: { description: 'They have ended, and so have their tokens.' } },
    kinds: ['not_found'],
  }),
  [`DELETE ${SESSIONS}/:id`]: managed({
    ...{ operationId: 'remove_api_v1_sessions', tag: SESSIONS, summary: 'End a session or a login' },
    query,
    responses: { 204: { description: 'It has ended, and so have its tokens.' } },
    kinds: ['not_found'],
  }),
  [`GET ${AUDIT_PATH}`]: managed({
    ...{ operationId: 'list_api_v1_audit', tag: AUDIT_PATH, summary: 'List the audit log' },
    description:
      'For admins. Who did what to accounts, applications, keys and queues, when and from where; the latest entry first.',
    query: [{ profile: 'cursor', schema: auditEndpoint.query }],
    responses: {
      200: response('A page of the log.', { name: 'AuditPage', schema: auditPage, parts: [auditEntry] }),
    },
  }),
  [`GET ${AUDIT_PATH}/last-sign-ins`]: managed({
    ...{
      operationId: 'list_last_sign_ins_api_v1_audit',
      tag: AUDIT_PATH,
      summary: 'Ask when people last signed in',
    },
    description:
      'For admins. In browsers and by logins at the API, as far back as the audit log goes; whoever has not signed in since is not in the response.',
    query: [{ profile: 'interface', schema: LastSignInsQuery }],
    responses: { 200: response('The last sign-in of each person.', listOf('LastSignIns', lastSignIn)) },
  }),
  [`GET ${KEYS}`]: managed({
    ...{ operationId: 'list_api_v1_signing_keys', tag: KEYS, summary: 'List the signing keys' },
    description: 'For admins. Without the keys themselves; their public parts are in the JWK set.',
    responses: { 200: response('By algorithm, the newest first.', signingKeys) },
  }),
  [`POST ${KEYS}/rotate`]: managed({
    ...{ operationId: 'rotate_api_v1_signing_keys', tag: KEYS, summary: 'Rotate signing keys' },
    description:
      'For admins. The next key signs from now on, and a new next one is published. 409 while the next key has been published ' +
      'for less than 15 minutes: verifiers that cache keys may not know it yet.',
    body: [shape('KeyRotation', KeyRotation, { kids: ['key_01m7g9w2k0000c4v8x3r6t5n1z'] })],
    responses: { 200: response('All keys, as they are now.', signingKeys) },
    kinds: ['conflict'],
  }),
};

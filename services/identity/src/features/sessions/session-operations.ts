import { listOf, managed, type Operations, response, shape } from '../../openapi/operations.ts';
import { SessionQuery, SessionView } from './session-routes.ts';

const SESSIONS = '/api/v1/sessions';
const at = '2026-11-02T09:30:00.000Z';

const session = shape('Session', SessionView, {
  id: 'lgn_01m7g9w2k0000c4v8x3r6t5n1z',
  type: 'login',
  client: 'curl/8.5.0',
  address: '192.0.2.1',
  created_at: at,
  last_used_at: at,
  current: true,
});
const query = [{ profile: 'interface', schema: SessionQuery }];

/** Where people are signed in. */
export const sessionOperations: Operations = {
  [`GET ${SESSIONS}`]: managed({
    operationId: 'list_api_v1_sessions',
    tag: SESSIONS,
    summary: 'List sessions and logins',
    description: 'The 200 of each kind that were used last.',
    query,
    responses: { 200: response('Where the person is signed in.', listOf('Sessions', session)) },
    kinds: ['not_found'],
  }),
  [`DELETE ${SESSIONS}`]: managed({
    operationId: 'remove_all_api_v1_sessions',
    tag: SESSIONS,
    summary: 'End all sessions and logins',
    query,
    responses: { 204: { description: 'They have ended, and so have their tokens.' } },
    kinds: ['not_found'],
  }),
  [`DELETE ${SESSIONS}/:id`]: managed({
    operationId: 'remove_api_v1_sessions',
    tag: SESSIONS,
    summary: 'End a session or a login',
    query,
    responses: { 204: { description: 'It has ended, and so have its tokens.' } },
    kinds: ['not_found'],
  }),
};

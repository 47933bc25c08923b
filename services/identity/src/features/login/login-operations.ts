import { Type } from 'typebox';
import { type Operations, ofAuth, response, shape } from '../../openapi/operations.ts';
import { Login } from './auth-routes.ts';

const AUTH = '/api/v1/auth';
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
    operationId: 'login_api_v1_auth',
    tag: AUTH,
    summary: 'Log in with a password',
    description:
      'For programs of one’s own, as the password goes through them: applications for others use the authorization code flow ' +
      '(RFC 9700 §2.4). A deployment can turn it off.',
    body: [shape('Login', Login, { username: 'ada', password: 'correct horse battery' })],
    responses: { 200: response('The login.', loginResult) },
    kinds: ['unauthenticated', 'forbidden', 'rate_limited', 'unavailable'],
  }),
  [`GET ${AUTH}/status`]: ofAuth({
    operationId: 'status_api_v1_auth',
    tag: AUTH,
    summary: 'Ask who is logged in',
    description: 'By the Authorization header, or by a token in the query, which logs of others may keep.',
    query: [{ profile: 'interface', schema: Type.Object({ token: Type.Optional(Type.String()) }) }],
    responses: { 200: response('Who it is.', status) },
    kinds: ['unauthenticated', 'rate_limited', 'unavailable'],
  }),
  [`POST ${AUTH}/logout`]: ofAuth({
    operationId: 'logout_api_v1_auth',
    tag: AUTH,
    summary: 'Log out',
    description: 'Ends the token, and the login or the grant that it belongs to.',
    scopes: [],
    responses: { 204: { description: 'The token is no longer accepted.' } },
  }),
  [`POST ${AUTH}/refresh`]: ofAuth({
    operationId: 'refresh_api_v1_auth',
    tag: AUTH,
    summary: 'Renew the token of a login',
    description: 'The old token ends. For at most 30 days after the login.',
    scopes: [],
    responses: { 200: response('The new token.', loginResult) },
  }),
  [`GET ${AUTH}/permissions`]: ofAuth({
    operationId: 'permissions_api_v1_auth',
    tag: AUTH,
    summary: 'Ask what the credential permits',
    scopes: [],
    responses: { 200: response('Roles and scopes.', permissions) },
  }),
};

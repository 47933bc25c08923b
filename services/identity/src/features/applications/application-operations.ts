import { Type } from 'typebox';
import { managed, type Operations, response, shape } from '../../openapi/operations.ts';
import { applicationList, Changes, Draft } from './application-routes.ts';
import { APPLICATIONS } from './manager-routes.ts';
import { ApplicationView } from './views.ts';

const tag = APPLICATIONS;
const at = '2026-11-02T09:30:00.000Z';

export const application = shape('Application', ApplicationView, {
  client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z',
  name: 'Lighthouse',
  type: 'web',
  redirect_uris: ['https://lighthouse.example/callback'],
  post_logout_redirect_uris: [],
  scopes: ['openid', 'read:data'],
  profiles: { items: 'cursor' },
  legacy_implicit: false,
  trusted: false,
  trusted_by: null,
  trusted_at: null,
  owner: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
  token_endpoint_auth_method: 'client_secret_basic',
  jwks: null,
  backchannel_logout_uri: null,
  dpop_bound_access_tokens: false,
  require_pushed_authorization_requests: false,
  id_token_signed_response_alg: 'RS256',
  security_profile: null,
  last_used_at: null,
  last_used_address: null,
  created_at: at,
  updated_at: at,
});
const created = shape(
  'CreatedApplication',
  Type.Object({
    ...ApplicationView.properties,
    client_secret: Type.Optional(
      Type.String({ description: 'Shown only here; absent from an application that has none.' }),
    ),
  }),
);
const [page] = applicationList.responses;
if (page === undefined) throw new Error('the list of applications has no answer');

const one = `${APPLICATIONS}/:client_id`;
const headers = { Location: 'always' } as const;

/** The applications of developers. */
export const applicationOperations: Operations = {
  [`GET ${APPLICATIONS}`]: managed({
    operationId: 'list_api_v1_applications',
    tag,
    summary: 'List applications',
    description: 'One’s own; admins get all.',
    query: [{ profile: 'cursor', schema: applicationList.query }],
    responses: {
      200: response('A page of the list.', { name: 'ApplicationPage', schema: page, parts: [application] }),
    },
  }),
  [`POST ${APPLICATIONS}`]: managed({
    operationId: 'create_api_v1_applications',
    tag,
    summary: 'Create an application',
    body: [
      shape('NewApplication', Draft, {
        name: 'Lighthouse',
        type: 'web',
        redirect_uris: ['https://lighthouse.example/callback'],
        scopes: ['openid', 'read:data'],
      }),
    ],
    responses: { 201: { ...response('The application has been created.', created), headers } },
    kinds: ['conflict'],
  }),
  [`GET ${one}`]: managed({
    operationId: 'read_api_v1_applications',
    tag,
    summary: 'Read an application',
    responses: { 200: response('The application.', application) },
    kinds: ['not_found'],
  }),
  [`PATCH ${one}`]: managed({
    operationId: 'patch_api_v1_applications',
    tag,
    summary: 'Change an application',
    description:
      'Fields that are not in the body stay as they are. Less scopes end the access tokens. 409 if it is to have a ' +
      'security profile, or access tokens that are bound to a key, and has API keys: revoke them first.',
    body: [shape('ApplicationChanges', Changes, { name: 'Lighthouse 2' })],
    responses: { 200: response('The changed application.', application) },
    kinds: ['not_found', 'conflict'],
  }),
  [`DELETE ${one}`]: managed({
    operationId: 'remove_api_v1_applications',
    tag,
    summary: 'Delete an application',
    description: 'Ends its tokens, its API keys, and what people have granted to it.',
    responses: { 204: { description: 'The application has been deleted.' } },
    kinds: ['not_found'],
  }),
};

import { Type } from 'typebox';
import {
  applicationList,
  Changes,
  Draft,
  Key,
  Rotation,
  Secret,
  Transfer,
} from '../applications/application-routes.ts';
import { ApplicationView, KeyView, SecretView, TransferView } from '../applications/views.ts';
import { listOf, managed, type Operations, response, shape } from './operations.ts';

const ROOT = '/api/v1/applications';
const TRANSFERS = '/api/v1/transfers';
const tag = ROOT;
const at = '2026-11-02T09:30:00.000Z';
const uses = { last_used_at: null, last_used_address: null };

const application = shape('Application', ApplicationView, {
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
  ...uses,
  created_at: at,
  updated_at: at,
});
const transfer = shape('Transfer', TransferView, {
  id: 'trf_01m7g9w2k0000c4v8x3r6t5n1z',
  sender: { id: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', username: 'ada' },
  to: 'usr_01m7g9x1h0000d6w2y8s4v7r3t',
  created_at: at,
  expires_at: '2026-11-09T09:30:00.000Z',
  application: {
    client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z',
    name: 'Lighthouse',
    type: 'web',
    redirect_uris: ['https://lighthouse.example/callback'],
    post_logout_redirect_uris: [],
    scopes: ['openid', 'read:data'],
    trusted: false,
    grant_types: ['authorization_code', 'refresh_token'],
  },
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
const secret = shape('ClientSecret', SecretView, {
  id: 'sec_1',
  label: 'web-1',
  last_four: 'x7Qa',
  created_at: at,
  expires_at: null,
  ...uses,
});
const createdSecret = shape(
  'CreatedClientSecret',
  Type.Object({ ...SecretView.properties, client_secret: Type.String({ description: 'Shown only here.' }) }),
);
const key = shape('ApiKey', KeyView, {
  id: '4fGq9LxT2mZ8',
  name: 'Nightly run',
  scopes: ['read:data'],
  prefix: 'gatehouse_4fGq9LxT2mZ8',
  last_four: 'k2Jd',
  created_at: at,
  expires_at: null,
  ...uses,
  rotated_to: null,
});
const createdKey = shape(
  'CreatedApiKey',
  Type.Object({ ...KeyView.properties, api_key: Type.String({ description: 'Shown only here.' }) }),
);
const [page] = applicationList.responses;
if (page === undefined) throw new Error('the list of applications has no answer');

const one = `${ROOT}/:client_id`;
const secrets = `${one}/secrets`;
const keys = `${one}/api-keys`;
const headers = { Location: 'always' } as const;

/** The applications of developers, their secrets and their API keys. */
export const applicationOperations: Operations = {
  [`GET ${ROOT}`]: managed({
    ...{ operationId: 'list_api_v1_applications', tag, summary: 'List applications' },
    description: 'One’s own; admins get all.',
    query: [{ profile: 'cursor', schema: applicationList.query }],
    responses: {
      200: response('A page of the list.', { name: 'ApplicationPage', schema: page, parts: [application] }),
    },
  }),
  [`POST ${ROOT}`]: managed({
    ...{ operationId: 'create_api_v1_applications', tag, summary: 'Create an application' },
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
    ...{ operationId: 'read_api_v1_applications', tag, summary: 'Read an application' },
    responses: { 200: response('The application.', application) },
    kinds: ['not_found'],
  }),
  [`PATCH ${one}`]: managed({
    ...{ operationId: 'patch_api_v1_applications', tag, summary: 'Change an application' },
    description:
      'Fields that are not in the body stay as they are. Less scopes end the access tokens. 409 if it is to have a ' +
      'security profile, or access tokens that are bound to a key, and has API keys: revoke them first.',
    body: [shape('ApplicationChanges', Changes, { name: 'Lighthouse 2' })],
    responses: { 200: response('The changed application.', application) },
    kinds: ['not_found', 'conflict'],
  }),
  [`DELETE ${one}`]: managed({
    ...{ operationId: 'remove_api_v1_applications', tag, summary: 'Delete an application' },
    description: 'Ends its tokens, its API keys, and what people have granted to it.',
    responses: { 204: { description: 'The application has been deleted.' } },
    kinds: ['not_found'],
  }),
  [`POST ${one}/transfer`]: managed({
    ...{
      operationId: 'transfer_api_v1_applications',
      tag,
      summary: 'Offer an application to another person',
    },
    description:
      'They have 7 days to accept, and are told by mail; a change of the application ends the offer, and another offer replaces ' +
      'it. Only admins offer one to somebody with a higher role than their own. An admin who names themselves has it at once.',
    body: [shape('ApplicationTransfer', Transfer, { to: 'grace' })],
    responses: {
      200: response('The application, which the admin now owns.', application),
      202: response('The pending transfer.', transfer),
    },
    kinds: ['not_found', 'conflict'],
  }),
  [`GET ${one}/transfer`]: managed({
    ...{ operationId: 'read_api_v1_applications_transfer', tag, summary: 'Read the pending transfer' },
    responses: { 200: response('The pending transfer.', transfer) },
    kinds: ['not_found'],
  }),
  [`DELETE ${one}/transfer`]: managed({
    ...{ operationId: 'cancel_api_v1_applications_transfer', tag, summary: 'Cancel the pending transfer' },
    responses: { 204: { description: 'It can no longer be accepted.' } },
    kinds: ['not_found'],
  }),
  [`GET ${TRANSFERS}`]: managed({
    ...{
      operationId: 'list_api_v1_transfers',
      tag: TRANSFERS,
      summary: 'List the applications offered to you',
    },
    description: 'The oldest first, at most 20.',
    responses: { 200: response('The pending transfers.', listOf('Transfers', transfer)) },
  }),
  [`POST ${TRANSFERS}/:id/accept`]: managed({
    ...{ operationId: 'accept_api_v1_transfers', tag: TRANSFERS, summary: 'Accept an application' },
    description:
      'You become its owner. Its secrets, public keys, API keys, tokens and trust end, and so does all that people have allowed ' +
      'it: they are asked again. Its redirect URIs stay.',
    responses: { 200: response('The application, which is yours.', application) },
    kinds: ['not_found', 'conflict'],
  }),
  [`POST ${TRANSFERS}/:id/decline`]: managed({
    ...{ operationId: 'decline_api_v1_transfers', tag: TRANSFERS, summary: 'Decline an application' },
    responses: { 204: { description: 'It stays with its owner.' } },
    kinds: ['not_found'],
  }),
  [`GET ${secrets}`]: managed({
    ...{ operationId: 'list_api_v1_applications_secrets', tag, summary: 'List the client secrets' },
    responses: { 200: response('The secrets that have not expired.', listOf('ClientSecrets', secret)) },
    kinds: ['not_found'],
  }),
  [`POST ${secrets}`]: managed({
    ...{ operationId: 'create_api_v1_applications_secrets', tag, summary: 'Add a client secret' },
    description: 'Two can be valid at a time, so that one is replaced without downtime.',
    body: [shape('NewClientSecret', Secret, { label: 'web-1', expires_in: 31_536_000 })],
    responses: { 201: { ...response('The secret has been added.', createdSecret), headers } },
    kinds: ['not_found', 'conflict'],
  }),
  [`DELETE ${secrets}/:id`]: managed({
    ...{ operationId: 'remove_api_v1_applications_secrets', tag, summary: 'Remove a client secret' },
    responses: { 204: { description: 'The secret is no longer accepted.' } },
    kinds: ['not_found'],
  }),
  [`GET ${keys}`]: managed({
    ...{ operationId: 'list_api_v1_applications_api_keys', tag, summary: 'List the API keys' },
    responses: { 200: response('The keys that have not expired.', listOf('ApiKeys', key)) },
    kinds: ['not_found'],
  }),
  [`POST ${keys}`]: managed({
    ...{ operationId: 'create_api_v1_applications_api_keys', tag, summary: 'Create an API key' },
    description: '409 for an application with a security profile or access tokens that are bound to a key.',
    body: [shape('NewApiKey', Key, { name: 'Nightly run', scopes: ['read:data'] })],
    responses: { 201: { ...response('The key has been created.', createdKey), headers } },
    kinds: ['not_found', 'conflict'],
  }),
  [`GET ${keys}/:id`]: managed({
    ...{ operationId: 'read_api_v1_applications_api_keys', tag, summary: 'Read an API key' },
    responses: { 200: response('The key, without its text.', key) },
    kinds: ['not_found'],
  }),
  [`DELETE ${keys}/:id`]: managed({
    ...{ operationId: 'remove_api_v1_applications_api_keys', tag, summary: 'Revoke an API key' },
    responses: { 204: { description: 'The key is no longer accepted.' } },
    kinds: ['not_found'],
  }),
  [`POST ${keys}/:id/rotate`]: managed({
    ...{ operationId: 'rotate_api_v1_applications_api_keys', tag, summary: 'Replace an API key' },
    description: 'The old key is accepted for `overlap_seconds` more.',
    body: [shape('ApiKeyRotation', Rotation, { overlap_seconds: 86_400 })],
    responses: { 201: { ...response('The key that replaces it.', createdKey), headers } },
    kinds: ['not_found', 'conflict'],
  }),
};

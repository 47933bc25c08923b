import { Type } from 'typebox';
import { listOf, managed, type Operations, response, shape } from '../../openapi/operations.ts';
import { APPLICATIONS as tag } from '../applications/manager-routes.ts';
import { Key, Rotation } from './api-key-routes.ts';
import { KeyView } from './key-view.ts';

const keys = `${tag}/:client_id/api-keys`;
const at = '2026-11-02T09:30:00.000Z';
const uses = { last_used_at: null, last_used_address: null };
const headers = { Location: 'always' } as const;

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

/** The API keys of applications. */
export const apiKeyOperations: Operations = {
  [`GET ${keys}`]: managed({
    operationId: 'list_api_v1_applications_api_keys',
    tag,
    summary: 'List the API keys',
    responses: { 200: response('The keys that have not expired.', listOf('ApiKeys', key)) },
    kinds: ['not_found'],
  }),
  [`POST ${keys}`]: managed({
    operationId: 'create_api_v1_applications_api_keys',
    tag,
    summary: 'Create an API key',
    description: '409 for an application with a security profile or access tokens that are bound to a key.',
    body: [shape('NewApiKey', Key, { name: 'Nightly run', scopes: ['read:data'] })],
    responses: { 201: { ...response('The key has been created.', createdKey), headers } },
    kinds: ['not_found', 'conflict'],
  }),
  [`GET ${keys}/:id`]: managed({
    operationId: 'read_api_v1_applications_api_keys',
    tag,
    summary: 'Read an API key',
    responses: { 200: response('The key, without its text.', key) },
    kinds: ['not_found'],
  }),
  [`DELETE ${keys}/:id`]: managed({
    operationId: 'remove_api_v1_applications_api_keys',
    tag,
    summary: 'Revoke an API key',
    responses: { 204: { description: 'The key is no longer accepted.' } },
    kinds: ['not_found'],
  }),
  [`POST ${keys}/:id/rotate`]: managed({
    operationId: 'rotate_api_v1_applications_api_keys',
    tag,
    summary: 'Replace an API key',
    description: 'The old key is accepted for `overlap_seconds` more.',
    body: [shape('ApiKeyRotation', Rotation, { overlap_seconds: 86_400 })],
    responses: { 201: { ...response('The key that replaces it.', createdKey), headers } },
    kinds: ['not_found', 'conflict'],
  }),
};

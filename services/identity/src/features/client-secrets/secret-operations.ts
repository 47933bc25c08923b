import { Type } from 'typebox';
import { listOf, managed, type Operations, response, shape } from '../../openapi/operations.ts';
import { APPLICATIONS as tag } from '../applications/manager-routes.ts';
import { SecretView } from '../applications/views.ts';
import { Secret } from './secret-routes.ts';

const secrets = `${tag}/:client_id/secrets`;
const at = '2026-11-02T09:30:00.000Z';
const uses = { last_used_at: null, last_used_address: null };
const headers = { Location: 'always' } as const;

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

/** The client secrets of applications. */
export const secretOperations: Operations = {
  [`GET ${secrets}`]: managed({
    operationId: 'list_api_v1_applications_secrets',
    tag,
    summary: 'List the client secrets',
    responses: { 200: response('The secrets that have not expired.', listOf('ClientSecrets', secret)) },
    kinds: ['not_found'],
  }),
  [`POST ${secrets}`]: managed({
    operationId: 'create_api_v1_applications_secrets',
    tag,
    summary: 'Add a client secret',
    description: 'Two can be valid at a time, so that one is replaced without downtime.',
    body: [shape('NewClientSecret', Secret, { label: 'web-1', expires_in: 31_536_000 })],
    responses: { 201: { ...response('The secret has been added.', createdSecret), headers } },
    kinds: ['not_found', 'conflict'],
  }),
  [`DELETE ${secrets}/:id`]: managed({
    operationId: 'remove_api_v1_applications_secrets',
    tag,
    summary: 'Remove a client secret',
    responses: { 204: { description: 'The secret is no longer accepted.' } },
    kinds: ['not_found'],
  }),
};

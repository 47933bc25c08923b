import { v2Body } from '@gatehouse/api/http/error-bodies';
import { ok, shape } from '@gatehouse/api/openapi/shapes';
import { Type } from 'typebox';
import { type Api, createApi } from '../../http/api.ts';
import { POLL, PUSH } from './event-stream.ts';

/** The path of all endpoints of streams. */
export const PREFIX = '/api/v1/ssf';

const Url = Type.String({ format: 'uri' });
const metadataShape = shape(
  'TransmitterMetadata',
  Type.Object({
    spec_version: Type.String(),
    issuer: Url,
    jwks_uri: Url,
    delivery_methods_supported: Type.Array(Type.String()),
    configuration_endpoint: Url,
    status_endpoint: Url,
    add_subject_endpoint: Url,
    remove_subject_endpoint: Url,
    verification_endpoint: Url,
    authorization_schemes: Type.Array(Type.Object({ spec_urn: Type.String() })),
    default_subjects: Type.String(),
  }),
);

/** GET /.well-known/ssf-configuration (Shared Signals 1.0 §7). */
export function transmitterRoutes(issuer: string): Api {
  const api = createApi({
    prefix: '/.well-known/ssf-configuration',
    errors: { body: v2Body },
    identify: async () => ({}),
  });
  const at = (path: string) => issuer + PREFIX + path;
  const metadata = {
    spec_version: '1_0',
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    delivery_methods_supported: [PUSH, POLL],
    configuration_endpoint: at('/streams'),
    status_endpoint: at('/status'),
    add_subject_endpoint: at('/subjects/add'),
    remove_subject_endpoint: at('/subjects/remove'),
    verification_endpoint: at('/verify'),
    authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
    default_subjects: 'ALL',
  };
  api.get('read', '/', {
    summary: 'Read the metadata of the transmitter',
    description: 'Of Shared Signals 1.0 §7.1.',
    responses: ok('The metadata.', metadataShape),
    handle: () => metadata,
  });
  // In the reference it is with the endpoints that it names.
  const tagged = Object.entries(api.operations).map(([key, it]) => [key, { ...it, tag: PREFIX }]);
  return { ...api, operations: Object.fromEntries(tagged) };
}

import { managed, type Operations, response, shape } from '../openapi/operations.ts';
import { KeyRotation, SigningKeys, SigningKeyView } from './signing-key-routes.ts';

const KEYS = '/api/v1/signing-keys';
const at = '2026-11-02T09:30:00.000Z';

const signingKey = shape('SigningKey', SigningKeyView, {
  kid: 'key_01m7g9w2k0000c4v8x3r6t5n1z',
  alg: 'ES256',
  state: 'current',
  created_at: at,
  activated_at: at,
  retired_at: null,
});
const signingKeys = { name: 'SigningKeys', schema: SigningKeys, parts: [signingKey] };

/** The keys that tokens are signed with. */
export const signingKeyOperations: Operations = {
  [`GET ${KEYS}`]: managed({
    operationId: 'list_api_v1_signing_keys',
    tag: KEYS,
    summary: 'List the signing keys',
    description: 'For admins. Without the keys themselves; their public parts are in the JWK set.',
    responses: { 200: response('By algorithm, the newest first.', signingKeys) },
  }),
  [`POST ${KEYS}/rotate`]: managed({
    operationId: 'rotate_api_v1_signing_keys',
    tag: KEYS,
    summary: 'Rotate signing keys',
    description:
      'For admins. The next key signs from now on, and a new next one is published. 409 while the next key has been published ' +
      'for less than 15 minutes: verifiers that cache keys may not know it yet.',
    body: [shape('KeyRotation', KeyRotation, { kids: ['key_01m7g9w2k0000c4v8x3r6t5n1z'] })],
    responses: { 200: response('All keys, as they are now.', signingKeys) },
    kinds: ['conflict'],
  }),
};

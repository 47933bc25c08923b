import { listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { originOf } from '../core/audit/audit.ts';
import { SIGNING_ALGORITHMS } from '../core/tokens/signing-algorithms.ts';
import type { Api } from '../http/api.ts';
import { requireFirstPartyAdmin } from '../http/first-party.ts';
import { personApi } from '../http/person-api.ts';
import type { KeyAdministration, ListedKey } from './key-administration.ts';

const Time = Type.String({ format: 'date-time' });
const TimeOrNull = (description: string) => Type.Union([Time, Type.Null()], { description });

/** A signing key as the API returns it. */
const SigningKeyView = Type.Object({
  kid: Type.String(),
  alg: Type.String({ enum: [...SIGNING_ALGORITHMS] }),
  state: Type.String({
    enum: ['next', 'current', 'previous', 'retired'],
    description:
      '`current` signs, `next` is published and signs after the next rotation, `previous` is published until the tokens that ' +
      'it signed have expired, `retired` was compromised and is no longer accepted.',
  }),
  created_at: TimeOrNull('Null for a retired key.'),
  activated_at: TimeOrNull('When the key began to sign.'),
  retired_at: TimeOrNull('When the key stopped signing.'),
});
const EXAMPLE_KID = 'key_01m7g9w2k0000c4v8x3r6t5n1z';
const EXAMPLE_TIME = '2026-11-02T09:30:00.000Z';
const signingKeysShape = listOf(
  'SigningKeys',
  shape('SigningKey', SigningKeyView, {
    kid: EXAMPLE_KID,
    alg: 'ES256',
    state: 'current',
    created_at: EXAMPLE_TIME,
    activated_at: EXAMPLE_TIME,
    retired_at: null,
  }),
);

const KeyRotation = Type.Object({
  kids: Type.Array(Type.String(), {
    minItems: 1,
    maxItems: SIGNING_ALGORITHMS.length,
    description:
      'The current keys to replace. Keys that have already been replaced are ignored: the request can be repeated.',
  }),
  force: Type.Optional(
    Type.Boolean({ description: 'Rotate even if the next key has been published for less than 15 minutes.' }),
  ),
  compromised: Type.Optional(
    Type.Boolean({
      description:
        'A key may have been stolen: all keys of the same algorithms are dropped at once, the next ones included, and the tokens ' +
        'that they signed are no longer accepted.',
    }),
  ),
});

function keyView({ kid, algorithm, state, createdAt, activatedAt, retiredAt }: ListedKey) {
  return {
    kid,
    alg: algorithm,
    state,
    created_at: createdAt,
    activated_at: activatedAt,
    retired_at: retiredAt,
  };
}

/** /api/v1/signing-keys, for admins: the keys that sign tokens, without the keys themselves. Errors are thrown. */
export function signingKeyRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  keys: KeyAdministration;
}): Api {
  const { keys } = options;
  const api = personApi('/api/v1/signing-keys', options.authenticate, 'Signing keys', requireFirstPartyAdmin);
  const all = async () => ({ data: (await keys.list()).map(keyView) });

  api.get('list', '/', {
    summary: 'List the signing keys',
    description: 'For admins. Without the keys themselves; their public parts are in the JWK set.',
    responses: ok('The keys by algorithm, the newest first.', signingKeysShape),
    handle: all,
  });

  api.post('rotate', '/rotate', {
    summary: 'Rotate signing keys',
    description:
      'For admins. The next key signs from now on, and a new next one is published. 409 while the next key has been published ' +
      'for less than 15 minutes: verifiers that cache keys may not know it yet.',
    body: shape('KeyRotation', KeyRotation, { kids: [EXAMPLE_KID] }),
    responses: ok('All keys, as they are now.', signingKeysShape),
    kinds: ['conflict'],
    async handle({ ctx, person, body: { kids, force = false, compromised = false } }) {
      await keys.rotate(kids, { force, compromised, by: person.id, origin: originOf(ctx) });
      return all();
    },
  });
  return api;
}

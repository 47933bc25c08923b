import { shape } from '@gatehouse/api/openapi/shapes';
import { Type } from 'typebox';

/** A revocation as the server of a resource reads it. */
const Entry = Type.Object({
  kind: Type.String({ enum: ['token', 'grant', 'subject', 'client', 'key'] }),
  id: Type.String({
    description:
      'Of a token its `jti`, also of an API key as introspection returns it; of a grant the claim `gid`; of a client the `client_id`; of a ' +
      'subject the person in `sub`, or in the claim `owner` of a token that an application has for itself; of a withdrawn signing key the ' +
      '`kid` in the header of a token.',
  }),
  epoch: Type.Optional(
    Type.Integer({
      description:
        'Tokens with a lower `epoch.subject` or `epoch.client` are revoked, and later ones are not. Without it, all are.',
    }),
  ),
  until: Type.Integer({
    description: 'When the last token that it concerns has expired, in seconds since the epoch.',
  }),
});
const EXAMPLE = { kind: 'grant', id: 'Yx3vQ0h1s8uLr4n2', until: 1_796_000_000 };

export const revocationsShape = shape(
  'ResourceRevocations',
  Type.Object({
    revocations: Type.Array(Entry),
    as_of: Type.String({ description: 'The position after them, for `after`. Opaque.' }),
    more: Type.Boolean({ description: 'Whether there are more to be read at once.' }),
  }),
  { revocations: [EXAMPLE], as_of: '2026-11-02T09:30:00.000Z', more: false },
);

/** An entry of the feed. To the server of a resource, an API key is one more token. */
export function resourceRevocation({
  kind,
  id,
  epoch,
  expiresAt,
}: {
  kind: string;
  id: string;
  epoch?: number | undefined;
  expiresAt: number | Date;
}) {
  const until = typeof expiresAt === 'number' ? expiresAt : Math.ceil(expiresAt.getTime() / 1000);
  return { kind: kind === 'api_key' ? 'token' : kind, id, ...(epoch === undefined ? {} : { epoch }), until };
}

import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import type { Caller } from '@gatehouse/tokens/caller';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { ClientSecret } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import type { Api } from '../../http/api.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import {
  EXAMPLE_TIME,
  LastFour,
  LastUseFields,
  Lifetime,
  lastUseView,
  orNull,
  Time,
} from '../applications/views.ts';

const Secret = Type.Object({
  label: Type.Optional(Type.String({ description: 'A name, such as the server that uses it.' })),
  expires_in: Type.Optional(Lifetime),
});
const SecretView = Type.Object({
  id: Type.String(),
  label: orNull(Type.String()),
  last_four: LastFour,
  created_at: Time,
  expires_at: orNull(Time),
  ...LastUseFields,
});
const CreatedSecret = Type.Object({
  ...SecretView.properties,
  client_secret: Type.String({ description: 'The secret, shown only here.' }),
});
const secretShape = shape('ClientSecret', SecretView, {
  id: 'sec_1',
  label: 'web-1',
  last_four: 'x7Qa',
  created_at: EXAMPLE_TIME,
  expires_at: null,
  last_used_at: null,
  last_used_address: null,
});

/** A client secret without its text. */
function secretView({ id, label, lastFour, createdAt, expiresAt, lastUse }: ClientSecret) {
  const times = { created_at: createdAt, expires_at: expiresAt };
  return { id, label, last_four: lastFour, ...times, ...lastUseView(lastUse) };
}

/** The client secrets of applications. Errors are thrown. */
export function secretRoutes(options: {
  applications: Pick<Applications, 'addSecret' | 'listSecrets' | 'removeSecret'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Api {
  const { applications } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);

  api.get('list', '/:client_id/secrets', {
    summary: 'List the client secrets',
    responses: ok('The secrets that have not expired.', listOf('ClientSecrets', secretShape)),
    handle: async ({ manager, params }) => {
      const secrets = await applications.listSecrets(manager, params.client_id);
      return { data: secrets.map(secretView) };
    },
  });

  api.post('create', '/:client_id/secrets', {
    summary: 'Add a client secret',
    description: 'Two secrets can be valid at a time, so that one is replaced without downtime.',
    body: shape('NewClientSecret', Secret, { label: 'web-1', expires_in: 31_536_000 }),
    isBodyOptional: true,
    responses: created('The secret has been added.', shape('CreatedClientSecret', CreatedSecret)),
    kinds: ['conflict'],
    handle: async ({ ctx, manager, params: { client_id: id }, body: { expires_in: expiresIn, label } }) => {
      const added = await applications.addSecret(manager, id, { expiresIn, label });
      ctx.set('location', `${APPLICATIONS}/${id}/secrets/${added.id}`);
      return { ...secretView(added), client_secret: added.secret };
    },
  });

  api.delete('remove', '/:client_id/secrets/:id', {
    summary: 'Remove a client secret',
    responses: done('The secret is no longer accepted.'),
    handle: ({ manager, params }) => applications.removeSecret(manager, params.client_id, params.id),
  });
  return api;
}

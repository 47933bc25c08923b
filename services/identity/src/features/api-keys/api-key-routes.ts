import { bodyValidator } from '@gatehouse/api/http/schema';
import { created, done, listOf, ok, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Api } from '../../http/api.ts';
import { createInternalRouter } from '../../http/internal-router.ts';
import { readJson } from '../../http/request-body.ts';
import { APPLICATIONS, createManagerApi } from '../applications/managers.ts';
import { Lifetime } from '../applications/views.ts';
import type { ApiKeys, NewKey } from './api-keys.ts';
import { KeyView, keyShape, keyView } from './key-view.ts';

const DAY = 86_400;
const Key = Type.Object({
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  resource: Type.Optional(
    Type.String({
      maxLength: 500,
      description:
        'The identifier of an API for which the application gets tokens for itself: the key then works there, with scopes of that API, and nowhere else.',
    }),
  ),
  expires_in: Type.Optional(Lifetime),
});
const Rotation = Type.Object({ overlap_seconds: Type.Integer({ minimum: 0, maximum: 30 * DAY }) });
const readHash = bodyValidator(
  Type.Object({
    hash: Type.String({ minLength: 43, maxLength: 43 }),
    address: Type.Optional(Type.String({ maxLength: 100 })),
  }),
);
const createdShape = shape(
  'CreatedApiKey',
  Type.Object({ ...KeyView.properties, api_key: Type.String({ description: 'The key, shown only here.' }) }),
);

/** The API keys of applications. Errors are thrown. */
export function apiKeyRoutes(options: { keys: ApiKeys; authenticate(ctx: Context): Promise<Caller> }): Api {
  const { keys } = options;
  const api = createManagerApi(APPLICATIONS, options.authenticate);
  const withText = (ctx: Context, clientId: string, key: NewKey) => {
    ctx.set('location', `${APPLICATIONS}/${clientId}/api-keys/${key.id}`);
    return { ...keyView(key), api_key: key.key };
  };

  api.get('list', '/:client_id/api-keys', {
    summary: 'List the API keys',
    responses: ok('The keys that have not expired.', listOf('ApiKeys', keyShape)),
    handle: async ({ manager, params }) => ({
      data: (await keys.list(manager, params.client_id)).map(keyView),
    }),
  });

  api.post('create', '/:client_id/api-keys', {
    summary: 'Create an API key',
    description: '409 for an application with a security profile or access tokens that are bound to a key.',
    body: shape('NewApiKey', Key, { name: 'Nightly run', scopes: ['read:data'] }),
    responses: created('The key has been created.', createdShape),
    kinds: ['conflict'],
    handle: async ({ ctx, manager, params: { client_id: clientId }, body }) => {
      const { expires_in: expiresIn, name, scopes, resource } = body;
      return withText(
        ctx,
        clientId,
        await keys.create(manager, clientId, { name: name.trim(), scopes, resource, expiresIn }),
      );
    },
  });

  api.get('read', '/:client_id/api-keys/:id', {
    summary: 'Read an API key',
    responses: ok('The description of the key, without the key itself.', keyShape),
    handle: async ({ manager, params }) => keyView(await keys.read(manager, params.client_id, params.id)),
  });

  api.delete('remove', '/:client_id/api-keys/:id', {
    summary: 'Revoke an API key',
    responses: done('The key is no longer accepted.'),
    handle: ({ manager, params }) => keys.revoke(manager, params.client_id, params.id),
  });

  api.post('rotate', '/:client_id/api-keys/:id/rotate', {
    summary: 'Replace an API key',
    description: 'The old key is accepted for `overlap_seconds` more.',
    body: shape('ApiKeyRotation', Rotation, { overlap_seconds: 86_400 }),
    responses: created('The key that replaces it.', createdShape),
    kinds: ['conflict'],
    handle: async ({ ctx, manager, params: { client_id: clientId, id }, body }) =>
      withText(ctx, clientId, await keys.rotate(manager, clientId, id, body.overlap_seconds)),
  });
  return api;
}

/** POST /internal/identity/api-keys/resolve: what a key permits, for the services that are called with it. */
export function apiKeyResolution(options: {
  keys: Pick<ApiKeys, 'resolve'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Router {
  return createInternalRouter(options.authenticate).post('/api-keys/resolve', async (ctx) => {
    const { hash, address } = readHash(await readJson(ctx));
    const found = await options.keys.resolve(hash, address);
    if (found === undefined || found.resource !== undefined)
      throw new ServiceError('not_found', 'There is no such key.');
    ctx.body = found;
  });
}

import { bodyValidator } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { createInternalRouter } from '../../http/internal-router.ts';
import { readJson } from '../../http/request-body.ts';
import { strictBodyValidator } from '../../http/strict-body.ts';
import { createApplicationRouter, created, clientIdOf as idOf } from '../applications/manager-routes.ts';
import { Lifetime } from '../applications/views.ts';
import type { ApiKeys } from './api-keys.ts';
import { keyView } from './key-view.ts';

const DAY = 86_400;
export const Key = Type.Object({
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  expires_in: Type.Optional(Lifetime),
});
export const Rotation = Type.Object({ overlap_seconds: Type.Integer({ minimum: 0, maximum: 30 * DAY }) });
const readHash = bodyValidator(
  Type.Object({
    hash: Type.String({ minLength: 43, maxLength: 43 }),
    address: Type.Optional(Type.String({ maxLength: 100 })),
  }),
);
const readKey = strictBodyValidator(Key);
const readRotation = strictBodyValidator(Rotation);

/** The API keys of applications. Errors are thrown. */
export function apiKeyRoutes(options: {
  keys: ApiKeys;
  authenticate(ctx: Context): Promise<Caller>;
}): Router {
  const { keys } = options;
  const { router, managing } = createApplicationRouter(options.authenticate);

  router.post('/:client_id/api-keys', async (ctx) => {
    const manager = await managing(ctx);
    const { expires_in: expiresIn, name, scopes } = readKey(await readJson(ctx));
    const key = await keys.create(manager, idOf(ctx), { name: name.trim(), scopes, expiresIn });
    created(ctx, `${idOf(ctx)}/api-keys/${key.id}`, { ...keyView(key), api_key: key.key });
  });

  router.get('/:client_id/api-keys', async (ctx) => {
    const list = await keys.list(await managing(ctx), idOf(ctx));
    ctx.body = { data: list.map(keyView) };
  });

  router.get('/:client_id/api-keys/:id', async (ctx) => {
    ctx.body = keyView(await keys.read(await managing(ctx), idOf(ctx), String(ctx.params.id)));
  });

  router.delete('/:client_id/api-keys/:id', async (ctx) => {
    await keys.revoke(await managing(ctx), idOf(ctx), String(ctx.params.id));
    ctx.status = 204;
  });

  router.post('/:client_id/api-keys/:id/rotate', async (ctx) => {
    const manager = await managing(ctx);
    const { overlap_seconds: overlap } = readRotation(await readJson(ctx));
    const key = await keys.rotate(manager, idOf(ctx), String(ctx.params.id), overlap);
    created(ctx, `${idOf(ctx)}/api-keys/${key.id}`, { ...keyView(key), api_key: key.key });
  });
  return router;
}

/** POST /internal/identity/api-keys/resolve: what a key permits, for the services that are called with it. */
export function apiKeyResolution(options: {
  keys: Pick<ApiKeys, 'resolve'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Router {
  return createInternalRouter(options.authenticate).post('/api-keys/resolve', async (ctx) => {
    const { hash, address } = readHash(await readJson(ctx));
    const found = await options.keys.resolve(hash, address);
    if (found === undefined) throw new ServiceError('not_found', 'There is no such key.');
    ctx.body = found;
  });
}

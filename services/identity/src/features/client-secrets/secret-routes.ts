import type { Caller } from '@gatehouse/tokens/caller';
import type Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import type { Applications } from '../../core/applications/applications.ts';
import { readJson } from '../../http/request-body.ts';
import { strictBodyValidator } from '../../http/strict-body.ts';
import { createApplicationRouter, created, clientIdOf as idOf } from '../applications/manager-routes.ts';
import { Lifetime, secretView } from '../applications/views.ts';

export const Secret = Type.Object({
  label: Type.Optional(Type.String({ description: 'What to call it, such as the server that uses it.' })),
  expires_in: Type.Optional(Lifetime),
});
const readSecret = strictBodyValidator(Secret);

/** The client secrets of applications. Errors are thrown. */
export function secretRoutes(options: {
  applications: Pick<Applications, 'addSecret' | 'listSecrets' | 'removeSecret'>;
  authenticate(ctx: Context): Promise<Caller>;
}): Router {
  const { applications } = options;
  const { router, managing } = createApplicationRouter(options.authenticate);

  router.post('/:client_id/secrets', async (ctx) => {
    const manager = await managing(ctx);
    const { expires_in: expiresIn, label } = readSecret((await readJson(ctx)) ?? {});
    const added = await applications.addSecret(manager, idOf(ctx), { expiresIn, label });
    created(ctx, `${idOf(ctx)}/secrets/${added.id}`, {
      ...secretView(added),
      client_secret: added.secret,
    });
  });

  router.get('/:client_id/secrets', async (ctx) => {
    const secrets = await applications.listSecrets(await managing(ctx), idOf(ctx));
    ctx.body = { data: secrets.map(secretView) };
  });

  router.delete('/:client_id/secrets/:id', async (ctx) => {
    await applications.removeSecret(await managing(ctx), idOf(ctx), String(ctx.params.id));
    ctx.status = 204;
  });
  return router;
}

import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import { managerOf } from './application-routes.ts';
import type { Transfers } from './transfers.ts';
import { applicationView, transferView } from './views.ts';

const ROOT = '/api/v1/transfers';

/** The applications that a person has been offered. Errors are thrown. */
export function transferRoutes(options: {
  transfers: Transfers;
  authenticate(ctx: Context): Promise<Caller>;
}): Router {
  const { transfers, authenticate } = options;
  const router = new Router({ prefix: ROOT, sensitive: true });
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    requestInfo(ctx.req).route = String(ctx._matchedRoute ?? ROOT);
    await next();
  });

  router.get('/', async (ctx) => {
    const received = await transfers.received(await managerOf(ctx, authenticate));
    ctx.body = { data: received.map(transferView) };
  });

  router.post('/:id/accept', async (ctx) => {
    const manager = await managerOf(ctx, authenticate);
    ctx.body = applicationView(await transfers.accept(manager, String(ctx.params.id)));
  });

  router.post('/:id/decline', async (ctx) => {
    await transfers.decline(await managerOf(ctx, authenticate), String(ctx.params.id));
    ctx.status = 204;
  });
  return router;
}

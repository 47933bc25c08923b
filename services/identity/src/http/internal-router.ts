import { internalPrefix } from '@gatehouse/core/services';
import type { Caller } from '@gatehouse/tokens/caller';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import Router from '@koa/router';
import type { Context } from 'koa';

/** A router for what other services ask of identity; which one asks is in `ctx.state.service`. */
export function createInternalRouter(authenticate: (ctx: Context) => Promise<Caller>): Router {
  const router = new Router({ prefix: internalPrefix('identity'), sensitive: true });
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    const caller = await authenticate(ctx);
    requireInternalAccess(caller, ctx.path);
    ctx.state.service = caller.clientId;
    await next();
  });
  return router;
}

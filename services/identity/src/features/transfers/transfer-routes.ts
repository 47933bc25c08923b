import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { readJson } from '../../http/request-body.ts';
import { strictBodyValidator } from '../../http/strict-body.ts';
import { createApplicationRouter, clientIdOf as idOf, managerOf } from '../applications/manager-routes.ts';
import { applicationView } from '../applications/views.ts';
import { transferView } from './transfer-view.ts';
import type { Transfers } from './transfers.ts';

const ROOT = '/api/v1/transfers';

export const Transfer = Type.Object({ to: Type.String({ minLength: 1, maxLength: 254 }) });
const readTransfer = strictBodyValidator(Transfer);

/** Offers of applications, by those who make them and by those who get them. Errors are thrown. */
export function transferRoutes(options: {
  transfers: Transfers;
  authenticate(ctx: Context): Promise<Caller>;
}): Router[] {
  const { transfers, authenticate } = options;
  const router = new Router({ prefix: ROOT, sensitive: true });
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    requestInfo(ctx.req).route = String(ctx._matchedRoute ?? ROOT);
    await next();
  });

  const { router: ofApplications, managing } = createApplicationRouter(authenticate);

  ofApplications.post('/:client_id/transfer', async (ctx) => {
    const manager = await managing(ctx);
    const { to } = readTransfer(await readJson(ctx));
    const result = await transfers.offer(manager, idOf(ctx), to);
    // An admin who takes it for themselves has it at once.
    ctx.status = 'application' in result ? 202 : 200;
    ctx.body = 'application' in result ? transferView(result) : applicationView(result);
  });

  ofApplications.get('/:client_id/transfer', async (ctx) => {
    ctx.body = transferView(await transfers.pending(await managing(ctx), idOf(ctx)));
  });

  ofApplications.delete('/:client_id/transfer', async (ctx) => {
    await transfers.cancel(await managing(ctx), idOf(ctx));
    ctx.status = 204;
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
  return [ofApplications, router];
}

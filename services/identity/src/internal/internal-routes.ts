import { bodyValidator } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import { internalPrefix } from '@gatehouse/kit/services';
import type { Caller } from '@gatehouse/tokens/caller';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { readJson } from '../http/request-body.ts';
import type { Revocations } from '../revocations/revocations.ts';

const readKey = bodyValidator(
  Type.Object({
    hash: Type.String({ minLength: 43, maxLength: 43 }),
    address: Type.Optional(Type.String({ maxLength: 100 })),
  }),
);

const AccountChange = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  epoch: Type.Integer(),
  sign_in_epoch: Type.Integer(),
  reason: Type.String(),
  previous_email: Type.Optional(Type.String()),
  by: Type.Optional(
    Type.Object({
      user_id: Type.Union([Type.String(), Type.Null()]),
      client_id: Type.String(),
      address: Type.String(),
      request_id: Type.String(),
    }),
  ),
});
const readChange = bodyValidator(AccountChange);
export type AccountChange = Type.Static<typeof AccountChange>;

/**
 * What the other services ask of identity. Every other service may list revocations and resolve API keys; only users
 * may report account changes, and only notifications ask who owns which application (see SERVICES in kit). The edge does not route any of it.
 */
export function internalRoutes(options: {
  /** Takes tokens for identity's internal audience only. */
  authenticate(ctx: Context): Promise<Caller>;
  revocations: Pick<Revocations, 'list'>;
  resolveApiKey(hash: string, address?: string): Promise<object | undefined>;
  /** Durable when it resolves; the same change may come again. */
  accountChanged(change: AccountChange): Promise<void>;
  /** The client ids of a person's applications. */
  ownedBy(userId: string): Promise<string[]>;
}): Router {
  const { authenticate, revocations } = options;
  const router = new Router({ prefix: internalPrefix('identity'), sensitive: true });
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    requireInternalAccess(await authenticate(ctx), ctx.path);
    await next();
  });
  router.get('/revocations', async (ctx) => {
    const { since } = ctx.query;
    ctx.body = await revocations.list(typeof since === 'string' ? since : undefined);
  });
  router.post('/api-keys/resolve', async (ctx) => {
    const { hash, address } = readKey(await readJson(ctx));
    const found = await options.resolveApiKey(hash, address);
    if (found === undefined) throw new ServiceError('not_found', 'There is no such key.');
    ctx.body = found;
  });
  router.post('/account-changes', async (ctx) => {
    await options.accountChanged(readChange(await readJson(ctx)));
    ctx.status = 204;
  });
  router.get('/owned-applications/:user_id', async (ctx) => {
    ctx.body = { client_ids: await options.ownedBy(String(ctx.params.user_id)) };
  });
  return router;
}

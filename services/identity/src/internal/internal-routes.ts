import { bodyValidator } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import { requireScope } from '@gatehouse/tokens/caller';
import { INTERNAL_SCOPE } from '@gatehouse/tokens/scopes';
import Router from '@koa/router';
import type { Context } from 'koa';
import { Type } from 'typebox';
import { readJson } from '../http/request-body.ts';
import type { Revocations } from '../revocations/revocations.ts';

/** Whoever owns the accounts, and nobody else, tells what has become of them. */
const ACCOUNTS_CLIENT = 'users';

const readKey = bodyValidator(Type.Object({ hash: Type.String({ minLength: 43, maxLength: 43 }) }));

const AccountChange = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  epoch: Type.Integer(),
  sign_in_epoch: Type.Integer(),
  reason: Type.String(),
});
const readChange = bodyValidator(AccountChange);
export type AccountChange = Type.Static<typeof AccountChange>;

/** What the other services ask of identity; the edge does not route it, and only they have tokens for it. */
export function internalRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  revocations: Revocations;
  resolveApiKey(hash: string): Promise<object | undefined>;
  /** Durable when it resolves; the same change may come again. */
  accountChanged(change: AccountChange): Promise<void>;
}): Router {
  const { authenticate, revocations } = options;
  const router = new Router({ prefix: '/internal/identity', sensitive: true });
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    const caller = await authenticate(ctx);
    requireScope(caller, [INTERNAL_SCOPE]);
    ctx.state.clientId = caller.clientId;
    await next();
  });
  router.get('/revocations', async (ctx) => {
    const { since } = ctx.query;
    ctx.body = await revocations.list(typeof since === 'string' ? since : undefined);
  });
  router.post('/api-keys/resolve', async (ctx) => {
    const { hash } = readKey(await readJson(ctx));
    const found = await options.resolveApiKey(hash);
    if (found === undefined) throw new ServiceError('not_found', 'There is no such key.');
    ctx.body = found;
  });
  router.post('/account-changes', async (ctx) => {
    if (ctx.state.clientId !== ACCOUNTS_CLIENT) {
      throw new ServiceError('forbidden', `Only the client ${ACCOUNTS_CLIENT} is permitted to do this.`);
    }
    await options.accountChanged(readChange(await readJson(ctx)));
    ctx.status = 204;
  });
  return router;
}

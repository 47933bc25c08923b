import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Manager } from '../../core/applications/ownership.ts';
import { originOf } from '../../core/audit/audit.ts';
import { requireFirstParty } from '../../http/first-party.ts';

export const APPLICATIONS = '/api/v1/applications';

type Authenticate = (ctx: Context) => Promise<Caller>;

/** A router for paths below those of applications, and who manages them by a request. */
export function createApplicationRouter(authenticate: Authenticate) {
  const router = new Router({ prefix: APPLICATIONS, sensitive: true });
  router.use(async (ctx, next) => {
    ctx.set('cache-control', 'no-store');
    // The pattern, as the path contains ids.
    requestInfo(ctx.req).route = String(ctx._matchedRoute ?? APPLICATIONS);
    await next();
  });
  return { router, managing: (ctx: Context) => managerOf(ctx, authenticate) };
}

/** The application that the path names. */
export const clientIdOf = (ctx: Context) => String(ctx.params.client_id);

/** Responds with what has been created at this path below that of applications. */
export function created(ctx: Context, path: string, body: object): void {
  ctx.status = 201;
  ctx.set('location', `${APPLICATIONS}/${path}`);
  ctx.body = body;
}

/** The person who manages applications by this request. Throws `unauthenticated` and `forbidden`. */
export async function managerOf(ctx: Context, authenticate: Authenticate): Promise<Manager> {
  return managerFrom(ctx, await authenticate(ctx));
}

/** The same, for a caller who is known already. Throws `forbidden`. */
export function managerFrom(ctx: Context, caller: Caller): Manager {
  const person = requireFirstParty(caller, 'Applications');
  return { ...person, clientId: caller.clientId, origin: originOf(ctx) };
}

import { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import { isUnder } from '@gatehouse/kit/services';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { Middleware } from 'koa';

/**
 * Mounts a router, which must be case-sensitive. Throws `method_not_allowed` for a method that a path does not support,
 * naming those it does.
 */
export function mount(app: Koa, router: Router): void {
  if (router.opts.sensitive !== true) throw new Error('a router must be made with sensitive: true');
  app.use(async (ctx, next) => {
    const { path: layers, pathAndMethod } = router.match(ctx.path, ctx.method);
    const routes = layers.filter(({ methods }) => methods.length > 0);
    if (routes.length > 0) requestInfo(ctx.req).route ??= String(routes.at(-1)?.path);
    // The router's own middleware matches every method, but is not a route.
    if (routes.length > 0 && pathAndMethod.every(({ methods }) => methods.length === 0)) {
      const allow = [...new Set(routes.flatMap(({ methods }) => methods))].join(', ');
      throw new ServiceError('method_not_allowed', `This path supports ${allow}.`, { headers: { allow } });
    }
    await next();
  });
  app.use(router.routes() as Middleware);
}

/** Applies a middleware only below some paths. */
export function below(prefixes: readonly string[], middleware: Middleware): Middleware {
  return (ctx, next) =>
    prefixes.some((prefix) => isUnder(ctx.path, prefix)) ? middleware(ctx, next) : next();
}

/** CORS for pages of any origin: they call with a bearer token, never with cookies. */
export const openCors: Middleware = async (ctx, next) => {
  ctx.set({
    'access-control-allow-origin': '*',
    'access-control-expose-headers':
      'Location, Retry-After, RateLimit-Policy, RateLimit, X-Request-Id, WWW-Authenticate',
  });
  if (ctx.method !== 'OPTIONS') return next();
  ctx.set({
    'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
    'access-control-allow-headers': 'Authorization, DPoP, Content-Type, X-Request-Id',
    'access-control-max-age': '3600',
  });
  ctx.status = 204;
};

import { ServiceError } from '@gatehouse/kit/errors';
import { requestInfo } from '@gatehouse/kit/requests';
import { isUnder } from '@gatehouse/kit/services';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { Middleware } from 'koa';

/** Mounts a router; a method that a path of it does not take is an error that names those it takes. */
export function mount(app: Koa, router: Router): void {
  app.use(async (ctx, next) => {
    const { path: layers, pathAndMethod } = router.match(ctx.path, ctx.method);
    const routes = layers.filter(({ methods }) => methods.length > 0);
    if (routes.length > 0) requestInfo(ctx.req).route = String(routes.at(-1)?.path);
    // A router's own middleware takes every method, and is no route.
    if (routes.length > 0 && pathAndMethod.every(({ methods }) => methods.length === 0)) {
      const allow = [...new Set(routes.flatMap(({ methods }) => methods))].join(', ');
      throw new ServiceError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } });
    }
    await next();
  });
  app.use(router.routes() as Middleware);
}

/** Applies a middleware below some paths only. */
export function below(prefixes: readonly string[], middleware: Middleware): Middleware {
  return (ctx, next) =>
    prefixes.some((prefix) => isUnder(ctx.path, prefix)) ? middleware(ctx, next) : next();
}

/** Lets pages of any origin in, with a bearer token and never with cookies. */
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

import { ServiceError } from '@gatehouse/core/errors';
import { isUnder } from '@gatehouse/core/services';
import { requestInfo } from '@gatehouse/server/requests';
import type Router from '@koa/router';
import type Koa from 'koa';
import type { Middleware } from 'koa';

/**
 * Mounts a router, which must be case-sensitive. Throws `method_not_allowed` for a method that a path does not support,
 * naming those it does.
 */
export function mount(app: Koa, router: Router): void {
  if (router.opts.sensitive !== true) throw new Error('a router must be made with sensitive: true');
  const dispatch = router.routes() as Middleware;
  // The prefixes of its routes up to a parameter: far cheaper than matching them all.
  const prefixes = [...new Set(router.stack.filter(isRoute).map(({ path }) => prefixOf(path)))];
  app.use((ctx, next) => {
    if (!prefixes.some((prefix) => ctx.path.startsWith(prefix))) return next();
    const { path: layers, pathAndMethod } = router.match(ctx.path, ctx.method);
    const routes = layers.filter(isRoute);
    if (routes.length === 0) return next();
    requestInfo(ctx.req).route ??= String(routes.at(-1)?.path);
    if (!pathAndMethod.some(isRoute)) {
      const allow = [...new Set(routes.flatMap(({ methods }) => methods))].join(', ');
      throw new ServiceError('method_not_allowed', `This path supports ${allow}.`, { headers: { allow } });
    }
    return dispatch(ctx, next);
  });
}

/** The router's own middleware matches every method, but is not a route. */
function isRoute({ methods }: { methods: readonly string[] }): boolean {
  return methods.length > 0;
}

/** All of a path before its first parameter or wildcard. */
function prefixOf(path: string | RegExp): string {
  return typeof path === 'string' ? (/^[^:*{(]*/.exec(path)?.[0] ?? '') : '';
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
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
    'access-control-allow-headers': 'Authorization, DPoP, Content-Type, X-Request-Id, traceparent',
    'access-control-max-age': '3600',
  });
  ctx.status = 204;
};

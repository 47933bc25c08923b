import { createHash } from 'node:crypto';
import { notModified } from '@gatehouse/api/http/conditional';
import Router from '@koa/router';
import type { Middleware } from 'koa';

/** Where oidc-provider's endpoints are, by its names for them. */
export const ROUTES = {
  authorization: '/oauth2/authorize',
  token: '/oauth2/token',
  userinfo: '/userinfo',
  revocation: '/oauth2/revoke',
  introspection: '/oauth2/introspect',
  pushed_authorization_request: '/oauth2/par',
  device_authorization: '/oauth2/device_authorization',
  code_verification: '/device',
  end_session: '/oauth2/logout',
  jwks: '/.well-known/jwks.json',
};

const METADATA_SECONDS = 3600;
/**
 * Documents that are only read, with how long caches keep them, in seconds: a withdrawn key must not be accepted for long.
 * OPTIONS is for CORS. To any other method oidc-provider answers 404.
 */
const DOCUMENTS = new Map([
  [ROUTES.jwks, 60],
  ['/.well-known/openid-configuration', METADATA_SECONDS],
  ['/.well-known/oauth-authorization-server', METADATA_SECONDS],
]);
/** Every other path that oidc-provider answers in the configuration it has here. */
const PATHS = [
  ...Object.values(ROUTES).filter((path) => !DOCUMENTS.has(path)),
  `${ROUTES.authorization}/:uid`,
  `${ROUTES.code_verification}/:uid`,
  `${ROUTES.end_session}/confirm`,
  `${ROUTES.end_session}/success`,
];

/**
 * Passes requests on to oidc-provider. Its own router takes paths in any case, to which what is decided by path before
 * it, such as a limit, would not apply; this one takes them as they are written.
 */
export function providerRoutes(middleware: Middleware): Router {
  const router = new Router({ sensitive: true });
  for (const path of PATHS) router.all(path, middleware);
  for (const [path, seconds] of DOCUMENTS) {
    router.register(path, ['GET', 'OPTIONS'], [cachedDocument(seconds), middleware]);
  }
  return router;
}

/** Lets caches keep a JSON document for this long, and validate it by its entity tag afterwards (RFC 9111 §4.3). */
export function cachedDocument(seconds = METADATA_SECONDS): Middleware {
  return async (ctx, next) => {
    await next();
    if (ctx.status !== 200) return;
    const etag = `"${createHash('sha256').update(JSON.stringify(ctx.body)).digest('base64url')}"`;
    ctx.set({ etag, 'cache-control': `public, max-age=${seconds}` });
    if (notModified(ctx.req, etag)) ctx.status = 304;
  };
}

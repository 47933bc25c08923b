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

/** Documents that are only read; OPTIONS is for CORS. To any other method oidc-provider answers 404. */
const DOCUMENTS = [
  ROUTES.jwks,
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
];
/** Every other path that oidc-provider answers in the configuration it has here. */
const PATHS = [
  ...Object.values(ROUTES).filter((path) => !DOCUMENTS.includes(path)),
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
  for (const path of DOCUMENTS) router.register(path, ['GET', 'OPTIONS'], middleware);
  return router;
}

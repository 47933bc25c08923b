import { plainBody, v2Body } from '@gatehouse/http/error-bodies';
import { addressKey, type RateLimiter } from '@gatehouse/http/rate-limit';
import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { apiErrors, bearerError } from './api-errors.ts';
import type { Faults } from './faults.ts';
import { oauthErrors } from './oidc/oauth-errors.ts';
import { below, mount, openCors } from './routing.ts';
import type { PageErrors } from './sign-in/page-errors.ts';
import { providerPageHeaders } from './sign-in/web.ts';

export type AppOptions = {
  issuer: string;
  /** Signs cookies; oidc-provider has the same. */
  cookieKey: string;
  logger: Logger;
  faults: Faults;
  pageErrors: PageErrors;
  /** What made oidc-provider answer server_error. */
  faultOf(ctx: Context): unknown;
  /** For each address, at everything that takes a secret; undefined when limits are off. */
  limits: { token: RateLimiter; password: RateLimiter } | undefined;
  routers: readonly Router[];
  provider: Middleware;
};

/** Where people are, not programs. */
const PAGES = ['/sign-in', '/consent', '/account'];
const OAUTH = ['/oauth', '/oauth2', '/.well-known'];
/** Below /oauth2, but answered with a page. */
const OAUTH_PAGES = ['/oauth2/authorize', '/oauth2/logout'];
const API = ['/api/v1/auth', '/api/v1/applications'];

/** The Koa app: one way to answer errors for each part of the interface, our own routes, then oidc-provider. */
export function createIdentityApp(options: AppOptions): Koa {
  const { faults, pageErrors, logger, limits } = options;
  const app = new Koa();
  app.keys = [options.cookieKey];
  // oidc-provider builds its URLs from the request: they are the issuer's, whatever a caller says.
  const { protocol, host } = new URL(options.issuer);
  app.proxy = true;
  app.use(async (ctx, next) => {
    delete ctx.req.headers['x-forwarded-host'];
    ctx.req.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    ctx.req.headers.host = host;
    const info = requestInfo(ctx.req);
    // Routes with an id in them name themselves when they are found.
    info.route = OAUTH.some((prefix) => ctx.path.startsWith(prefix)) ? routeOf(ctx.path) : undefined;
    await next();
    const { oidc } = ctx as Partial<KoaContextWithOIDC>;
    info.client ??= oidc?.entities.Client?.clientId;
    info.subject ??= oidc?.entities.Account?.accountId;
  });

  app.use(below(PAGES, pageErrors.middleware));
  app.use(below(API, openCors));
  app.use(below(['/api/v1/auth'], apiErrors(faults, plainBody)));
  app.use(below(['/api/v1/applications', '/internal'], apiErrors(faults, v2Body)));
  app.use(below(['/userinfo'], apiErrors(faults, bearerError)));
  const isPage = (ctx: Context) => OAUTH_PAGES.some((prefix) => ctx.path.startsWith(prefix));
  app.use(
    below(OAUTH, oauthErrors({ faults, faultOf: options.faultOf, isPage, showFault: pageErrors.show })),
  );
  app.use(below(OAUTH_PAGES, providerPageHeaders));
  if (limits !== undefined) app.use(limit(limits));
  for (const router of options.routers) mount(app, router);
  app.use(below(OAUTH, options.provider));
  app.on('error', (error: NodeJS.ErrnoException) => {
    // A caller who hung up is in the log as the request's status 499.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') logger.error({ err: error }, 'fault');
  });
  return app;
}

/** The path without the id of an interaction. */
function routeOf(path: string): string {
  return path.replace(/^(\/oauth2\/authorize)\/.+/, '$1/:uid');
}

/** Whatever takes a secret is limited by address, and passwords the most. */
function limit({ token, password }: NonNullable<AppOptions['limits']>): Middleware {
  return async (ctx, next) => {
    // A request to sign in or out leaves something in the database, also before anybody has.
    const leavesSomething = ctx.method === 'POST' || OAUTH_PAGES.includes(ctx.path);
    if (leavesSomething && !ctx.path.startsWith('/internal/')) {
      // Our routes take a slash at the end.
      const path = ctx.path.replace(/\/$/, '');
      const takesPassword = path === '/api/v1/auth/login' || path.startsWith('/sign-in/');
      ctx.set(await (takesPassword ? password : token).count(addressKey(requestInfo(ctx.req).address)));
    }
    await next();
  };
}

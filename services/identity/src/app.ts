import { v2Body } from '@gatehouse/api/http/error-bodies';
import { createAddressLimiter } from '@gatehouse/api/http/rate-limit';
import type { RateLimitStore } from '@gatehouse/api/http/rate-limit-store';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { isUnder } from '@gatehouse/core/services';
import { isCanonicalPath, pathOf } from '@gatehouse/server/request-path';
import { requestInfo } from '@gatehouse/server/requests';
import type { Caller } from '@gatehouse/tokens/caller';
import { inAppearance, readAppearance } from '@gatehouse/web/appearance';
import { type Brand, inBrand } from '@gatehouse/web/brand';
import { inLanguage } from '@gatehouse/web/language';
import { isOtherLoopback } from '@gatehouse/web/loopback';
import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { PASSWORDS, REQUESTS } from './core/limits/bounds.ts';
import { isMetadataDocumentId } from './core/oidc/clients/metadata-document-id.ts';
import { ROUTES } from './core/oidc/provider-routes.ts';
import type { ReloadableProvider } from './core/oidc/reloadable-provider.ts';
import type { Api } from './http/api.ts';
import { apiErrors, bearerError } from './http/api-errors.ts';
import { oauthErrors } from './http/oauth-errors.ts';
import { below, mount, openCors } from './http/routing.ts';
import type { ToServiceError } from './http/service-error.ts';
import type { BrowserCookie } from './pages/browser-cookie.ts';
import type { PageErrors } from './pages/page-errors.ts';
import { providerPageHeaders } from './pages/page-response.ts';
import { languageFor } from './texts/languages.ts';

const YEAR_MS = 365 * 86_400_000;
const WITHOUT_END = /^[^=;]+\.sig=[^;]+(?!.*;\s*expires=)/i;

export type AppOptions = {
  issuer: string;
  /** The first signs cookies, and all are accepted; oidc-provider uses the same. */
  cookieKeys: readonly string[];
  logger: Logger;
  toServiceError: ToServiceError;
  pageErrors: PageErrors;
  authenticate(ctx: Context): Promise<Caller>;
  /** Whether requests are limited by address. */
  rateLimit: boolean;
  browser: Pick<BrowserCookie, 'signedInBefore'>;
  /** Where all replicas count them together. */
  sharedLimits: RateLimitStore | undefined;
  apis: readonly Pick<Api, 'prefix' | 'errors'>[];
  brand?: Brand | undefined;
  /** The prefixes of the paths of pages. */
  pages: readonly string[];
  /** The prefixes of the paths to which passwords are sent. */
  passwordPaths: readonly string[];
  routers: readonly Router[];
  provider: Pick<ReloadableProvider, 'serverErrorOf'>;
};

const OAUTH = ['/oauth', '/oauth2', '/.well-known'];
/** Answered by oidc-provider with pages. */
const OAUTH_PAGES = ['/oauth2/authorize', '/oauth2/logout', ROUTES.code_verification];
/** Stored for somebody who has not signed in, as requests for the pages are (RFC 9126, RFC 8628). */
const STORED = new Set<string>([ROUTES.pushed_authorization_request, ROUTES.device_authorization]);
/** The Koa app: how each part of the interface answers errors, our own routes, then oidc-provider. */
export function createIdentityApp(options: AppOptions): Koa {
  const { toServiceError, pageErrors, provider, logger } = options;
  const { serverErrorOf } = provider;
  const app = new Koa();
  app.keys = [...options.cookieKeys];
  // oidc-provider builds its URLs from the request: they must be the issuer's, whatever the caller sends.
  const { protocol, host } = new URL(options.issuer);
  app.proxy = true;
  app.use(async (ctx, next) => {
    delete ctx.req.headers['x-forwarded-host'];
    ctx.req.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    const isPage = ctx.method === 'GET' && options.pages.some((prefix) => isUnder(ctx.path, prefix));
    if (isPage && isOtherLoopback(ctx.hostname, options.issuer))
      return ctx.redirect(options.issuer + ctx.url);
    ctx.req.headers.host = host;
    const info = requestInfo(ctx.req);
    await next();
    const { oidc } = ctx as Partial<KoaContextWithOIDC>;
    const { Client, Account } = oidc?.entities ?? {};
    info.namedOnly ??= info.client === undefined;
    // Strangers can describe any number of clients: these are counted where somebody is signed in.
    if (Account !== undefined || !isMetadataDocumentId(Client?.clientId ?? ''))
      info.client ??= Client?.clientId;
    info.subject ??= Account?.accountId;
  });

  app.use(keepRenewedSignatures);
  const chosen: Middleware = (ctx, next) =>
    inAppearance(readAppearance(ctx.headers.cookie), () =>
      inBrand(options.brand, () => inLanguage(languageFor(ctx), next)),
    );
  app.use(below([...options.pages, ...OAUTH_PAGES], chosen));
  app.use(below(options.pages, pageErrors.middleware));
  for (const [errorBody, apis] of Map.groupBy(options.apis, ({ errors }) => errors.body)) {
    const prefixes = [...new Set(apis.map(({ prefix }) => prefix))];
    app.use(below(prefixes, openCors));
    /** For the request log. */
    const noteCaller = async (ctx: Context) => {
      if (ctx.get('authorization') === '') return;
      const known = prefixes.find((prefix) => isUnder(ctx.path, prefix));
      await options.authenticate(ctx).then(
        () => {
          requestInfo(ctx.req).route ??= `${known}/*`;
        },
        () => {},
      );
    };
    app.use(below(prefixes, apiErrors(toServiceError, errorBody, options.issuer, noteCaller)));
  }
  app.use(below(['/internal'], apiErrors(toServiceError, v2Body)));
  app.use(below(['/userinfo'], apiErrors(toServiceError, bearerError)));
  const isPage = (ctx: Context) => OAUTH_PAGES.some((prefix) => ctx.path.startsWith(prefix));
  app.use(below(OAUTH, oauthErrors({ toServiceError, serverErrorOf, isPage, showFault: pageErrors.show })));
  app.use(below(OAUTH_PAGES, providerPageHeaders));
  app.use(canonicalPathsOnly);
  if (options.rateLimit) app.use(limitByAddress(options));
  for (const router of options.routers) mount(app, router);
  app.on('error', (error: NodeJS.ErrnoException) => {
    // A caller who hung up is logged with the request, as status 499.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') logger.error({ err: error }, 'fault');
  });
  return app;
}

/** Throws `not_found` for any other spelling of a path: limits and routes compare it as text. */
const canonicalPathsOnly: Middleware = async (ctx, next) => {
  if (!isCanonicalPath(pathOf(ctx.url))) throw new ServiceError('not_found', 'There is nothing here.');
  await next();
};

/**
 * Limits by address every request that carries a secret, and those with passwords most strictly. Only those that fail count,
 * and requests that are stored before anybody has signed in. A browser in which somebody has signed in before counts by
 * itself, so that its neighbours behind the same address do not hinder it.
 */
function limitByAddress({
  browser,
  passwordPaths,
  sharedLimits: shared,
}: Pick<AppOptions, 'browser' | 'passwordPaths' | 'sharedLimits'>): Middleware {
  const token = createAddressLimiter(REQUESTS, shared);
  const password = createAddressLimiter(PASSWORDS, shared);
  const knownBrowserLimiter = createAddressLimiter(
    { name: 'known browsers', quota: 6000, seconds: 60 },
    shared,
  );
  return async (ctx, next) => {
    const isPage = OAUTH_PAGES.includes(ctx.path);
    if ((ctx.method !== 'POST' && !isPage) || ctx.path.startsWith('/internal/')) return next();
    const { path } = ctx;
    const takesPassword = ctx.method === 'POST' && passwordPaths.some((prefix) => isUnder(path, prefix));
    const limiter = takesPassword ? password : token;
    const { address } = requestInfo(ctx.req);
    const known = browser.signedInBefore(ctx);
    const key = known ?? address;
    // A person who signs in often enough has many known browsers.
    if (known !== undefined) await knownBrowserLimiter.count(address);
    ctx.set(await limiter.count(key));
    await next();
    const isStored = isPage || STORED.has(path);
    if (!isStored && ctx.status < 400) await limiter.refund(key);
  };
}

/**
 * After the signing key is replaced, the cookies library signs the cookies of a browser again, in a signature cookie without an expiry.
 * A browser drops that when it is closed, and the cookie is then worthless. So the signature gets an expiry, which may be later than
 * that of its cookie.
 */
const keepRenewedSignatures: Middleware = async (ctx, next) => {
  await next();
  if (!ctx.res.hasHeader('set-cookie')) return;
  const lines = [ctx.response.get('set-cookie')].flat();
  if (!lines.some((line) => WITHOUT_END.test(line))) return;
  const end = `; expires=${new Date(Date.now() + YEAR_MS).toUTCString()}`;
  ctx.set(
    'set-cookie',
    lines.map((line) => (WITHOUT_END.test(line) ? line + end : line)),
  );
};

import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { isCanonicalPath, pathOf } from '@gatehouse/server/request-path';
import { requestInfo } from '@gatehouse/server/requests';
import { inAppearance, readAppearance } from '@gatehouse/web/appearance';
import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import { CsrfError } from '../http/forms.ts';
import { sendPage } from '../http/respond.ts';
import { errorPage, sessionEndedPage } from '../pages/status-pages.ts';

/** Throws `not_found` for any other spelling of a path: what it stands for is sent on in paths of the API. */
const canonicalPathsOnly: Middleware = async (ctx, next) => {
  if (!isCanonicalPath(pathOf(ctx.url))) throw new ServiceError('not_found', 'There is nothing here.');
  await next();
};

/** The two addresses that people type, with a slash at the end: sent on for good (RFC 9110 §15.4.9). */
const slashRemoved: Middleware = async (ctx, next) => {
  const path = pathOf(ctx.url);
  if (path !== '/dashboard/' && path !== '/docs/') return next();
  ctx.status = 308;
  ctx.redirect(path.slice(0, -1) + ctx.search);
};

const HUNG_UP = new Set<string | undefined>(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

/** The Koa app: every response to a person is a page, errors included. */
export function createDashboardApp(options: {
  routers: readonly Router[];
  /** The caller's error for a failure that is no fault of ours, such as a database that is down. */
  unavailable(error: unknown): ServiceError | undefined;
  logger: Logger;
}): Koa {
  const { routers, unavailable, logger } = options;
  const app = new Koa();

  function toServiceError(ctx: Context, thrown: unknown): ServiceError {
    if (thrown instanceof ServiceError) return thrown;
    const { id } = requestInfo(ctx.req);
    const translated = unavailable(thrown);
    if (translated !== undefined) return translated;
    logger.error({ err: thrown, req_id: id }, 'fault');
    return new ServiceError('internal', 'Something went wrong on our side.');
  }

  const errorsAsPages: Middleware = async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) {
        throw new ServiceError('not_found', 'There is nothing here.');
      }
    } catch (thrown) {
      const error = toServiceError(ctx, thrown);
      ctx.set(error.headers);
      const page =
        error instanceof CsrfError ? sessionEndedPage() : errorPage(error, requestInfo(ctx.req).id);
      sendPage(ctx, page, error.status);
    }
  };

  app.use((ctx, next) => inAppearance(readAppearance(ctx.headers.cookie), next));
  app.use(errorsAsPages);
  app.use(slashRemoved);
  app.use(canonicalPathsOnly);
  for (const router of routers) app.use(router.routes() as Middleware);
  app.on('error', (error: NodeJS.ErrnoException) => {
    // A caller who hung up is logged with the request, as status 499.
    if (!HUNG_UP.has(error.code)) logger.error({ err: error }, 'fault');
  });
  return app;
}

import type { AddressLimiter } from '@gatehouse/api/http/rate-limit';
import { readBody } from '@gatehouse/api/http/request-body';
import type { Logger } from '@gatehouse/core/logger';
import Router from '@koa/router';
import { originOf } from '../../core/audit/audit.ts';
import type { ActiveProviders } from './active-providers.ts';
import { UpstreamError } from './upstream-identity.ts';
import type { EndUpstreamSessions } from './upstream-logout.ts';

/** More than any logout token has, in bytes. */
const MAX_REQUEST = 16 * 1024;

/** Where a provider with this id notifies us of sign-outs. */
export const logoutPath = (provider: string) => `/sign-in/providers/${provider}/backchannel-logout`;

/** Where a provider says that somebody has signed out there, or was signed out (OpenID Connect Back-Channel Logout 1.0 §2.5). */
export function logoutRoutes(options: {
  active: Pick<ActiveProviders, 'find'>;
  endSessions: EndUpstreamSessions;
  logger: Logger;
  /** Counts failures by address. */
  failures: Pick<AddressLimiter, 'count' | 'refund'>;
}): Router {
  const { failures } = options;
  const router = new Router({ sensitive: true });

  router.post(logoutPath(':provider'), async (ctx, next) => {
    const known = options.active.find(String(ctx.params.provider));
    if (known === undefined) return next();
    const origin = originOf(ctx);
    ctx.set('cache-control', 'no-store');
    await failures.count(origin.address);
    try {
      const body = new URLSearchParams((await readBody(ctx.req, MAX_REQUEST)).toString('utf8'));
      const logout = await known.client.readLogoutToken(body.get('logout_token') ?? '');
      await options.endSessions(known.provider.id, logout, origin);
      await failures.refund(origin.address);
      ctx.body = '';
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const { failure, detail, message } = error;
      const isAway = failure === 'unavailable';
      const about = { provider: known.provider.id, failure, reason: detail };
      if (isAway) options.logger.warn(about, 'a logout token could not be verified');
      // §2.8
      ctx.status = 400;
      ctx.body = {
        error: 'invalid_request',
        error_description: isAway ? 'The identity provider could not be reached.' : message,
      };
    }
  });
  return router;
}

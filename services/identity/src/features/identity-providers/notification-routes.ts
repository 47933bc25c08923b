import type { AddressLimiter } from '@gatehouse/api/http/rate-limit';
import { readBody } from '@gatehouse/api/http/request-body';
import type { Logger } from '@gatehouse/core/logger';
import Router from '@koa/router';
import type { Context } from 'koa';
import { originOf } from '../../core/audit/audit.ts';
import type { ActiveProviders } from './active-providers.ts';
import { UpstreamError, type UpstreamLogout } from './upstream-identity.ts';
import type { EndUpstreamSessions } from './upstream-logout.ts';
import {
  type Notification,
  readLogoutToken,
  readRevocationRequest,
  readSecurityEvent,
} from './upstream-notifications.ts';

/** More than any notification has, in bytes. */
const MAX_REQUEST = 16 * 1024;
const AWAY = 'The identity provider could not be reached.';

type NotificationKind = {
  read(notification: Notification): Promise<UpstreamLogout | undefined>;
  /** Sets the response. `isKnown`: whether an account is connected to the subject; undefined if the request names no subject that can be read. */
  respond(ctx: Context, isKnown: boolean | undefined): void;
  fail(ctx: Context, error: { isAway: boolean; message: string }): void;
};

/** The notifications by which a provider says that sessions have ended there, by the last segment of their paths. */
const KINDS = {
  'backchannel-logout': {
    read: readLogoutToken,
    respond(ctx) {
      ctx.body = '';
    },
    fail(ctx, { message }) {
      // OpenID Connect Back-Channel Logout 1.0 §2.8
      ctx.status = 400;
      ctx.body = { error: 'invalid_request', error_description: message };
    },
  },
  'security-events': {
    read: readSecurityEvent,
    respond(ctx) {
      // RFC 8935 §2.2
      ctx.body = '';
      ctx.status = 202;
    },
    fail(ctx, { isAway, message }) {
      // RFC 8935 §2.3
      ctx.status = isAway ? 503 : 400;
      ctx.body = { err: isAway ? 'temporarily_unavailable' : 'authentication_failed', description: message };
    },
  },
  'global-token-revocation': {
    read: readRevocationRequest,
    respond(ctx, isKnown) {
      // draft-parecki-oauth-global-token-revocation-06 §3.4
      ctx.body = '';
      ctx.status = isKnown === undefined ? 400 : isKnown ? 204 : 404;
    },
    fail(ctx, { isAway }) {
      ctx.body = '';
      ctx.status = isAway ? 503 : 401;
      if (!isAway) ctx.set('www-authenticate', 'Bearer error="invalid_token"');
    },
  },
} as const satisfies Record<string, NotificationKind>;
type KindName = keyof typeof KINDS;

/** The path to which a provider with this id sends notifications of a kind. */
export const notificationPath = (provider: string, kind: KindName) =>
  `/sign-in/providers/${provider}/${kind}`;

/** The requests by which a provider says that somebody has signed out there, or has to sign in again. */
export function notificationRoutes(options: {
  issuer: string;
  active: Pick<ActiveProviders, 'find'>;
  endSessions: EndUpstreamSessions;
  useOnce: Notification['useOnce'];
  logger: Logger;
  /** Counts failures by address. */
  failures: Pick<AddressLimiter, 'count' | 'refund'>;
}): Router {
  const { issuer, endSessions, failures, useOnce } = options;
  const router = new Router({ sensitive: true });
  for (const [name, kind] of Object.entries(KINDS) as [KindName, NotificationKind][]) {
    router.post(notificationPath(':provider', name), async (ctx, next) => {
      const known = options.active.find(String(ctx.params.provider));
      if (known === undefined) return next();
      const { client, provider } = known;
      const origin = originOf(ctx);
      ctx.set('cache-control', 'no-store');
      await failures.count(origin.address);
      try {
        const body = (await readBody(ctx.req, MAX_REQUEST)).toString('utf8');
        const endpoint = issuer + notificationPath(provider.id, name);
        const authorization = ctx.get('authorization');
        const logout = await kind.read({
          ...{ provider, client, issuer, endpoint, authorization, body, useOnce },
        });
        const isKnown = logout && (await endSessions(provider.id, logout, origin));
        await failures.refund(origin.address);
        kind.respond(ctx, isKnown);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        const { failure, detail, message } = error;
        const isAway = failure === 'unavailable';
        const about = { provider: provider.id, failure, reason: detail };
        if (isAway)
          options.logger.warn(about, 'a notification by an identity provider could not be verified');
        kind.fail(ctx, { isAway, message: isAway ? AWAY : message });
      }
    });
  }
  return router;
}

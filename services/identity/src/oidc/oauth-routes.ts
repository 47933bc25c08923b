import { ServiceError } from '@gatehouse/kit/errors';
import { API_KEY_PREFIX } from '@gatehouse/tokens/api-key';
import type { Caller } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { type Audit, originOf } from '../audit/audit.ts';
import { readBytes } from '../json-request.ts';
import type { AccessTokenHandles } from './access-token-handles.ts';
import { clientRequest } from './client-request.ts';

/** A request to sign in or out that comes as a form, in bytes: it goes on as a query. */
const LONGEST_QUERY = 6 * 1024;
const FORM = 'application/x-www-form-urlencoded';
/** Stands for a token that does not hold. */
const NO_TOKEN = 'no-token';

/** What oidc-provider does not take as the interface has it: JSON, JWTs to revoke, authorization requests as forms. */
export function oauthRoutes(options: {
  handles: AccessTokenHandles;
  /** Throws `unauthenticated` for a token that does not hold. */
  verify(token: string): Promise<Caller>;
  audit: Pick<Audit, 'record'>;
}): Router {
  const { handles, verify } = options;
  const router = new Router({ sensitive: true });
  const path = '/oauth2/token';
  router.post('/oauth/token', clientRequest({ accepts: ['json', 'form'], path }), withoutSameRefreshToken);
  router.post('/oauth2/token', clientRequest({ accepts: ['form'], path }), withoutSameRefreshToken);
  router.options('/oauth/token', (ctx, next) => {
    ctx.path = path;
    return next();
  });
  router.options('/oauth2/token', (_ctx, next) => next());

  /** A JWT in the request is replaced by a handle, by which oidc-provider finds it. */
  async function around(form: URLSearchParams, send: () => Promise<void>): Promise<void> {
    const token = form.get('token') ?? '';
    if (!token.startsWith('eyJ')) return send();
    const caller = await verify(token).catch((error: unknown) => {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') return undefined;
      throw error;
    });
    const sendWith = (handle: string) => {
      form.set('token', handle);
      return send();
    };
    return caller === undefined ? sendWith(NO_TOKEN) : handles.lend(caller, sendWith);
  }
  for (const path of ['/oauth2/revoke', '/oauth2/introspect']) {
    router.post(path, clientRequest({ accepts: ['json', 'form'], path, around }), neverEmpty);
    router.options(path, (_ctx, next) => next());
  }
  router.post('/oauth2/revoke', withoutApiKeys, written(options.audit));

  // OpenID Connect Core §3.1.2.1: as a form, too. It goes on as a query, since cookies that are safe from other
  // sites do not come with their forms.
  for (const path of ['/oauth2/authorize', '/oauth2/logout']) {
    router.get(path, (ctx, next) => {
      if (ctx.querystring.length > LONGEST_QUERY) {
        throw new ServiceError('invalid', `The query is longer than ${LONGEST_QUERY} characters.`);
      }
      return next();
    });
    router.post(path, async (ctx: Context) => {
      if (ctx.is(FORM) === false) {
        throw new ServiceError('unsupported_media_type', `The Content-Type must be ${FORM}.`);
      }
      const form = (await readBytes(ctx, LONGEST_QUERY)).toString('utf8');
      ctx.status = 303;
      ctx.set('cache-control', 'no-store');
      ctx.redirect(`${path}?${new URLSearchParams(form)}`);
    });
  }
  return router;
}

/**
 * What a revocation answers does not matter (RFC 7009 §2.2), but clients that read every answer as JSON
 * (simple-oauth2 by its defaults) take an empty one for a failure.
 */
const neverEmpty: Middleware = async (ctx, next) => {
  await next();
  if (ctx.status === 200 && ctx.body === '') ctx.body = {};
};

/** An API key is no token, and lives on: that it was revoked must not be said of it (RFC 7009 §2.2.1). */
const withoutApiKeys: Middleware = async (ctx, next) => {
  await next();
  const { oidc } = ctx as Partial<KoaContextWithOIDC>;
  if (ctx.status !== 200 || !String(oidc?.params?.token).startsWith(API_KEY_PREFIX)) return;
  ctx.body = {
    error: 'unsupported_token_type',
    error_description: 'An API key is revoked at /api/v1/applications/{client_id}/api-keys/{id}.',
  };
  ctx.status = 400;
};

/** Writes down whose token a client has revoked. */
function written(audit: Pick<Audit, 'record'>): Middleware {
  return async (ctx, next) => {
    await next();
    const { AccessToken, RefreshToken, Client } = (ctx as Partial<KoaContextWithOIDC>).oidc?.entities ?? {};
    const token = AccessToken ?? RefreshToken;
    if (ctx.status !== 200 || token === undefined || token.clientId !== Client?.clientId) return;
    await audit.record({
      action: 'token.revoked',
      origin: originOf(ctx),
      client: token.clientId ?? '',
      ...(token.accountId === undefined ? {} : { subject: token.accountId }),
    });
  };
}

/** A refresh token that was not rotated is not given once more (interface.md 2.1). */
const withoutSameRefreshToken: Middleware = async (ctx, next) => {
  await next();
  const { oidc } = ctx as Partial<KoaContextWithOIDC>;
  const refreshed = ctx.status === 200 && oidc?.params?.grant_type === 'refresh_token';
  if (refreshed && oidc.entities.RotatedRefreshToken === undefined) {
    delete (ctx.body as { refresh_token?: string }).refresh_token;
  }
};

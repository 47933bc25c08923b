import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import type { Caller } from '@gatehouse/tokens/caller';
import {
  MCP_METADATA_PATH,
  mcpMetadata,
  RESOURCE_METADATA_PATH,
  resourceMetadata,
} from '@gatehouse/tokens/resource-metadata';
import { API_KEY_PREFIX } from '@gatehouse/verify/api-key';
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { isConfidential } from '../../core/applications/application.ts';
import type { Applications } from '../../core/applications/applications.ts';
import { type Audit, originOf } from '../../core/audit/audit.ts';
import type { ClientAssertions } from '../../core/extensions.ts';
import { MAX_REQUEST } from '../../core/limits/bounds.ts';
import type { AccessTokenHandles } from '../../core/oidc/adapter/access-token-handles.ts';
import { omitOfflineAccess } from '../../core/oidc/claims/scope-rules.ts';
import { cachedDocument, ROUTES } from '../../core/oidc/provider-routes.ts';
import { openCors } from '../../http/routing.ts';
import { type ClientRequestOptions, clientRequest } from './client-request.ts';

const FORM = 'application/x-www-form-urlencoded';
/** RFC 6749 §2.3.1, RFC 7521 §4.2. */
const CLIENT_AUTHENTICATION = new Set(['client_secret', 'client_assertion', 'client_assertion_type']);
/** Replaces a token that is not valid. */
const NO_TOKEN = 'no-token';

/** Additions to oidc-provider: JSON bodies, revoking JWTs, authorization requests as forms. */
export function oauthRoutes(options: {
  issuer: string;
  handles: AccessTokenHandles;
  /** Throws `unauthenticated` for a token or an API key that is not valid. */
  verify(token: string): Promise<{ caller: Caller; audience: string }>;
  audit: Pick<Audit, 'record'>;
  applications: Pick<Applications, 'find'>;
  extensions: { clientAssertions: readonly Pick<ClientAssertions, 'accept'>[] };
  /** Resolves to whether it has answered the request. */
  clientCredentials(ctx: Context, form: URLSearchParams): Promise<boolean>;
}): Router {
  const { handles, verify } = options;
  const router = new Router({ sensitive: true });
  const path = '/oauth2/token';

  async function prepare(ctx: Context, form: URLSearchParams): Promise<void> {
    omitOfflineAccess(form);
    await acceptEmptySecret(ctx, form, options.applications.find);
    for (const { accept } of options.extensions.clientAssertions) await accept(ctx, form);
  }
  const toProvider = (request: ClientRequestOptions) => clientRequest({ prepare, ...request });

  const around: ClientRequestOptions['around'] = async (ctx, form, send) => {
    if (!(await options.clientCredentials(ctx, form))) await send();
  };
  const token = (accepts: ClientRequestOptions['accepts']) => toProvider({ accepts, path, around });
  router.post('/oauth/token', token(['json', 'form']), omitUnrotatedRefreshToken);
  router.post('/oauth2/token', token(['form']), omitUnrotatedRefreshToken);
  router.options('/oauth/token', (ctx, next) => {
    ctx.path = path;
    return next();
  });
  router.options('/oauth2/token', (_ctx, next) => next());

  /** The request is stored, and what authenticates the client is not. */
  async function limitStored(ctx: Context, form: URLSearchParams): Promise<void> {
    const request = new URLSearchParams([...form].filter(([name]) => !CLIENT_AUTHENTICATION.has(name)));
    if (request.toString().length > MAX_REQUEST) {
      throw new ServiceError('invalid', `The request is longer than ${MAX_REQUEST} bytes.`);
    }
    await prepare(ctx, form);
  }

  /** Replaces a JWT, or an API key that is introspected, by a handle for it. */
  async function withHandle(ctx: Context, form: URLSearchParams, send: () => Promise<void>): Promise<void> {
    const token = form.get('token') ?? '';
    const isKey = token.startsWith(API_KEY_PREFIX) && ctx.path === ROUTES.introspection;
    if (!isKey && !token.startsWith('eyJ')) return send();
    const verified = await verify(token).catch((error: unknown) => {
      if (error instanceof ServiceError && error.kind === 'unauthenticated') return undefined;
      throw error;
    });
    const sendWith = (handle: string) => {
      form.set('token', handle);
      return send();
    };
    if (verified === undefined) return sendWith(NO_TOKEN);
    return handles.issue(verified.caller, sendWith, verified.audience);
  }
  for (const path of ['/oauth2/revoke', '/oauth2/introspect']) {
    router.post(path, toProvider({ accepts: ['json', 'form'], path, around: withHandle }), emptyObject);
    router.options(path, (_ctx, next) => next());
  }
  for (const path of [ROUTES.pushed_authorization_request, ROUTES.device_authorization]) {
    router.post(path, toProvider({ accepts: ['form'], path, prepare: limitStored }));
  }
  router.post('/oauth2/revoke', refuseApiKeys, auditRevocation(options.audit));

  for (const [path, metadataOf] of [
    [RESOURCE_METADATA_PATH, resourceMetadata],
    [MCP_METADATA_PATH, mcpMetadata],
  ] as const) {
    const metadata: Middleware = (ctx) => {
      ctx.body = metadataOf(options.issuer);
    };
    router.register(path, ['GET', 'OPTIONS'], [openCors, cachedDocument(), metadata]);
  }

  router.post('/oauth2/logout/confirm', onlyToRegisteredUri);
  // OpenID Connect Core §3.1.2.1 has it as a form, too. It is passed on as a query, as browsers do not send our
  // cookies (SameSite=Lax) with forms from other sites.
  for (const path of ['/oauth2/authorize', '/oauth2/logout']) {
    router.get(path, (ctx, next) => {
      if (ctx.querystring.length > MAX_REQUEST) {
        throw new ServiceError('invalid', `The query is longer than ${MAX_REQUEST} characters.`);
      }
      return next();
    });
    router.post(path, async (ctx: Context) => {
      if (ctx.is(FORM) === false) {
        throw new ServiceError('unsupported_media_type', `The Content-Type must be ${FORM}.`);
      }
      const form = (await readBody(ctx.req, MAX_REQUEST)).toString('utf8');
      ctx.status = 303;
      ctx.set('cache-control', 'no-store');
      ctx.redirect(`${path}?${new URLSearchParams(form)}`);
    });
  }
  return router;
}

/**
 * Clients ignore the body of a revocation (RFC 7009 §2.2), but those that parse every response as JSON
 * (simple-oauth2 by default) take an empty one for a failure.
 */
const emptyObject: Middleware = async (ctx, next) => {
  await next();
  if (ctx.status === 200 && ctx.body === '') ctx.body = {};
};

/** An API key is not revoked here, so the response must not say that it is (RFC 7009 §2.2.1). */
const refuseApiKeys: Middleware = async (ctx, next) => {
  await next();
  const { oidc } = ctx as Partial<KoaContextWithOIDC>;
  if (ctx.status !== 200 || !String(oidc?.params?.token).startsWith(API_KEY_PREFIX)) return;
  ctx.body = {
    error: 'unsupported_token_type',
    error_description: 'An API key is revoked at /api/v1/applications/{client_id}/api-keys/{id}.',
  };
  ctx.status = 400;
};

/**
 * The URI was checked when the page that asks was shown (OpenID Connect RP-Initiated Logout §3), and may have been removed
 * since, or the application with it.
 */
const onlyToRegisteredUri: Middleware = async (ctx, next) => {
  await next();
  const location = String(ctx.response.get('location'));
  const { oidc } = ctx as Partial<KoaContextWithOIDC>;
  if (ctx.status !== 303 || oidc === undefined) return;
  const success = oidc.urlFor('end_session_success');
  const registered = oidc.entities.Client?.postLogoutRedirectUris ?? [];
  if (![success, ...registered].some((uri) => isSameBesideState(uri, location))) ctx.redirect(success);
};

/** Whether the URIs differ in nothing but the parameters that oidc-provider adds. */
function isSameBesideState(uri: string, other: string): boolean {
  const [a, b] = [uri, other].map((text) => {
    const url = new URL(text);
    url.searchParams.delete('state');
    url.searchParams.delete('client_id');
    return url.href;
  });
  return a === b;
}

/** Records whose token a client has revoked. */
function auditRevocation(audit: Pick<Audit, 'record'>): Middleware {
  return async (ctx, next) => {
    await next();
    const { AccessToken, RefreshToken, Client } = (ctx as Partial<KoaContextWithOIDC>).oidc?.entities ?? {};
    const token = AccessToken ?? RefreshToken;
    if (ctx.status !== 200 || token === undefined || token.clientId !== Client?.clientId) return;
    await audit.record({
      action: 'token.revoked',
      origin: originOf(ctx),
      actor: null,
      client: token.clientId ?? '',
      ...(token.accountId === undefined ? {} : { subject: token.accountId }),
    });
  };
}

/** A refresh token that was not rotated is not returned again (interface.md 2.1). */
const omitUnrotatedRefreshToken: Middleware = async (ctx, next) => {
  await next();
  const { oidc } = ctx as Partial<KoaContextWithOIDC>;
  const refreshed = ctx.status === 200 && oidc?.params?.grant_type === 'refresh_token';
  if (refreshed && oidc.entities.RotatedRefreshToken === undefined) {
    delete (ctx.body as { refresh_token?: string }).refresh_token;
  }
};

/**
 * Some libraries send the client_id of a public client by HTTP Basic, with an empty secret (RFC 6749 §2.3.1: the secret may
 * be omitted if it is empty). It then counts as sent in the form, where public clients have it (§3.2.1).
 */
async function acceptEmptySecret(
  ctx: Context,
  form: URLSearchParams,
  find: Applications['find'],
): Promise<void> {
  const [, encoded = ''] = /^Basic +([\w+/]+={0,2})$/i.exec(ctx.get('authorization')) ?? [];
  const [, name] = /^([^:]+):$/.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  if (name === undefined) return;
  // It is encoded as in a form (RFC 6749 §2.3.1).
  const id = new URLSearchParams(`id=${name}`).get('id') ?? '';
  const application = await find(id);
  const other = form.has('client_id') && form.get('client_id') !== id;
  if (application === undefined || isConfidential(application) || other) return;
  form.set('client_id', id);
  delete ctx.req.headers.authorization;
}

import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import Router from '@koa/router';
import type { Context } from 'koa';
import { SignInExpired } from '../../pages/page-errors.ts';
import { seeOther, setPageHeaders } from '../../pages/page-response.ts';
import type { ActiveProviders } from './active-providers.ts';
import type { AuthorizationStates } from './authorization-state.ts';

/** The parameters of an authorization response (RFC 6749 §4.1.2, RFC 9207 §2); others are not passed on. */
const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'];
/** More than any response has, in bytes. */
const MAX_RESPONSE = 16 * 1024;

/** Where a provider sends browsers back to: the redirect URI that is registered there. */
export const callbackPath = (provider: string) => `/sign-in/providers/${provider}/callback`;

/**
 * Passes the response of a provider on to the page that is waiting for it, where the cookies of the sign-in are: that of
 * oidc-provider is for its own path only, and a form that another site posts comes without any. Each provider has a path of its own,
 * so that the response of one cannot be taken for that of another (RFC 9700 §4.4.2.2).
 */
export function callbackRoutes(options: {
  active: Pick<ActiveProviders, 'find'>;
  states: AuthorizationStates;
}): Router {
  const router = new Router({ sensitive: true });

  function passOn(ctx: Context, response: URLSearchParams): void {
    const provider = String(ctx.params.provider);
    if (!options.active.find(provider)?.provider.isEnabled)
      throw new ServiceError('not_found', 'There is no such provider.');
    const path = options.states.returnTo(response.get('state') ?? '', provider);
    if (path === undefined) throw new SignInExpired();
    const parameters = new URLSearchParams();
    for (const name of PARAMETERS) {
      const [value, ...more] = response.getAll(name);
      if (more.length > 0) throw new ServiceError('invalid', `The parameter ${name} must not be repeated.`);
      if (value !== undefined) parameters.set(name, value);
    }
    setPageHeaders(ctx);
    seeOther(ctx, `${path}?${parameters}`);
  }

  router.get(callbackPath(':provider'), (ctx) => passOn(ctx, new URLSearchParams(ctx.querystring)));

  // OAuth 2.0 Form Post Response Mode.
  router.post(callbackPath(':provider'), async (ctx) => {
    const body = await readBody(ctx.req, MAX_RESPONSE);
    passOn(ctx, new URLSearchParams(body.toString('utf8')));
  });
  return router;
}

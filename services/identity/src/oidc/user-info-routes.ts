import type { Caller } from '@gatehouse/tokens/caller';
import { requireScope, unauthenticated } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account } from '../accounts/account.ts';
import { userInfo } from './person.ts';

/**
 * /userinfo (OpenID Connect Core §5.3). oidc-provider's own refuses access tokens that are bound to an API, as
 * all of ours are.
 */
export function userInfoRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  findAccount(id: string): Promise<Account | undefined>;
  /** The origins from which the application's pages may ask. */
  originsOf(clientId: string): Promise<readonly string[]>;
}): Router {
  const { authenticate, findAccount, originsOf } = options;
  const answer = async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    // Any page may read that its token does not hold: whose page it is, only a token that holds can tell.
    if (origin !== '') {
      ctx.set('access-control-allow-origin', origin);
      ctx.set('access-control-expose-headers', 'WWW-Authenticate, Retry-After, X-Request-Id');
    }
    const caller = await authenticate(ctx);
    if (origin !== '' && !(await originsOf(caller.clientId)).includes(origin)) {
      ctx.remove('access-control-allow-origin');
    }
    requireScope(caller, ['openid']);
    const account = caller.person?.id === caller.subject ? await findAccount(caller.subject) : undefined;
    if (account === undefined || account.status !== 'active') {
      throw unauthenticated('The access token stands for nobody with an active account.', 'invalid_token');
    }
    ctx.body = userInfo(account, caller.scopes);
  };
  return new Router({ sensitive: true })
    .get('/userinfo', answer)
    .post('/userinfo', answer)
    .options('/userinfo', (ctx) => {
      // Who asks is known only with the token; what a page of a stranger may read is decided there.
      ctx.vary('Origin');
      ctx.set({
        'access-control-allow-origin': ctx.get('origin') || '*',
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'Authorization, DPoP, Content-Type',
        'access-control-max-age': '3600',
      });
      ctx.status = 204;
    });
}

import type { Caller } from '@gatehouse/tokens/caller';
import { requireScope, unauthenticated } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account, Accounts } from '../accounts/account.ts';
import type { Applications } from '../applications/applications.ts';

/** /userinfo (OpenID Connect Core §5.3). oidc-provider's own refuses tokens that are bound to an API, as ours are. */
export function userInfoRoutes(options: {
  authenticate(ctx: Context): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  applications: Pick<Applications, 'originsOf'>;
}): Router {
  const { authenticate, accounts, applications } = options;
  const answer = async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    // Any page may read that its token is not valid: only a valid token tells which application's page it is.
    if (origin !== '') {
      ctx.set('access-control-allow-origin', origin);
      ctx.set('access-control-expose-headers', 'WWW-Authenticate, Retry-After, X-Request-Id');
    }
    const caller = await authenticate(ctx);
    if (origin !== '' && !(await applications.originsOf(caller.clientId)).includes(origin)) {
      ctx.remove('access-control-allow-origin');
    }
    requireScope(caller, ['openid']);
    const account = caller.person?.id === caller.subject ? await accounts.find(caller.subject) : undefined;
    if (account === undefined || account.status !== 'active') {
      throw unauthenticated('The access token does not belong to an active account.', 'invalid_token');
    }
    ctx.body = userInfo(account, caller.scopes);
  };
  return new Router({ sensitive: true })
    .get('/userinfo', answer)
    .post('/userinfo', answer)
    .options('/userinfo', (ctx) => {
      // Which application's page it is becomes known only with the token.
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

/** User info (interface.md 2.3; OpenID Connect Core §5.3): what the scopes allow, without unknown values. */
function userInfo(account: Account, scopes: ReadonlySet<string>): Record<string, string | boolean> {
  const profile = scopes.has('profile') || scopes.has('read:profile');
  const fields = {
    sub: account.id,
    ...(profile && {
      name: account.name,
      given_name: account.first_name,
      family_name: account.last_name,
      picture: account.picture,
      updated_at: account.updated_at,
    }),
    ...(scopes.has('email') &&
      account.email !== null && { email: account.email, email_verified: account.email_verified }),
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string | boolean] => field[1] !== null),
  );
}

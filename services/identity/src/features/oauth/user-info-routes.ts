import { readBody } from '@gatehouse/api/http/request-body';
import { ServiceError } from '@gatehouse/core/errors';
import type { ProfilePins } from '@gatehouse/domain/profile-pins';
import type { Caller } from '@gatehouse/tokens/caller';
import { requireScope, unauthenticated } from '@gatehouse/tokens/caller';
import Router from '@koa/router';
import type { Context } from 'koa';
import type { Account, Accounts } from '../../core/accounts/account.ts';
import type { Applications } from '../../core/applications/applications.ts';
import { claimsOfScopes } from '../../core/oidc/claims/claims-parameter.ts';
import { standardClaims } from '../../core/oidc/claims/standard-claims.ts';

const FORM = 'application/x-www-form-urlencoded';
/** More than any access token needs, in bytes. */
const BODY_LIMIT = 16 * 1024;

type UserInfoProfile = ProfilePins['userinfo'][number];

/** /userinfo (OpenID Connect Core §5.3). oidc-provider's own refuses tokens that are bound to an API, as ours are. */
export function userInfoRoutes(options: {
  authenticate(ctx: Context, authorization?: string): Promise<Caller>;
  accounts: Pick<Accounts, 'find'>;
  applications: Pick<Applications, 'originsOf'>;
  /** For applications that have not pinned one. */
  defaultProfile?: UserInfoProfile | undefined;
}): Router {
  const { authenticate, accounts, applications, defaultProfile = 'interface' } = options;
  const respond = async (ctx: Context) => {
    ctx.set('cache-control', 'no-store');
    ctx.vary('Origin');
    const origin = ctx.get('origin');
    // Any page may read that its token is not valid: only a valid token tells which application's page it is.
    if (origin !== '') {
      ctx.set('access-control-allow-origin', origin);
      ctx.set('access-control-expose-headers', 'WWW-Authenticate, Retry-After, X-Request-Id');
    }
    const caller = await authenticate(ctx, await tokenInBody(ctx));
    if (origin !== '' && !(await applications.originsOf(caller.clientId)).includes(origin)) {
      ctx.remove('access-control-allow-origin');
    }
    requireScope(caller, ['openid']);
    const account = caller.person?.id === caller.subject ? await accounts.find(caller.subject) : undefined;
    if (account === undefined || account.status !== 'active') {
      throw unauthenticated('The access token does not belong to an active account.', 'invalid_token');
    }
    const profile = (caller.profiles.userinfo as UserInfoProfile | undefined) ?? defaultProfile;
    ctx.body = userInfo(account, {
      scopes: [...caller.scopes],
      requested: caller.userInfoClaims ?? [],
      profile,
    });
  };
  return new Router({ sensitive: true })
    .get('/userinfo', respond)
    .post('/userinfo', respond)
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

/**
 * The access token of a form, as an Authorization header (RFC 6750 §2.2). One that is bound to a key belongs into the
 * header. Throws `invalid` for a second way of sending one (§2).
 */
async function tokenInBody(ctx: Context): Promise<string | undefined> {
  if (ctx.method !== 'POST' || ctx.is(FORM) !== FORM) return undefined;
  const form = new URLSearchParams((await readBody(ctx.req, BODY_LIMIT)).toString('utf8'));
  const [token, ...more] = form.getAll('access_token').filter((value) => value !== '');
  if (token === undefined) return undefined;
  if (more.length > 0 || ctx.get('authorization') !== '') {
    const headers = { 'www-authenticate': 'Bearer realm="gatehouse", error="invalid_request"' };
    throw new ServiceError('invalid', 'The access token must be sent once, and in one way.', { headers });
  }
  return `Bearer ${token}`;
}

/**
 * User info (interface.md 2.3; OpenID Connect Core §5.3): what the scopes and the claims parameter ask for, without unknown
 * values.
 */
function userInfo(
  account: Account,
  options: { scopes: readonly string[]; requested: readonly string[]; profile: UserInfoProfile },
) {
  const { scopes, requested, profile } = options;
  const names = new Set(claimsOfScopes(scopes));
  const claims = standardClaims(account);
  if (profile === 'interface') claims.updated_at = account.updated_at;
  for (const name of requested) names.add(name);
  return Object.fromEntries(Object.entries(claims).filter(([name]) => names.has(name)));
}

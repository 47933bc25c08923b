import type { Account as OidcAccount } from 'oidc-provider';
import type { Account } from '../../accounts/account.ts';
import { CLAIMS_OF_SCOPES, standardClaims } from './standard-claims.ts';

/** An account as oidc-provider needs it, with our account in it. */
export type ProviderAccount = OidcAccount & { account: Account };

/**
 * The ID token has the subject, with the scope email the address, and what the claims parameter asks for. The rest is at
 * /userinfo: as our access tokens are bound to the API, oidc-provider would otherwise put every claim into the ID token.
 */
export function toProviderAccount(account: Account): ProviderAccount {
  return {
    accountId: account.id,
    account,
    async claims(_use, scope, requested) {
      const ofEmail = scope.split(' ').includes('email') ? CLAIMS_OF_SCOPES.email : [];
      const names = new Set(['sub', ...ofEmail, ...Object.keys(requested)]);
      const claims = Object.entries(standardClaims(account)).filter(([name]) => names.has(name));
      return { ...Object.fromEntries(claims), sub: account.id };
    },
  };
}

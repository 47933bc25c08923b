import type { Account as OidcAccount } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';

/** An account as oidc-provider needs it, with our account in it. */
export type ProviderAccount = OidcAccount & { account: Account };

/**
 * The ID token has the subject and, where requested, the email address. The rest is at /userinfo: as our access tokens
 * are bound to the API, oidc-provider would otherwise put every claim into the ID token.
 */
export function toProviderAccount(account: Account): ProviderAccount {
  return {
    accountId: account.id,
    account,
    async claims(_use, scope) {
      const withEmail = scope.split(' ').includes('email') && account.email !== null;
      return {
        sub: account.id,
        ...(withEmail ? { email: account.email, email_verified: account.email_verified } : {}),
      };
    },
  };
}

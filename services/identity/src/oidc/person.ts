import type { Account as OidcAccount } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';

/** An account as oidc-provider takes it, with ours on it. */
export type Person = OidcAccount & { account: Account };

/**
 * The ID token carries the subject, and the address where that was asked for. The rest stays at /userinfo: our
 * access tokens are bound to the API, for which oidc-provider would put every claim into the ID token.
 */
export function personOf(account: Account): Person {
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

/** User info (interface.md 2.3; OpenID Connect Core §5.3): what the scopes allow; what is not known is left out. */
export function userInfo(account: Account, scopes: ReadonlySet<string>): Record<string, string> {
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
    ...(scopes.has('email') && { email: account.email }),
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'),
  );
}

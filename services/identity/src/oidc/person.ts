import type { Account as OidcAccount } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';

/** An account as oidc-provider needs it, with our account in it. */
export type Person = OidcAccount & { account: Account };

/**
 * The ID token has the subject and, where requested, the email address. The rest is at /userinfo: as our access tokens
 * are bound to the API, oidc-provider would otherwise put every claim into the ID token.
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

/** User info (interface.md 2.3; OpenID Connect Core §5.3): what the scopes allow, without unknown values. */
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

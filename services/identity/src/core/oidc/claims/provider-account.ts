import { parseScope } from '@gatehouse/tokens/scopes';
import type { Account as OidcAccount } from 'oidc-provider';
import type { Account } from '../../accounts/account.ts';
import { CLAIMS_OF_SCOPES, standardClaims } from './standard-claims.ts';

/** An account as oidc-provider needs it, with our account in it. */
export type ProviderAccount = OidcAccount & { account: Account };

/** The claims that a scope adds to ID tokens. */
const IN_ID_TOKEN: Readonly<Record<string, readonly string[]>> = {
  email: CLAIMS_OF_SCOPES.email,
  roles: CLAIMS_OF_SCOPES.roles,
  profile: CLAIMS_OF_SCOPES.profile.filter((name) => name !== 'updated_at'),
};

/**
 * The ID token has the subject, what its scopes add to it, and what the claims parameter asks for. The rest is at /userinfo: as our access
 * tokens are bound to the API, oidc-provider would otherwise put every claim into the ID token. `hasProfile`: the claims of the scope
 * profile are in it, too.
 */
export function toProviderAccount(
  account: Account,
  { hasProfile }: { hasProfile: boolean },
): ProviderAccount {
  return {
    accountId: account.id,
    account,
    async claims(_use, scope, requested) {
      const scopes = parseScope(scope).filter((name) => hasProfile || name !== 'profile');
      const ofScopes = scopes.flatMap((name) => IN_ID_TOKEN[name] ?? []);
      const names = new Set(['sub', ...ofScopes, ...Object.keys(requested)]);
      const claims = Object.entries(standardClaims(account)).filter(([name]) => names.has(name));
      return { ...Object.fromEntries(claims), sub: account.id };
    },
  };
}

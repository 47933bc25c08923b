import type { Account } from '../../accounts/account.ts';

/** The claims that each scope of OpenID Connect Core §5.4 asks for, of those that we know, and `roles` (RFC 9068 §2.2.3.1). */
export const CLAIMS_OF_SCOPES = {
  openid: ['sub'],
  profile: [
    'name',
    'given_name',
    'family_name',
    'preferred_username',
    'picture',
    'locale',
    'zoneinfo',
    'updated_at',
  ],
  email: ['email', 'email_verified'],
  roles: ['roles'],
};

type ClaimValue = string | number | boolean | readonly string[];

/** The claims of an account (OpenID Connect Core §5.1), without those that have no value. */
export function standardClaims(account: Account): Record<string, ClaimValue> {
  const { email } = account;
  const claims: Record<string, ClaimValue | null> = {
    sub: account.id,
    name: account.name,
    given_name: account.first_name,
    family_name: account.last_name,
    preferred_username: account.username,
    picture: account.picture,
    locale: account.locale,
    zoneinfo: account.zoneinfo,
    updated_at: Math.floor(Date.parse(account.updated_at) / 1000),
    email,
    email_verified: email === null ? null : account.email_verified,
    roles: [account.role],
  };
  return Object.fromEntries(
    Object.entries(claims).filter((claim): claim is [string, ClaimValue] => claim[1] !== null),
  );
}

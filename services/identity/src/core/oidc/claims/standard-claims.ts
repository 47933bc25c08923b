import type { Account } from '../../accounts/account.ts';

/** The claims that each scope of OpenID Connect Core §5.4 asks for, of those that we know. */
export const CLAIMS_OF_SCOPES = {
  openid: ['sub'],
  profile: ['name', 'given_name', 'family_name', 'preferred_username', 'picture', 'updated_at'],
  email: ['email', 'email_verified'],
};

/** The claims of an account (OpenID Connect Core §5.1), without those that have no value. */
export function standardClaims(account: Account): Record<string, string | number | boolean> {
  const { email } = account;
  const claims = {
    sub: account.id,
    name: account.name,
    given_name: account.first_name,
    family_name: account.last_name,
    preferred_username: account.username,
    picture: account.picture,
    updated_at: Math.floor(Date.parse(account.updated_at) / 1000),
    email,
    email_verified: email === null ? null : account.email_verified,
  };
  return Object.fromEntries(
    Object.entries(claims).filter((claim): claim is [string, string | number | boolean] => claim[1] !== null),
  );
}

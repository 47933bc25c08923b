/** The scopes of the interface (section 5). */
export const OIDC_SCOPES = ['openid', 'profile', 'email'] as const;
export const API_SCOPES = [
  'read:profile',
  'read:users',
  'write:users',
  'read:data',
  'write:data',
  'read:all',
] as const;

export type Scope = (typeof OIDC_SCOPES)[number] | (typeof API_SCOPES)[number];

/** The roles a person can have, from the least to the most. */
export const ROLES = ['user', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}

/** The names in a space-separated scope (RFC 6749 §3.3), each once, in the order given. */
export function parseScope(scope: string): string[] {
  return [...new Set(scope.split(' ').filter((name) => name !== ''))];
}

/** The `aud` of access tokens for the API: its resource indicator (RFC 8707), below the issuer. */
export function apiAudience(issuer: string): string {
  return `${issuer}/api`;
}

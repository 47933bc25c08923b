/**
 * Which service serves which paths. A prefix stands for itself and everything below it, by whole path
 * segments: /v1/users covers /v1/users/x and not /v1/usersearch. run() routes by these tables, and the
 * edge's configuration is tested against them.
 */
export const PUBLIC_PREFIXES = {
  identity: [
    '/oauth',
    '/oauth2',
    '/.well-known',
    '/userinfo',
    '/api/v1/auth',
    '/api/v1/applications',
    '/sign-in',
    '/consent',
    '/account',
  ],
  users: [
    '/v1/users',
    '/v2/users',
    '/api/v1/users',
    '/users',
    '/kb/api/v1/users',
    '/openapi/users.json',
    '/guides/filters',
  ],
} as const satisfies Record<string, readonly string[]>;

/** What services ask of each other; the edge passes on none of these. */
export const INTERNAL_PREFIXES = {
  identity: ['/internal/identity'],
  users: ['/internal/users'],
} as const satisfies Record<string, readonly string[]>;

/** All that a service serves. */
export function prefixesOf(
  service: keyof typeof PUBLIC_PREFIXES & keyof typeof INTERNAL_PREFIXES,
): readonly string[] {
  return [...PUBLIC_PREFIXES[service], ...INTERNAL_PREFIXES[service]];
}

/** Whether the path is the prefix itself or below it. */
export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/');
}

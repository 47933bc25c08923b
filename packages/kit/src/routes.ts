/**
 * Which service serves which paths. A prefix stands for itself and everything below it, by whole path
 * segments: /v1/users covers /v1/users/x and not /v1/usersearch. run() routes by this table, and the
 * edge's configuration is tested against it.
 */
export const PUBLIC_PREFIXES = {
  identity: ['/oauth', '/oauth2', '/.well-known'],
  users: ['/v1/users'],
} as const satisfies Record<string, readonly string[]>;

/** Whether the path is the prefix itself or below it. */
export function isUnder(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/');
}

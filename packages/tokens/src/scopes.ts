import { internalPrefix } from '@gatehouse/core/services';

/**
 * The scopes of the interface (section 5): the least role whose tokens can carry each, and its description for developers. Identity's pages
 * describe it to the person, whose role decides the rest (services/identity/src/pages/scope-descriptions.ts).
 */
const SCOPES = {
  openid: { role: 'user', meaning: 'Sign people in, and learn their ids.' },
  profile: {
    role: 'user',
    meaning:
      'Read a person’s name and picture at /userinfo, and their account details, with username and email address, from the users API.',
  },
  email: { role: 'user', meaning: 'Read a person’s email address, and whether it is confirmed.' },
  roles: {
    role: 'user',
    meaning: 'Read a person’s role, which an application can map to its own groups.',
  },
  'read:profile': { role: 'user', meaning: 'Read the account details of the person who has signed in.' },
  'read:users': { role: 'user', meaning: 'Read users, as far as the role allows.' },
  'write:users': { role: 'user', meaning: 'Create, change and delete users, as far as the role allows.' },
  'read:data': {
    role: 'user',
    meaning:
      'Read items, products, orders, notifications, push subscriptions, events, webhooks, reports and analytics, as far as the role allows.',
  },
  'write:data': {
    role: 'user',
    meaning:
      'Create, change and delete items, products, orders, notifications, push subscriptions, webhooks and reports, and control queues, as far as the role allows.',
  },
  'read:all': { role: 'editor', meaning: 'Read everything; for editors, admins and trusted applications.' },
} as const satisfies Record<string, { role: Role; meaning: string }>;
export type Scope = keyof typeof SCOPES;
type OidcScope = Exclude<Scope, `${string}:${string}`>;

const ALL = Object.keys(SCOPES) as Scope[];
const isOidcScope = (scope: Scope): scope is OidcScope => !scope.includes(':');
export const OIDC_SCOPES = ALL.filter(isOidcScope);
export const API_SCOPES = ALL.filter((scope) => !isOidcScope(scope)) as Exclude<Scope, OidcScope>[];

/** The descriptions of scopes for developers. */
export const SCOPE_MEANINGS = Object.fromEntries(
  ALL.map((scope) => [scope, SCOPES[scope].meaning]),
) as Readonly<Record<Scope, string>>;

/** The roles of a person, in ascending order. */
export const ROLES = ['user', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}

/** The distinct names in a space-separated scope (RFC 6749 §3.3), in their order. */
export function parseScope(scope: string): string[] {
  return [...new Set(scope.split(' ').filter((name) => name !== ''))];
}

/** The `aud` of access tokens for the API: its resource indicator (RFC 8707), a URL under the issuer. */
export function apiAudience(issuer: string): string {
  return `${issuer}/api`;
}

/** The `aud` of access tokens for the MCP server, which the API does not take. */
export function mcpAudience(issuer: string): string {
  return `${issuer}/mcp`;
}

/** The scopes of the MCP server: to call tools that read, and tools that change something. */
export const MCP_READ = 'mcp:read';
export const MCP_WRITE = 'mcp:write';

/** The scopes at the API that tools need for those of the MCP server. */
export function scopesOfTools(scopes: ReadonlySet<string>): readonly Scope[] {
  const granted = [...(scopes.has(MCP_READ) ? ['read'] : []), ...(scopes.has(MCP_WRITE) ? ['write'] : [])];
  return API_SCOPES.filter((scope) => granted.includes(scope.split(':', 1)[0] ?? ''));
}

/**
 * The `aud` of the tokens with which other services call the /internal routes of this one. Neither the API nor any
 * other service takes them.
 */
export function internalAudience(issuer: string, service: string): string {
  return issuer + internalPrefix(service);
}

/** The scope of tokens for an internal audience. */
export const INTERNAL_SCOPE = 'internal';

/** Managing applications: outside every role's ceiling, so that only first-party and login tokens carry it. */
export const MANAGE_APPS = 'manage:apps';

/** Reading which tokens for one's own APIs are revoked: for applications of type resource alone. */
export const REVOCATIONS_READ = 'revocations:read';

/** Configuring the event stream of an application (Shared Signals 1.0), and reading its configuration: for confidential applications. */
export const SSF_MANAGE = 'ssf.manage';
export const SSF_READ = 'ssf.read';

const ceilingFor = (role: Role) =>
  ALL.filter((scope) => ROLES.indexOf(SCOPES[scope].role) <= ROLES.indexOf(role));
const CEILINGS: Record<Role, readonly Scope[]> = {
  user: ceilingFor('user'),
  editor: ceilingFor('editor'),
  admin: ceilingFor('admin'),
};

/** The most scopes that a token or an API key can carry under this role. */
export function ceilingOf(role: Role): readonly Scope[] {
  return CEILINGS[role];
}

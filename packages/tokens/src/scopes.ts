import { internalPrefix } from '@gatehouse/core/services';

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

/**
 * The descriptions of scopes for developers. Identity's pages say it to the person, whose role decides the rest
 * (services/identity/src/pages/scope-descriptions.ts).
 */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  openid: 'Sign people in, and learn their ids.',
  profile:
    'Read a person’s name and picture at /userinfo, and their account details, with username and email address, from the users API.',
  email: 'Read a person’s email address, and whether it is confirmed.',
  'read:profile': 'Read the account details of the person who has signed in.',
  'read:users': 'Read users, as far as the role allows.',
  'write:users': 'Create, change and delete users, as far as the role allows.',
  'read:data':
    'Read items, products, orders, notifications, push subscriptions, events, webhooks, reports and analytics, as far as the role allows.',
  'write:data':
    'Create, change and delete items, products, orders, notifications, push subscriptions, webhooks and reports, and control queues, as far as the role allows.',
  'read:all': 'Read everything; for editors, admins and trusted applications.',
};

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

const CEILING_OF_USER: readonly Scope[] = [
  ...OIDC_SCOPES,
  'read:profile',
  'read:users',
  'write:users',
  'read:data',
  'write:data',
];
const CEILINGS: Record<Role, readonly Scope[]> = {
  user: CEILING_OF_USER,
  editor: [...CEILING_OF_USER, 'read:all'],
  admin: [...CEILING_OF_USER, 'read:all'],
};

/** The most scopes that a token or an API key can carry under this role. */
export function ceilingOf(role: Role): readonly Scope[] {
  return CEILINGS[role];
}

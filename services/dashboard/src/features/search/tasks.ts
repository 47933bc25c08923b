import type { Role } from '@gatehouse/tokens/scopes';
import type { Hit } from '../../routes/dashboard-router.ts';

/** A page by other words that people look for: the search finds it by its title and by these. */
export type Task = Hit & { words: string; role?: Role };

/** The pages for usual tasks. */
export const TASKS: readonly Task[] = [
  {
    ...{ href: '/dashboard/applications', title: 'Applications: their settings have the redirect URIs' },
    words: 'callback url uri cors name',
  },
  {
    ...{ href: '/dashboard/applications', title: 'Applications: their credentials are secrets and API keys' },
    words: 'secret key rotate credential',
  },
  {
    ...{
      href: '/dashboard/applications',
      title: 'Applications: with federated credentials, jobs sign in without a secret',
    },
    words: 'workload identity federation oidc github gitlab kubernetes ci secretless',
  },
  {
    ...{
      href: '/dashboard/trusted-issuers',
      title: 'Trusted issuers: GitHub, GitLab, Kubernetes, clouds',
      role: 'admin',
    },
    words: 'workload identity federation oidc ci jwks secretless',
  },
  {
    ...{
      href: '/dashboard/applications',
      title: 'Applications: with token exchange, APIs and agents act for people',
    },
    words: 'agent delegation on behalf obo rfc8693 mcp impersonation actor',
  },
  {
    ...{ href: '/dashboard/users', title: 'Users: act as a user (impersonate)', role: 'admin' },
    words: 'impersonation log in as support debug',
  },
  {
    ...{ href: '/dashboard/rate-limits', title: 'Rate limits: the applications that are near theirs' },
    words: 'throttle throttling quota usage',
  },
  {
    ...{
      href: '/dashboard/applications',
      title: 'Applications: their branding is a name, a logo and colours',
    },
    words: 'brand color theme picture',
  },
  {
    ...{ href: '/dashboard/branding', title: 'Branding of this deployment', role: 'admin' },
    words: 'logo colour color theme picture',
  },
  {
    ...{ href: '/dashboard/users', title: 'Users: deactivate (block) an account', role: 'admin' },
    words: 'ban suspend lock disable user',
  },
  {
    ...{
      href: '/dashboard/invitations/new',
      title: 'New invitation: invite somebody by mail',
      role: 'admin',
    },
    words: 'add user member developer',
  },
  {
    ...{ href: '/dashboard/requests?status=403', title: 'Requests with status 403' },
    words: 'forbidden denied permission',
  },
  {
    ...{ href: '/dashboard/requests?status=429', title: 'Requests with status 429: the rate limit' },
    words: 'throttle throttling too many quota',
  },
  {
    ...{ href: '/docs/guides/runbooks', title: 'Guide to alerts: runbooks' },
    words: 'alarm monitoring prometheus',
  },
];

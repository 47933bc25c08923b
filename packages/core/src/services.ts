export type ServiceEntry = {
  /** The public paths. The edge passes on these and no others. */
  prefixes: readonly string[];
  /**
   * The routes for other services, below /internal/{name}, and the services that may call each of them. What is
   * not named here cannot be called.
   */
  internalRoutes: Readonly<Record<string, readonly string[] | 'every other service'>>;
  /**
   * The services that read its events from NATS, each by a consumer of its stream, which has the events whose subjects
   * match the filter.
   */
  eventConsumers?: readonly { reader: string; name: string; filter: string }[];
  /** Whether it has job queues, which it announces to its replicas by NATS. */
  hasJobQueues?: boolean;
  /** The options of Node and the variables that its process is started with, and why. */
  process?: { reason: string; options: readonly string[]; environment: Readonly<Record<string, string>> };
};

const TABLE = {
  identity: {
    prefixes: [
      '/oauth',
      '/oauth2',
      '/.well-known',
      '/userinfo',
      '/api/v1/auth',
      '/api/v1/applications',
      '/api/v1/configuration',
      '/api/v1/registration-tokens',
      '/api/v1/transfers',
      '/api/v1/memberships',
      '/api/v1/access',
      '/api/v1/sessions',
      '/api/v1/consents',
      '/api/v1/factors',
      '/api/v1/pictures',
      '/api/v1/password-resets',
      '/api/v1/impersonations',
      '/api/v1/invitations',
      '/api/v1/identity-providers',
      '/api/v1/trusted-issuers',
      '/api/v1/resources',
      '/api/v1/ssf',
      '/api/v1/audit',
      '/api/v1/signing-keys',
      '/sign-in',
      '/consent',
      '/account',
      '/device',
      '/openapi/identity.json',
    ],
    internalRoutes: {
      '/internal/identity/revocations': 'every other service',
      '/internal/identity/api-keys': 'every other service',
      '/internal/identity/account-changes': ['users'],
      '/internal/identity/queue-actions': ['notifications'],
      '/internal/identity/delegations': ['notifications'],
      '/internal/identity/ended-credentials': ['notifications'],
      '/internal/identity/owned-applications': ['notifications'],
      '/internal/identity/erasures': ['users'],
      '/internal/identity/kept-access': ['users'],
      '/internal/identity/second-factors': ['users'],
    },
    eventConsumers: [{ reader: 'notifications', name: 'notifications_events', filter: 'identity.audit.*' }],
    hasJobQueues: true,
  },
  users: {
    prefixes: [
      '/v1/users',
      '/v2/users',
      '/api/v1/users',
      '/users',
      '/kb/api/v1/users',
      '/openapi/users.json',
      '/guides/filters',
    ],
    internalRoutes: {
      '/internal/users/accounts': ['identity'],
      '/internal/users/account-lookups': ['identity'],
      '/internal/users/password-checks': ['identity'],
      '/internal/users/existence': ['commerce', 'notifications'],
      '/internal/users/contacts': ['notifications'],
    },
    eventConsumers: [{ reader: 'notifications', name: 'notifications_events', filter: 'users.user.*' }],
  },
  items: {
    prefixes: ['/api/v1/items', '/openapi/items.json'],
    internalRoutes: { '/internal/items/erasures': ['users'] },
  },
  commerce: {
    prefixes: [
      '/v2/products',
      '/products',
      '/api/v1/products',
      '/v2/orders',
      '/orders',
      '/api/v1/orders',
      '/openapi/commerce.json',
    ],
    internalRoutes: { '/internal/commerce/erasures': ['users'] },
    eventConsumers: [
      { reader: 'notifications', name: 'notifications_analytics', filter: 'commerce.order.*' },
      { reader: 'notifications', name: 'notifications_events', filter: 'commerce.>' },
    ],
  },
  notifications: {
    prefixes: [
      '/v2/notifications',
      '/notifications',
      '/api/v1/notifications',
      '/v2/reports',
      '/reports',
      '/v2/integrations',
      '/integrations',
      '/api/v1/analytics',
      '/api/v1/dead-letters',
      '/api/v1/queues',
      '/api/v1/push-subscriptions',
      '/api/v1/events',
      '/api/v1/event-types',
      '/api/v1/webhooks',
      '/api/v1/requests',
      '/openapi/notifications.json',
    ],
    internalRoutes: { '/internal/notifications/erasures': ['users'] },
    hasJobQueues: true,
    process: {
      reason:
        'Otherwise V8 takes 150 MB more while it makes a long report, for no speed, and glibc, with an arena for each ' +
        'thread, keeps 5 to 30 MB more of what they have freed.',
      options: ['--max-semi-space-size=4', '--heap-growing-percent=30'],
      environment: { MALLOC_ARENA_MAX: '1' },
    },
  },
  dashboard: {
    prefixes: ['/', '/dashboard', '/docs', '/llms.txt', '/mcp', '/openapi.json', '/schemas'],
    internalRoutes: {},
  },
} as const satisfies Record<string, ServiceEntry>;

/** The name of a service is also its OAuth client id. */
export type ServiceName = keyof typeof TABLE;

/**
 * Every service, the paths it serves, and who may call its internal routes. A path stands for itself and everything
 * below it, by whole segments. Everything that depends on the set of services derives from this table or is tested against it;
 * `npm run deployment` writes what deployments need of it.
 */
export const SERVICES: Readonly<Record<ServiceName, ServiceEntry>> = TABLE;

export const SERVICE_NAMES = Object.keys(TABLE) as readonly ServiceName[];

/** It signs people in and calls the public API for them, as any application could; no internal route is for it. */
export const DASHBOARD = 'dashboard' satisfies ServiceName;

/** The services that are OAuth clients of identity, which signs its own tokens. */
export const CLIENT_SERVICES = SERVICE_NAMES.filter((name) => name !== 'identity');

/** The services that keep data of people, and erase that of a person whose account is deleted. */
export const ERASING_SERVICES = SERVICE_NAMES.filter(
  (name) => `${internalPrefix(name)}/erasures` in SERVICES[name].internalRoutes,
);

/** The setting that holds the client secret of a service, at the service and at identity. */
export function clientSecretSetting(service: ServiceName): string {
  return `${service.toUpperCase()}_CLIENT_SECRET`;
}

/** Everything that a service serves. */
export function prefixesOf(service: ServiceName): readonly string[] {
  return [...SERVICES[service].prefixes, internalPrefix(service)];
}

/** The path that all internal routes of a service are below. */
export function internalPrefix(service: string): string {
  return `/internal/${service}`;
}

/** The internal routes of a service by their prefixes, and for each the client ids that may call it. */
export function internalRoutesOf(
  service: ServiceName,
): readonly { prefix: string; callers: readonly string[] }[] {
  return Object.entries(SERVICES[service].internalRoutes).map(([prefix, callers]) => ({
    prefix,
    callers:
      callers === 'every other service'
        ? SERVICE_NAMES.filter((name) => name !== service && name !== DASHBOARD)
        : callers,
  }));
}

/** Whether the client is a service that may call this internal route. */
export function mayCall(clientId: string, route: string): boolean {
  return SERVICE_NAMES.flatMap(internalRoutesOf).some(
    ({ prefix, callers }) => isUnder(route, prefix) && callers.includes(clientId),
  );
}

/** The services of which the client may call at least one internal route. */
export function servicesCallableBy(clientId: string): readonly ServiceName[] {
  return SERVICE_NAMES.filter((service) =>
    internalRoutesOf(service).some(({ callers }) => callers.includes(clientId)),
  );
}

/**
 * Whether the path is the prefix itself or below it: /v1/users covers /v1/users/x and not /v1/usersearch, and / covers
 * itself alone.
 */
export function isUnder(path: string, prefix: string): boolean {
  if (prefix === '/') return path === prefix;
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === '/');
}

import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import { invalidFields } from '@gatehouse/api/http/schema';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import {
  createResourceService,
  type ResourceDependencies,
  type ResourceServiceDefinition,
} from '@gatehouse/api/resource/create-resource-service';
import { mountFilterGuide } from '@gatehouse/api/resource/filter-guide';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { prefixesOf, type ServiceName } from '@gatehouse/core/services';
import { onceInDatabase } from '@gatehouse/data/once';
import { runProcess } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { refuseActors } from '@gatehouse/tokens/caller';
import { FRESH, requireSignIn } from '@gatehouse/tokens/step-up';
import type { onRequestAsyncHookHandler } from 'fastify';
import { createBreachedPasswords } from './breached-passwords.ts';
import { readUsersConfig, settings, USERS_DEFAULTS, type UsersConfig } from './config.ts';
import { mountAccountRoutes } from './internal/account-routes.ts';
import { createPasswords } from './passwords.ts';
import { USER_PATHS } from './profiles/paths.ts';
import { createUserResource } from './profiles/user-resource.ts';
import { mountRevocationRoutes } from './revocation-routes.ts';
import { mountSecurityRoutes } from './security-routes.ts';
import { USER_MIGRATIONS } from './store/user-document.ts';
import { createUserStore } from './store/user-store.ts';
import { type NewUser, TakenError } from './user.ts';
import { actsForOthers } from './user-access.ts';
import { createAccountEvents } from './user-events.ts';
import { createUserService, type UserService } from './user-service.ts';

/** Wrong current passwords per user: more than these suggest that a token was stolen. */
const FAILURES_PER_SOURCE = { name: 'failures of the source', quota: 10, seconds: 300 };
const FAILURES_PER_USER = { name: 'failures', quota: 30, seconds: 300 };
/** NIST SP 800-63B §5.2.2. */
const FAILURES_IN_A_ROW = { name: 'failures in a row', quota: 100, seconds: 30 * 86_400 };
const TAKEN_PER_USER = { name: 'taken names', quota: 10, seconds: 3600 };

const DEFINITION: ResourceServiceDefinition = {
  name: 'users',
  prefixes: prefixesOf('users'),
  paths: USER_PATHS,
  migrations: USER_MIGRATIONS,
  document: {
    title: 'Gatehouse users',
    description: `
Accounts of people, in all profiles of the interface. Where several profiles share a path, an application can pin one.
Without a pin, the form of the request decides if it fits only one of them, else the default of the deployment.
Every list can be paged by cursor.
`.trim(),
    objects: {
      users:
        'A user is the account of a person: the name, the address and the role. The paths and profiles differ in the form of the JSON, not in the accounts.',
    },
    errorExamples: {
      invalid: invalidFields([{ field: 'email', message: 'must be a valid email address' }]),
      not_found: new ServiceError('not_found', 'There is no such user.'),
      conflict: new TakenError('username'),
      precondition_failed: new ServiceError('precondition_failed', 'This user has been changed meanwhile.'),
    },
  },
};

/** The users service: owns accounts, and serves them in the profiles of the interface and, internally, to identity. */
export function createUsersService(
  config: UsersConfig,
  logger: Logger,
  dependencies: ResourceDependencies = {},
): Service {
  const { firstUsers } = config;
  const { v1Profile, v2Profile } = { ...USERS_DEFAULTS, ...config };
  return createResourceService(DEFINITION, config, logger, dependencies, (context) => {
    const { connection, identity, revocations, events: transport, counters } = context;
    const store = createUserStore(connection);
    const events = createAccountEvents({
      connection,
      client: identity,
      revocations,
      erasers: Object.entries(config.serviceUrls ?? {}).map(([name, url]) => ({
        name,
        client: context.clientOf(name as ServiceName, url),
      })),
      logger: context.logger,
      transport,
    });
    const url = config.breachedPasswordsUrl;
    const breached = url === undefined ? undefined : createBreachedPasswords({ url, logger: context.logger });
    const users = createUserService({
      store: events.publishing(store),
      passwords: createPasswords({
        concurrency: config.hashConcurrency,
        memoryKiB: config.hashMemoryKiB,
      }),
      isBreached: breached?.includes,
      publishAccountChange: events.publishAccountChange,
      failuresPerSource: createRateLimiter(FAILURES_PER_SOURCE, counters),
      failuresPerUser: createRateLimiter(FAILURES_PER_USER, counters),
      failuresInARow: createRateLimiter(FAILURES_IN_A_ROW, counters),
      takenPerUser: createRateLimiter(TAKEN_PER_USER, counters),
    });
    return {
      routes(app, { mountOptions, authenticateInternal }) {
        const defaults = { v1_users: v1Profile, v2_users: v2Profile };
        const byPerson = withoutActors(mountOptions.authenticate);
        const authenticate = config.freshSignIn === 'on' ? freshlyAuthenticate(byPerson) : byPerson;
        mountResource(app, createUserResource(users, identity), { ...mountOptions, authenticate, defaults });
        mountSecurityRoutes(app, { users, authenticate });
        mountRevocationRoutes(app, { users, identity, authenticate });
        mountFilterGuide(app);
        mountAccountRoutes(app, { users, authenticate: authenticateInternal });
      },
      async prepare() {
        if (firstUsers.length > 0) {
          await onceInDatabase(connection, 'first users', () => createFirstUsers(users, firstUsers));
        }
      },
      background: [events],
      ...(breached && { metrics: breached.metrics }),
    };
  });
}

/** The hook that authenticates. An application that acts for a person changes nothing but their own record: accounts, roles and passwords stay. */
function withoutActors(authenticate: onRequestAsyncHookHandler): onRequestAsyncHookHandler {
  return async function (request, reply) {
    await authenticate.call(this, request, reply);
    const { id } = request.params as { id?: string };
    const caller = callerOf(request);
    const isOwnRecord = caller.person?.id === id && request.routeOptions.url?.endsWith('/:id') === true;
    const isSafe = request.method === 'GET' || request.method === 'HEAD';
    if (!isSafe && (!isOwnRecord || request.method === 'DELETE')) refuseActors(caller);
  };
}

/** The hook that authenticates, and takes a fresh sign-in for changes of what belongs to others, and for what ends one's own account or access. */
function freshlyAuthenticate(authenticate: onRequestAsyncHookHandler): onRequestAsyncHookHandler {
  return async function (request, reply) {
    await authenticate.call(this, request, reply);
    const { id } = request.params as { id?: string };
    const caller = callerOf(request);
    const isEnd = request.method === 'DELETE' || request.routeOptions.url?.endsWith('/revocations');
    const takesFresh = actsForOthers(caller, id) || (isEnd && caller.person?.id === id);
    if (request.method !== 'GET' && takesFresh) requireSignIn(caller, FRESH);
  };
}

/**
 * Creates those that do not exist yet, with verified addresses. An existing user with the same id, username or address
 * is left unchanged.
 */
async function createFirstUsers(users: UserService, drafts: readonly NewUser[]): Promise<void> {
  for (const draft of drafts) {
    try {
      await users.create({ ...draft, emailVerified: true });
    } catch (error) {
      if (!(error instanceof ServiceError && error.kind === 'conflict')) throw error;
    }
  }
}

export const program = {
  name: 'users',
  settings,
  readConfig: readUsersConfig,
  create: createUsersService,
} as const;

if (import.meta.main) await runProcess(program);

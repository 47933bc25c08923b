import type { EventTransport } from '@gatehouse/events/local-events';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { v2Body } from '@gatehouse/http/error-bodies';
import { createCallLimits } from '@gatehouse/http/identify-caller';
import { ServiceError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/logger';
import { isUnder, prefixesOf } from '@gatehouse/kit/routes';
import type { Service } from '@gatehouse/kit/service';
import { createDatabase } from '@gatehouse/mongo/database';
import { createIdempotencyStore, IDEMPOTENCY_KEYS } from '@gatehouse/mongo/idempotency-store';
import { onceInDatabase } from '@gatehouse/mongo/once';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import { createApp, handlerOf } from '@gatehouse/resource/app';
import { authenticate } from '@gatehouse/resource/authenticate';
import { mountFilterGuide } from '@gatehouse/resource/filter-guide';
import { createIdempotency } from '@gatehouse/resource/idempotency';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createIdentityClient } from '@gatehouse/tokens/identity-client';
import { createInternalClient } from '@gatehouse/tokens/internal-client';
import { createRevocationFeed, type RevocationBroadcast } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import { createAttempts } from './attempts.ts';
import { USERS_DEFAULTS, type UsersConfig } from './config.ts';
import { INTERFACE_DOCUMENT } from './interface-document.ts';
import { mountProfiles } from './mount-profiles.ts';
import { createPasswords } from './passwords.ts';
import { PATH_GROUPS } from './path-groups.ts';
import { mountInternalRoutes } from './routes-internal.ts';
import { mountStandingRoutes } from './routes-standing.ts';
import { createUserStore } from './store/user-store.ts';
import type { NewUser } from './user.ts';
import { createAccountEvents } from './user-events.ts';
import { createUserService, type UserService } from './user-service.ts';

/** How many wrong current passwords are read for one user, before a token is taken for a stolen one. */
const GUESSES = { max: 10, seconds: 300 };
const ALL_GUESSES = { max: 30, seconds: 300 };

/**
 * The users service: owns accounts, and serves them in the interface's profiles and, internally, to identity. A
 * broadcast that is given is started and stopped by who made it; without one the setting natsUrl must be there.
 * `events` takes what happens to users; without it nobody listens.
 */
export function createUsersService(
  config: UsersConfig,
  parentLogger: Logger,
  dependencies: { broadcast?: RevocationBroadcast; events?: EventTransport } = {},
): Service {
  const { publicUrl, identityUrl, rateLimit } = config;
  const { v1Profile, v2Profile, filtersSunset } = { ...USERS_DEFAULTS, ...config };
  const logger = parentLogger.child({ service: 'users' });
  const database = createDatabase({ uri: config.mongodbUri, name: 'users', logger });
  const store = createUserStore(database.connection);
  const idempotencyStore = createIdempotencyStore(database.connection);
  const sweeper = createSweeper(database.connection, [IDEMPOTENCY_KEYS], { logger });
  const client = createInternalClient({
    tokenUrl: `${identityUrl}/oauth2/token`,
    issuer: publicUrl,
    clientId: config.clientId,
    clientSecret: config.clientSecret,
  });
  const identity = createIdentityClient(client, identityUrl);
  const { broadcast, own } = broadcastOf(dependencies.broadcast, config, logger);
  const feed = createRevocationFeed({
    broadcast,
    fetch: identity.revocations,
    logger,
    ...(config.staleAfterSeconds === undefined ? {} : { staleAfterSeconds: config.staleAfterSeconds }),
  });
  const events = createAccountEvents({
    connection: database.connection,
    identityUrl,
    client,
    revocations: feed.set,
    logger,
    transport: dependencies.events,
  });
  const users = createUserService({
    store: events.publishing(store),
    passwords: createPasswords({ concurrency: config.hashConcurrency }),
    announce: events.announce,
    guesses: createAttempts(GUESSES),
    allGuesses: createAttempts(ALL_GUESSES),
  });

  const jwksUri = `${identityUrl}/.well-known/jwks.json`;
  const shared = { issuer: publicUrl, jwksUri, revocations: feed.set };
  const credentials = createCredentialVerifier({
    tokens: createTokenVerifier({ ...shared, audience: apiAudience(publicUrl) }),
    apiKeys: createApiKeyResolver({ resolve: identity.resolveApiKey, set: feed.set }),
    feed,
    publicUrl,
  });
  // Without the feed's check: sign-in must go on when identity, which asks here, cannot tell of revocations.
  const internalCredentials = createCredentialVerifier({
    tokens: createTokenVerifier({ ...shared, audience: internalAudience(publicUrl) }),
    publicUrl,
  });

  const app = createApp({
    logger,
    errorBodyFor: (path) =>
      PATH_GROUPS.find(({ prefix }) => isUnder(path, prefix))?.profiles[0]?.errorBody ?? v2Body,
    translate: database.unavailable,
    openapi: { ...INTERFACE_DOCUMENT, origin: publicUrl },
  });
  const guard = authenticate(credentials, rateLimit === 'on' ? createCallLimits() : undefined);
  mountProfiles(app, {
    users,
    authenticate: guard,
    idempotency: createIdempotency({ store: idempotencyStore, newId: () => newId('usr') }),
    defaults: { v1_users: v1Profile, v2_users: v2Profile },
    deprecation: { sunset: filtersSunset },
  });
  mountStandingRoutes(app, { users, authenticate: guard });
  mountFilterGuide(app);
  mountInternalRoutes(app, { users, authenticate: authenticate(internalCredentials) });

  async function startStore(): Promise<void> {
    await database.start();
    await store.prepare();
    if (config.firstUsers.length > 0) {
      await onceInDatabase(database.connection, 'first users', () => createFirst(users, config.firstUsers));
    }
    events.start();
    sweeper.start();
  }

  let started = false;
  return {
    name: 'users',
    prefixes: prefixesOf('users'),
    handle: handlerOf(app),
    async start() {
      await app.ready();
      await own?.start();
      await Promise.all([feed.start(), startStore()]);
      started = true;
    },
    async stop() {
      await app.close();
      await sweeper.stop();
      await events.stop();
      await feed.stop();
      await own?.stop();
      await database.stop();
    },
    unready: async () => (await database.unready()) ?? feed.unready() ?? (started ? undefined : 'starting'),
  };
}

/** The broadcast that was given, or one of our own. */
function broadcastOf(given: RevocationBroadcast | undefined, { natsUrl }: UsersConfig, logger: Logger) {
  if (given !== undefined) return { broadcast: given, own: undefined };
  if (natsUrl === undefined) throw new Error('there is neither a broadcast nor a NATS server to make one of');
  const own = createNatsBroadcast({ url: natsUrl, name: 'users', logger });
  return { broadcast: own, own };
}

/**
 * Creates who is not there yet; their addresses count as verified. Whoever has the id, the name or the address
 * already is left as they are.
 */
async function createFirst(users: UserService, drafts: readonly NewUser[]): Promise<void> {
  for (const draft of drafts) {
    try {
      await users.create({ ...draft, emailVerified: true });
    } catch (error) {
      if (!(error instanceof ServiceError && error.kind === 'conflict')) throw error;
    }
  }
}

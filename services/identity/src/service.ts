import { createConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { createLifecycle } from '@gatehouse/core/lifecycle';
import type { Logger } from '@gatehouse/core/logger';
import { deriveKeys } from '@gatehouse/core/sealing';
import { prefixesOf } from '@gatehouse/core/services';
import { createBoundKeeper } from '@gatehouse/data/bounded';
import { createDatabase } from '@gatehouse/data/database';
import { createErasures } from '@gatehouse/data/erasures';
import { createRateLimitStore, RATE_LIMIT_BOUND, RATE_LIMITS } from '@gatehouse/data/rate-limit-store';
import { createSweeper } from '@gatehouse/data/sweeper';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { EventTransport } from '@gatehouse/events/local-events';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { createServiceUsage } from '@gatehouse/events/service-usage';
import type { Service } from '@gatehouse/server/service';
import { createInternalClient } from '@gatehouse/tokens/internal-client';
import { createAccountChangeHandler } from './accounts/account-changes.ts';
import { createUsersClient } from './accounts/users-client.ts';
import { BOUNDS } from './anonymous/bounds.ts';
import { auditRoutes } from './api/audit-routes.ts';
import { authRoutes } from './api/auth-routes.ts';
import { sessionRoutes } from './api/session-routes.ts';
import { signingKeyRoutes } from './api/signing-key-routes.ts';
import { createIdentityApp } from './app.ts';
import { applicationRoutes } from './applications/application-routes.ts';
import { createApplicationsModule } from './applications/module.ts';
import { transferRoutes } from './applications/transfer-routes.ts';
import { createAudit } from './audit/audit.ts';
import { createAuditStore } from './audit/audit-store.ts';
import { type IdentityConfig, MAX_ACCESS_TOKEN_SECONDS } from './config.ts';
import { createApplicationNames } from './delegations/application-names.ts';
import { createCredentialState } from './delegations/credential-state.ts';
import { createDelegationStore } from './delegations/delegation-store.ts';
import { createDelegations } from './delegations/delegations.ts';
import { createAuthentication } from './http/authentication.ts';
import { createToServiceError } from './http/service-error.ts';
import { internalRoutes } from './internal/internal-routes.ts';
import { createServiceClients, createServiceTokens } from './internal/service-tokens.ts';
import { createKeysModule } from './keys/module.ts';
import { LOGIN_CLIENT } from './logins/logins.ts';
import { createLoginsModule } from './logins/module.ts';
import { IDENTITY_MIGRATIONS } from './migrations.ts';
import { createOidcModule } from './oidc/module.ts';
import { oauthRoutes } from './oidc/oauth-routes.ts';
import { providerRoutes } from './oidc/provider-routes.ts';
import { userInfoRoutes } from './oidc/user-info-routes.ts';
import { openApiRoutes } from './openapi/openapi-routes.ts';
import { createRevocationsModule } from './revocations/module.ts';
import { createLogoutNotifications } from './sessions/logout-notifications.ts';
import { createSessionEnds } from './sessions/session-ends.ts';
import { createSignInGenerations } from './sessions/sign-in-generations.ts';
import { createSignInModule } from './sign-in/module.ts';

/** What a process may provide. It starts and stops the broadcast itself; without one, natsUrl must be set. */
export type IdentityDependencies = {
  broadcast?: Broadcast;
  /** Takes to analytics what was counted, which is sent over NATS otherwise. */
  events?: EventTransport;
};

/** How long after its expiry a token may still count, in seconds: clocks differ, and requests take time. */
const CLOCK_MARGIN = 120;
/** Longer than users takes to check a password when many are being checked. */
const USERS_TIMEOUT_SECONDS = 10;
/** Above every epoch of an account. */
const ALL_EPOCHS = { epoch: Number.MAX_SAFE_INTEGER, signInEpoch: Number.MAX_SAFE_INTEGER };

/** The identity service: signs people in, issues tokens, and publishes the keys to verify them. */
export function createIdentityService(
  config: IdentityConfig,
  parentLogger: Logger,
  dependencies: IdentityDependencies = {},
): Service {
  const { publicUrl: issuer, lifetimes, masterKeys, firstApplications, rotateKeysEveryDays } = config;
  const logger = parentLogger.child({ service: 'identity' });
  const tokenLifetime = lifetimes.accessToken + CLOCK_MARGIN;
  const ownBroadcast = dependencies.broadcast === undefined ? natsBroadcast(config, logger) : undefined;
  const broadcast = dependencies.broadcast ?? (ownBroadcast as Broadcast);
  const usage = createServiceUsage({
    ...{ name: 'identity', logger, events: dependencies.events, nats: ownBroadcast?.connection },
  });
  const onTokenIssued = (clientId: string | undefined) => usage?.count('tokens_issued', clientId);
  const database = createDatabase({
    ...{ uri: config.mongodbUri, name: 'identity', logger },
    ...{ migrations: IDENTITY_MIGRATIONS, migrateAtStart: config.migrateAtStart },
  });
  const { connection } = database;
  const auditStore = createAuditStore(connection);
  const [auditKey] = deriveKeys(masterKeys, 'audit');
  const audit = createAudit({
    ...{ store: auditStore, key: auditKey, keepDays: config.auditDays, logger },
    onRecord({ action, client }) {
      if (action === 'sign_in.succeeded') usage?.count('logins', client);
    },
  });

  // The parts need each other: one that comes later, and is needed only later, is passed as a function.
  const { feed, revocations, ...revoking } = createRevocationsModule({
    connection,
    broadcast,
    tokenLifetime,
    staleAfterSeconds: config.staleAfterSeconds,
    isOnlyWriter: ownBroadcast === undefined,
    onClientChange: (id) => managed.forget(id),
    logger,
  });
  const accounts = createUsersClient(
    createInternalClient({
      service: 'users',
      url: config.usersUrl,
      requestToken: createServiceTokens(() => provider.signer(), issuer),
      timeoutSeconds: USERS_TIMEOUT_SECONDS,
    }),
  );
  const sharedLimits = config.rateLimitStore === 'mongodb' ? createRateLimitStore(connection) : undefined;
  const common = {
    issuer,
    masterKeys,
    cookieKeys: deriveKeys(masterKeys, 'cookies').map((key) => key.toString('base64url')),
    lifetimes,
    rateLimit: config.rateLimit === 'on',
    sharedLimits,
    connection,
    accounts,
    audit,
    revocations,
    toServiceError: createToServiceError(logger, database.unavailable),
    logger,
  };
  const managed = createApplicationsModule({
    ...common,
    firstApplications,
    endGrants: (clientId) => store.endGrantsOfClient(clientId),
    notifyCredential({ owner, name }, credential) {
      if (owner === null) return;
      void signIn.mails.notify(owner, { kind: 'new_credential', ...credential, application: name });
    },
    notify: (userId, kind, { name }) => void signIn.mails.notify(userId, { kind, application: name }),
  });
  const { applications, apiKeys, transfers } = managed;
  const { provider, store, handles } = createOidcModule({
    ...common,
    applications,
    accessTokenAlgorithm: config.accessTokenAlgorithm,
    acceptsService: createServiceClients(config.services),
    onTokenIssued,
    signOuts: () => sessionEnds,
    logoutNetworks: config.logoutNetworks ?? [],
    pages: () => signIn.providerPages,
    browserId: (ctx) => signIn.browser.id(ctx),
  });
  const { logins, ...loggingIn } = createLoginsModule(common);
  const notifications = createLogoutNotifications({ provider: provider.current, logger });
  const generations = createSignInGenerations(connection);
  const sessionEnds = createSessionEnds({ store, logins, notifications, generations, audit });
  const signIn = createSignInModule({
    ...common,
    logins,
    sessionEnds,
    generations,
    apiKeys,
    applications,
    provider: provider.current,
    store,
    mail: config.mail,
    signUp: config.signUp === 'on',
  });
  const keys = createKeysModule({
    ...common,
    rotateKeysEveryDays,
    // By the limit of the setting, which may have been higher when a key signed.
    previousForSeconds: MAX_ACCESS_TOKEN_SECONDS + CLOCK_MARGIN,
    provider,
  });
  const authentication = createAuthentication({
    ...common,
    provider,
    feed,
    apiKeys,
    onCaller({ clientId, grantId }) {
      if (clientId === LOGIN_CLIENT && grantId !== undefined) logins.used(grantId);
    },
  });
  const { authenticate } = authentication;
  const concurrency = createConcurrencyLimit();

  const isInForce = createCredentialState({
    findAccount: accounts.find,
    findApplication: applications.find,
    grantExists: async (id) => (await provider.current().Grant.find(id)) !== undefined,
    loginExists: logins.exists,
    keyExists: apiKeys.exists,
  });
  const delegationStore = createDelegationStore(connection);
  const delegations = createDelegations({
    issuer,
    store: delegationStore,
    isInForce,
    signer: provider.signer,
    tokenLifetime: lifetimes.accessToken,
  });

  const erasures = createErasures(connection, {
    async erase(userId) {
      await managed.removeAllOf(userId);
      await sessionEnds.endBelow(userId, ALL_EPOCHS);
      await signIn.removeLinksOf(userId);
      await delegationStore.removeAllOf(userId);
    },
    logger,
  });

  const routers = [
    oauthRoutes({ handles, verify: authentication.verifyAccessToken, audit, applications }),
    userInfoRoutes({ authenticate, accounts, applications, defaultProfile: config.userInfo }),
    authRoutes({
      ...common,
      authentication,
      logins,
      sessionEnds,
      notices: signIn.notices,
      passwordLogin: config.passwordLogin === 'on',
      checkPassword: signIn.checkPassword,
      signer: provider.signer,
      endGrant: store.endGrant,
      onTokenIssued,
    }),
    sessionRoutes({ ...common, authenticate, sessions: signIn.sessions, sessionEnds, logins }),
    auditRoutes({ authenticate, concurrency, store: auditStore }),
    signingKeyRoutes({ authenticate, keys: keys.administration }),
    applicationRoutes({ applications, keys: apiKeys, transfers, authenticate, concurrency }),
    transferRoutes({ transfers, authenticate }),
    internalRoutes({
      authenticate: authentication.authenticateService,
      verifyCredential: authentication.verifyCredential,
      delegations,
      applicationNames: createApplicationNames(applications.find),
      isInForce,
      revocations,
      audit,
      resolveApiKey: apiKeys.resolve,
      ownedBy: applications.ownedBy,
      requestErasure: erasures.request,
      accountChanged: createAccountChangeHandler({
        ...{ revocations, sessionEnds, applications, audit },
        notices: signIn.notices,
        mails: signIn.mails,
      }),
    }),
    ...signIn.routers,
    providerRoutes(provider.middleware),
  ];
  const app = createIdentityApp({
    ...common,
    provider,
    browser: signIn.browser,
    pageErrors: signIn.pageErrors,
    routers: [openApiRoutes({ origin: issuer, routers }), ...routers],
  });

  const expiring = [store, signIn, managed, revoking, loggingIn].flatMap(({ collections }) => collections);
  expiring.push(delegationStore.collection, generations.collection);
  if (sharedLimits !== undefined) expiring.push(RATE_LIMITS);
  let started = false;
  return {
    name: 'identity',
    prefixes: prefixesOf('identity'),
    handle: app.callback(),
    ...createLifecycle([
      ...(ownBroadcast === undefined ? [] : [ownBroadcast]),
      usage ?? {},
      database,
      { stop: signIn.stop },
      { stop: notifications.stop },
      // Stopped after everything that records, since it writes what is still buffered.
      { stop: audit.stop },
      { start: managed.createFirst },
      // Before the keys, without which no token can be issued.
      revocations,
      keys.scheduler,
      feed,
      createBoundKeeper(connection, [...BOUNDS, RATE_LIMIT_BOUND], { logger }),
      erasures,
      createSweeper(connection, [...expiring, auditStore.collection], { logger }),
      ...managed.resumeTasks,
      { start: () => (started = true) },
    ]),
    migrate: database.migrate,
    ...(usage === undefined ? {} : { observe: usage.observe, flush: usage.flush }),
    metrics: () => [...database.metrics(), ...feed.metrics(), ...keys.scheduler.metrics()],
    unready: async () => (started ? ((await database.unready()) ?? feed.unready()) : 'starting'),
  };
}

function natsBroadcast({ natsUrl }: IdentityConfig, logger: Logger) {
  if (natsUrl === undefined) throw new Error('without a broadcast, natsUrl must be set');
  return createNatsBroadcast({ url: natsUrl, name: 'identity', logger });
}

import type { Broadcast } from '@gatehouse/events/broadcast';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import type { Logger } from '@gatehouse/kit/logger';
import { prefixesOf } from '@gatehouse/kit/routes';
import { deriveKey } from '@gatehouse/kit/sealing';
import type { Service } from '@gatehouse/kit/service';
import { createDatabase } from '@gatehouse/mongo/database';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import { createRevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { createAccountChangeHandler } from './accounts/account-changes.ts';
import { createAccountsModule } from './accounts/module.ts';
import { createUsersClient } from './accounts/users-client.ts';
import { authRoutes } from './api/auth-routes.ts';
import { createIdentityApp } from './app.ts';
import { applicationRoutes } from './applications/application-routes.ts';
import { createApplicationsModule } from './applications/module.ts';
import { createAudit } from './audit/audit.ts';
import { createAuditStore } from './audit/audit-store.ts';
import { createAuthentication } from './authentication.ts';
import type { IdentityConfig } from './config.ts';
import { createToServiceError } from './http/service-error.ts';
import { internalRoutes } from './internal/internal-routes.ts';
import { createServiceClients, createServiceTokens } from './internal/service-tokens.ts';
import { createKeyRotationScheduler } from './keys/key-rotation-scheduler.ts';
import { createRotationAudit } from './keys/rotation-audit.ts';
import { createSigningKeyStore } from './keys/signing-key-store.ts';
import { createSigningKeySealer } from './keys/signing-keys.ts';
import { createLifecycle } from './lifecycle.ts';
import { createOidcModule } from './oidc/module.ts';
import { oauthRoutes } from './oidc/oauth-routes.ts';
import { userInfoRoutes } from './oidc/user-info-routes.ts';
import { createRevocationStore } from './revocations/revocation-store.ts';
import { createRevocations } from './revocations/revocations.ts';
import { createSignInModule, createThrottleModule } from './sign-in/module.ts';

/** What a process may provide. It starts and stops the broadcast itself; without one, natsUrl must be set. */
export type IdentityDependencies = { broadcast?: Broadcast };

/** How long after its expiry a token may still count, in seconds: clocks differ, and requests take time. */
const CLOCK_MARGIN = 120;

/** The identity service: signs people in, issues tokens, and publishes the keys to verify them. */
export function createIdentityService(
  config: IdentityConfig,
  parentLogger: Logger,
  dependencies: IdentityDependencies = {},
): Service {
  const { publicUrl: issuer, lifetimes, masterKey } = config;
  const logger = parentLogger.child({ service: 'identity' });
  const tokenLifetime = lifetimes.accessToken + CLOCK_MARGIN;
  const rateLimit = config.rateLimit === 'on';
  const database = createDatabase({ uri: config.mongodbUri, name: 'identity', logger });
  const { connection } = database;
  const ownBroadcast = dependencies.broadcast === undefined ? natsBroadcast(config, logger) : undefined;
  const broadcast = dependencies.broadcast ?? (ownBroadcast as Broadcast);

  const auditStore = createAuditStore(connection);
  const auditKey = deriveKey(masterKey, 'audit');
  const audit = createAudit({ store: auditStore, key: auditKey, keepDays: config.auditDays, logger });
  const revocationStore = createRevocationStore(connection);
  const revocations = createRevocations({ store: revocationStore, broadcast, tokenLifetime, logger });
  const { throttle, ...throttling } = createThrottleModule(connection, masterKey);

  // The modules need each other: what is used only later is passed as a function.
  const accounts = createUsersClient({
    usersUrl: config.usersUrl,
    token: createServiceTokens(() => oidc.provider.signer(), issuer),
  });
  const countMail = (userId: string) => throttle.countMail({ userId });
  const mailing = createAccountsModule({
    connection,
    issuer,
    accounts,
    mail: config.mail,
    countMail,
    logger,
  });
  const managed = createApplicationsModule({
    connection,
    firstApplications: config.firstApplications,
    accounts,
    revocations,
    audit,
    endGrants: (clientId) => oidc.store.endGrantsOfClient(clientId),
    logger,
  });
  const { applications, apiKeys } = managed;
  const cookieKey = deriveKey(masterKey, 'cookies').toString('base64url');
  const oidc = createOidcModule({
    connection,
    issuer,
    cookieKey,
    accessTokenAlgorithm: config.accessTokenAlgorithm,
    lifetimes,
    findApplication: managed.find,
    checkSecret: applications.checkSecret,
    findAccount: accounts.find,
    acceptsService: createServiceClients(config.services),
    revocations,
    logoutToPrivateNetworks: config.logoutToPrivateNetworks === 'on',
    pages: () => signIn.providerPages,
    logger,
  });
  const { provider } = oidc;
  const toServiceError = createToServiceError(logger, database.unavailable);
  const signIn = createSignInModule({
    issuer,
    masterKey,
    provider: provider.current,
    store: oidc.store,
    throttle,
    accounts,
    links: mailing.links,
    mails: mailing.mails,
    applications,
    findApplication: managed.find,
    audit,
    toServiceError,
    sessionLifetime: lifetimes.session,
    signUp: config.signUp === 'on',
    logger,
  });

  const recordRotation = createRotationAudit(audit);
  const keys = createKeyRotationScheduler({
    store: createSigningKeyStore(connection),
    sealer: createSigningKeySealer(masterKey),
    rotateEveryDays: config.rotateKeysEveryDays,
    previousForSeconds: tokenLifetime,
    async onChange(set) {
      await provider.reload(set);
      await recordRotation(set);
    },
    onDropped: (kid) => revocations.write([{ kind: 'key', id: kid }]),
    logger,
  });
  const feed = createRevocationFeed({
    broadcast,
    fetch: (since) => revocations.list(since),
    logger,
    // Another replica has changed it.
    onRevocation: ({ kind, id }) => {
      if (kind === 'client') managed.forget(id);
    },
    ...(config.staleAfterSeconds === undefined ? {} : { staleAfterSeconds: config.staleAfterSeconds }),
  });
  const { authenticate, authenticateService, verifyAccessToken, verifyCredential } = createAuthentication({
    issuer,
    publicKeys: provider.publicKeys,
    feed,
    resolveApiKey: apiKeys.resolve,
    rateLimit,
  });

  const app = createIdentityApp({
    issuer,
    cookieKey,
    logger,
    toServiceError,
    pageErrors: signIn.pageErrors,
    serverErrorOf: provider.serverErrorOf,
    rateLimit,
    routers: [
      oauthRoutes({ handles: oidc.handles, verify: verifyAccessToken, audit }),
      userInfoRoutes({ authenticate, findAccount: accounts.find, originsOf: applications.originsOf }),
      authRoutes({
        issuer,
        tokenLifetime: lifetimes.accessToken,
        passwordLogin: config.passwordLogin === 'on',
        accounts,
        checkPassword: signIn.checkPassword,
        audit,
        signer: provider.signer,
        authenticate,
        verify: verifyCredential,
        denyOnce: (id) => revocations.writeOnce({ kind: 'token', id }),
        endGrant: oidc.store.endGrant,
      }),
      applicationRoutes({ applications, keys: apiKeys, authenticate }),
      internalRoutes({
        authenticate: authenticateService,
        revocations,
        resolveApiKey: apiKeys.resolve,
        accountChanged: createAccountChangeHandler({
          revocations,
          endSignIns: oidc.store.endSignIns,
          ownerChanged: applications.ownerChanged,
          audit,
        }),
      }),
      ...signIn.routers,
    ],
    provider: provider.middleware,
  });

  const collections = [oidc.store, throttling, mailing, managed].flatMap((it) => it.collections);
  const sweeper = createSweeper(
    connection,
    [...collections, revocationStore.collection, auditStore.collection],
    { logger },
  );
  let started = false;
  const lifecycle = createLifecycle([
    ...(ownBroadcast === undefined ? [] : [ownBroadcast]),
    database,
    { stop: mailing.stop },
    // Stopped only after everything that records, since it writes what is still buffered.
    { stop: audit.stop },
    { start: managed.createFirst },
    keys,
    revocations,
    feed,
    sweeper,
    ...managed.resumeTasks,
    { start: () => (started = true) },
  ]);
  return {
    name: 'identity',
    prefixes: prefixesOf('identity'),
    handle: app.callback(),
    ...lifecycle,
    unready: async () => (started ? ((await database.unready()) ?? feed.unready()) : 'starting'),
  };
}

function natsBroadcast({ natsUrl }: IdentityConfig, logger: Logger) {
  if (natsUrl === undefined) throw new Error('without a broadcast, natsUrl must be set');
  return createNatsBroadcast({ url: natsUrl, name: 'identity', logger });
}

import type { Broadcast } from '@gatehouse/events/broadcast';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { type CallLimits, createCallLimits, identifyCaller } from '@gatehouse/http/identify-caller';
import { addressKey, createRateLimiter } from '@gatehouse/http/rate-limit';
import type { Logger } from '@gatehouse/kit/logger';
import { prefixesOf } from '@gatehouse/kit/routes';
import { deriveKey } from '@gatehouse/kit/sealing';
import type { Service } from '@gatehouse/kit/service';
import { createDatabase } from '@gatehouse/mongo/database';
import { onceInDatabase } from '@gatehouse/mongo/once';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { type CredentialVerifier, createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createRevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import type { Context } from 'koa';
import { createMail } from './accounts/mail-of-config.ts';
import { createMailedLinks } from './accounts/mailed-links.ts';
import { createOneTimeLinks } from './accounts/one-time-link.ts';
import { createOneTimeLinkStore } from './accounts/one-time-link-store.ts';
import { createUsersClient } from './accounts/users-client.ts';
import { authRoutes } from './api/auth-routes.ts';
import { createIdentityApp } from './app.ts';
import { createApiKeyStore } from './applications/api-key-store.ts';
import { createApiKeys } from './applications/api-keys.ts';
import { createApplicationStore } from './applications/application-store.ts';
import { createApplications } from './applications/applications.ts';
import { applicationRoutes } from './applications/routes.ts';
import { createAudit } from './audit/audit.ts';
import { createAuditStore } from './audit/audit-store.ts';
import { createChores } from './chores.ts';
import type { IdentityConfig } from './config.ts';
import { createFaults } from './faults.ts';
import { createFirstApplications } from './first-applications.ts';
import { type AccountChange, internalRoutes } from './internal/internal-routes.ts';
import { createServiceClients, createServiceTokens } from './internal/service-tokens.ts';
import { createKeyKeeper } from './keys/key-keeper.ts';
import { createSigningKeyStore } from './keys/signing-key-store.ts';
import { createSigningKeySealer, type SigningKeySet } from './keys/signing-keys.ts';
import { createAccessTokenHandles } from './oidc/access-token-handles.ts';
import {
  ACCOUNT_CLIENT,
  accountClientMetadata,
  clientMetadata,
  serviceMetadata,
} from './oidc/client-metadata.ts';
import { createEngine } from './oidc/engine.ts';
import { oauthRoutes } from './oidc/oauth-routes.ts';
import { createOidcStore } from './oidc/oidc-adapter.ts';
import { roleIn, standingOf } from './oidc/owners.ts';
import { createProviderPages } from './oidc/provider-pages.ts';
import { userInfoRoutes } from './oidc/user-info-routes.ts';
import { createRevocationStore } from './revocations/revocation-store.ts';
import { createRevocations } from './revocations/revocations.ts';
import { accountRoutes } from './sign-in/account-routes.ts';
import { createBrowserSessions } from './sign-in/browser-session.ts';
import { createSignInGuard } from './sign-in/guard.ts';
import { createGuardStore } from './sign-in/guard-store.ts';
import { interactionRoutes } from './sign-in/interaction-routes.ts';
import { createPageErrors } from './sign-in/page-errors.ts';
import { createPasswordCheck } from './sign-in/password-check.ts';
import { recoveryRoutes } from './sign-in/recovery-routes.ts';
import { createWeb } from './sign-in/web.ts';

/** What a process may bring. A broadcast is started and stopped by who made it; without one, natsUrl must be set. */
export type IdentityDependencies = { broadcast?: Broadcast };

/** Clocks differ, and a token may be on its way: a revocation stays this much longer, in seconds. */
const MARGIN = 120;
/** Longer than verifiers keep keys, in seconds. */
const KEYS_KEPT = 900;
/** How long a rotated refresh token may come again without ending its family, in seconds. */
const REUSE_GRACE = 10;

/** The identity service: signs people in, issues tokens, and tells the world the keys to verify them with. */
export function createIdentityService(
  config: IdentityConfig,
  parentLogger: Logger,
  dependencies: IdentityDependencies = {},
): Service {
  const { publicUrl: issuer, lifetimes, masterKey } = config;
  const logger = parentLogger.child({ service: 'identity' });
  const database = createDatabase({ uri: config.mongodbUri, name: 'identity', logger });
  const { connection } = database;
  const ownBroadcast = dependencies.broadcast === undefined ? natsBroadcast(config, logger) : undefined;
  const broadcast = dependencies.broadcast ?? (ownBroadcast as Broadcast);

  const applicationStore = createApplicationStore(connection);
  const revocationStore = createRevocationStore(connection);
  const revocations = createRevocations({ store: revocationStore, broadcast, logger });
  const lastToken = () => nowSeconds() + lifetimes.accessToken + MARGIN;
  const feed = createRevocationFeed({
    broadcast,
    fetch: (since) => revocations.list(since),
    logger,
    // Another replica has changed it.
    onRevocation: ({ kind, id }) => {
      if (kind === 'client') applicationStore.forget(id);
    },
    ...(config.staleAfterSeconds === undefined ? {} : { staleAfterSeconds: config.staleAfterSeconds }),
  });

  const accounts = createUsersClient({
    usersUrl: config.usersUrl,
    token: createServiceTokens(() => engine.sign(), issuer),
  });
  const auditStore = createAuditStore(connection);
  const audit = createAudit({
    store: auditStore,
    key: deriveKey(masterKey, 'audit'),
    keepDays: config.auditDays,
    logger,
  });
  const keyStore = createApiKeyStore(connection);
  const tools = {
    store: applicationStore,
    accounts,
    revocations,
    audit,
    tokenLifetime: lifetimes.accessToken + MARGIN,
    endGrants: (clientId: string) => store.endGrantsOfClient(clientId),
    logger,
    keys: keyStore,
  };
  const applications = createApplications(tools);
  const apiKeys = createApiKeys(tools);

  const handles = createAccessTokenHandles(apiAudience(issuer));
  const acceptsService = createServiceClients(config.services);
  const store = createOidcStore(connection, {
    async findClient(id) {
      if (acceptsService(id, '') !== undefined) return serviceMetadata(id);
      if (id === ACCOUNT_CLIENT) return accountClientMetadata(issuer);
      const application = await applicationStore.findById(id);
      return application === undefined ? undefined : clientMetadata(application);
    },
    findAccessToken: handles.find,
    denyToken: (id) => revocations.write([{ kind: 'token', id, expiresAt: lastToken() }]),
    denyGrant: (id) => revocations.write([{ kind: 'grant', id, expiresAt: lastToken() }]),
    reuseGrace: REUSE_GRACE,
  });

  const faults = createFaults(logger, database.unavailable);
  const web = createWeb(deriveKey(masterKey, 'forms'));
  const pageErrors = createPageErrors({ faults, web });
  const guardStore = createGuardStore(connection);
  const guard = createSignInGuard({ store: guardStore, key: deriveKey(masterKey, 'sign-in guard') });
  const linkStore = createOneTimeLinkStore(connection);
  const links = createOneTimeLinks(linkStore);
  const mail = createMail(config.mail);
  const mails = createMailedLinks({
    issuer,
    accounts,
    links,
    mail,
    logger,
    countMail: (userId) => guard.countMail({ userId }),
  });
  const checkPassword = createPasswordCheck({ accounts, guard, audit, logger });
  const signUps = createRateLimiter({ name: 'accounts', quota: 20, seconds: 3600 });
  const sessions = createBrowserSessions({
    provider: () => engine.provider(),
    accounts,
    store,
    lifetime: lifetimes.session,
    logger,
  });
  const sweeper = createSweeper(
    connection,
    [
      ...store.collections,
      revocationStore.collection,
      auditStore.collection,
      guardStore.collection,
      linkStore.collection,
      keyStore.collection,
    ],
    { logger },
  );

  const cookieKey = deriveKey(masterKey, 'cookies').toString('base64url');
  const engine = createEngine({
    issuer,
    cookieKey,
    accessTokenAlgorithm: config.accessTokenAlgorithm,
    lifetimes,
    findApplication: applicationStore.findById,
    checkSecret: applications.checkSecret,
    findAccount: accounts.find,
    acceptsService,
    store,
    tellPrivateNetworks: config.tellPrivateNetworks === 'on',
    pages: createProviderPages({ accounts, sessions, web, pageErrors }),
    logger,
  });

  let signing: string | undefined;
  async function useKeys(keys: SigningKeySet): Promise<void> {
    await engine.use(keys);
    const before = signing;
    signing = Object.values(keys.currentKid).join(' ');
    // Each replica writes down that it signs with others now.
    if (before !== undefined && before !== signing) {
      await audit.record({ action: 'keys.rotated', details: keys.currentKid });
    }
  }

  const keyKeeper = createKeyKeeper({
    store: createSigningKeyStore(connection),
    sealer: createSigningKeySealer(masterKey),
    rotateEveryDays: config.rotateKeysEveryDays,
    previousForSeconds: lifetimes.accessToken + MARGIN,
    onChange: useKeys,
    onDropped: (kid) =>
      revocations.write([
        { kind: 'key', id: kid, expiresAt: Math.max(lastToken(), nowSeconds() + KEYS_KEPT) },
      ]),
    logger,
  });

  const tokens = createTokenVerifier({
    issuer,
    audience: apiAudience(issuer),
    keys: engine.keys,
    revocations: feed.set,
  });
  const internalTokensOf = createTokenVerifier({
    issuer,
    audience: internalAudience(issuer),
    keys: engine.keys,
    revocations: feed.set,
  });
  const credentials = createCredentialVerifier({
    tokens,
    apiKeys: createApiKeyResolver({ resolve: apiKeys.resolve, set: feed.set }),
    feed,
    publicUrl: issuer,
  });
  const callLimits = config.rateLimit === 'on' ? createCallLimits() : undefined;
  const authenticateWith = (verifier: CredentialVerifier, limits?: CallLimits) => (ctx: Context) =>
    identifyCaller(ctx.req, { credentials: verifier, limits, setHeaders: (headers) => ctx.set(headers) });
  const authenticate = authenticateWith(credentials, callLimits);

  /** Ends what an account's change must end; the same change may come again. */
  async function accountChanged({ user_id: id, epoch, sign_in_epoch, reason }: AccountChange): Promise<void> {
    await revocations.write([{ kind: 'subject', id, epoch, expiresAt: lastToken() }]);
    await store.endSignIns(id, sign_in_epoch);
    // A password says nothing about what a person's applications may do.
    if (reason === 'password') return;
    await applications.ownerChanged(id);
    await audit.record({
      action: reason === 'deleted' ? 'account.deleted' : 'account.changed',
      subject: id,
      details: { change: reason },
    });
  }

  const app = createIdentityApp({
    issuer,
    cookieKey,
    logger,
    faults,
    pageErrors,
    faultOf: engine.faultOf,
    limits:
      config.rateLimit === 'on'
        ? {
            token: createRateLimiter({ name: 'token', quota: 600, seconds: 60 }),
            password: createRateLimiter({ name: 'password', quota: 60, seconds: 60 }),
          }
        : undefined,
    routers: [
      oauthRoutes({ handles, verify: tokens.verify, audit }),
      userInfoRoutes({
        authenticate,
        findAccount: accounts.find,
        originsOf: async (id) =>
          ((await applicationStore.findById(id))?.redirectUris ?? []).flatMap(
            (uri) => URL.parse(uri)?.origin ?? [],
          ),
      }),
      authRoutes({
        issuer,
        tokenLifetime: lifetimes.accessToken,
        passwordLogin: config.passwordLogin === 'on',
        accounts,
        checkPassword,
        audit,
        signer: engine.sign,
        authenticate,
        verify: (token) =>
          credentials.verify({ authorization: `Bearer ${token}`, dpop: undefined, method: 'GET', path: '' }),
        denyOnce: (id) => revocations.writeOnce({ kind: 'token', id, expiresAt: lastToken() }),
        endGrant: store.endGrant,
      }),
      applicationRoutes({ applications, keys: apiKeys, authenticate }),
      internalRoutes({
        authenticate: authenticateWith(
          createCredentialVerifier({ tokens: internalTokensOf, feed, publicUrl: issuer }),
        ),
        revocations,
        resolveApiKey: apiKeys.resolve,
        accountChanged,
      }),
      interactionRoutes({
        provider: engine.provider,
        accounts,
        sessions,
        checkPassword,
        links: mails,
        audit,
        async roleIn(clientId, account) {
          const application = await applicationStore.findById(clientId);
          if (application === undefined) return account.role;
          return roleIn(await standingOf(application, accounts.find), account);
        },
        web,
        signUp: config.signUp === 'on',
        countSignUp: (address) => signUps.count(addressKey(address)),
      }),
      accountRoutes({
        issuer,
        sessions,
        accounts,
        store,
        findClient: applicationStore.findById,
        guard,
        links: mails,
        audit,
        web,
        sessionLifetime: lifetimes.session,
      }),
      recoveryRoutes({
        accounts,
        links,
        mails,
        audit,
        web,
        countRequest: (address) => guard.countMail({ address }),
      }),
    ],
    provider: engine.middleware,
  });

  const chores = createChores([applications.finish, apiKeys.finish], logger);

  let started = false;
  return {
    name: 'identity',
    prefixes: prefixesOf('identity'),
    handle: app.callback(),
    async start() {
      await ownBroadcast?.start();
      await database.start();
      if (config.firstApplications.length > 0) {
        await onceInDatabase(connection, 'first applications', () =>
          createFirstApplications({ store: applicationStore, keys: keyStore }, config.firstApplications),
        );
      }
      await keyKeeper.start();
      revocations.start();
      await feed.start();
      sweeper.start();
      chores.start();
      started = true;
    },
    async stop() {
      await keyKeeper.stop();
      await audit.stop();
      await chores.stop();
      await feed.stop();
      await revocations.stop();
      await sweeper.stop();
      mail.stop();
      await ownBroadcast?.stop();
      await database.stop();
    },
    unready: async () => (started ? ((await database.unready()) ?? feed.unready()) : 'starting'),
  };
}

function natsBroadcast({ natsUrl }: IdentityConfig, logger: Logger): Broadcast {
  if (natsUrl === undefined) throw new Error('without a broadcast, natsUrl must be set');
  return createNatsBroadcast({ url: natsUrl, name: 'identity', logger });
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

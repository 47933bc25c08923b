import { createHash, timingSafeEqual } from 'node:crypto';
import type { Broadcast } from '@gatehouse/events/broadcast';
import { createNatsBroadcast } from '@gatehouse/events/nats-broadcast';
import { type CallLimits, createCallLimits, identifyCaller } from '@gatehouse/http/auth';
import { addressKey, createRateLimiter } from '@gatehouse/http/rate-limit';
import { unavailable } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { prefixesOf } from '@gatehouse/kit/routes';
import type { Service } from '@gatehouse/kit/service';
import { createDatabase } from '@gatehouse/mongo/database';
import { onceInDatabase } from '@gatehouse/mongo/once';
import { createSweeper } from '@gatehouse/mongo/sweeper';
import { createApiKeyResolver } from '@gatehouse/tokens/api-keys';
import { type CredentialVerifier, createCredentialVerifier } from '@gatehouse/tokens/credentials';
import { createRevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { apiAudience, INTERNAL_SCOPE, internalAudience } from '@gatehouse/tokens/scopes';
import { createTokenVerifier } from '@gatehouse/tokens/verifier';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from 'jose';
import type { Context, Middleware } from 'koa';
import compose from 'koa-compose';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
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
import { createKeyKeeper } from './keys/key-keeper.ts';
import { createSealer, deriveKey } from './keys/sealing.ts';
import { createSigningKeyStore } from './keys/signing-key-store.ts';
import { SIGNING_KEYS_PURPOSE, type SigningKeySet } from './keys/signing-keys.ts';
import { createAccessTokenHandles } from './oidc/access-token-handles.ts';
import {
  ACCOUNT_CLIENT,
  accountClientMetadata,
  clientMetadata,
  serviceMetadata,
} from './oidc/client-metadata.ts';
import { oauthRoutes } from './oidc/oauth-routes.ts';
import { createOidcStore } from './oidc/oidc-adapter.ts';
import { createProvider } from './oidc/provider.ts';
import { createTokenSigner, type TokenSigner } from './oidc/token-signer.ts';
import { userInfoRoutes } from './oidc/user-info-routes.ts';
import { signedOutPage, signOutPage, stillSignedInPage } from './pages/sign-out-pages.ts';
import { createRevocationStore } from './revocations/revocation-store.ts';
import { createRevocations } from './revocations/revocations.ts';
import { accountRoutes } from './sign-in/account-routes.ts';
import { createBrowserSessions } from './sign-in/browser-session.ts';
import { createSignInGuard } from './sign-in/guard.ts';
import { createGuardStore } from './sign-in/guard-store.ts';
import { interactionRoutes, interactionUrl } from './sign-in/interaction-routes.ts';
import { createPageErrors } from './sign-in/page-errors.ts';
import { createPasswordCheck } from './sign-in/password-check.ts';
import { recoveryRoutes } from './sign-in/recovery-routes.ts';
import { createWeb, formTarget } from './sign-in/web.ts';

/** What a process may bring. A broadcast is started and stopped by who made it; without one, natsUrl must be set. */
export type IdentityDependencies = { broadcast?: Broadcast };

/** Clocks differ, and a token may be on its way: a revocation stays this much longer, in seconds. */
const MARGIN = 120;
/** Longer than verifiers keep keys, in seconds. */
const KEYS_KEPT = 900;
/** How long a rotated refresh token may come again without ending its family, in seconds. */
const REUSE_GRACE = 10;
/** Who identity is when it calls another service. */
const OWN_CLIENT = 'identity';

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

  // Replaced whenever the signing keys change, and for the first time at the start.
  let oidc:
    | { provider: Provider; middleware: Middleware; sign: TokenSigner; jwks: JWTVerifyGetKey }
    | undefined;
  const current = () => {
    if (oidc === undefined) throw unavailable('The signing keys are not loaded yet.');
    return oidc;
  };
  const provider = () => current().provider;
  const ownKeys: JWTVerifyGetKey = (header, token) => current().jwks(header, token);

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
    token: internalTokens(() => current().sign, issuer),
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
    keys: keyStore,
  };
  const applications = createApplications(tools);
  const apiKeys = createApiKeys(tools);

  const handles = createAccessTokenHandles(apiAudience(issuer));
  const services = new Map(config.services.map(({ id, secret }) => [id, sha256(secret)]));
  const store = createOidcStore(connection, {
    async findClient(id) {
      if (services.has(id)) return serviceMetadata(id);
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
  const sessions = createBrowserSessions({ provider, accounts, store, lifetime: lifetimes.session, logger });
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
  const providerFaults = new WeakMap<object, unknown>();

  async function useKeys({ keys, currentKid }: SigningKeySet): Promise<void> {
    const signingKey = keys.find(({ kid }) => kid === currentKid[config.accessTokenAlgorithm]);
    const built = createProvider({
      issuer,
      keys: { keys },
      cookieKey,
      accessTokenAlgorithm: config.accessTokenAlgorithm,
      lifetimes,
      findApplication: applicationStore.findById,
      checkSecret: applications.checkSecret,
      findAccount: accounts.find,
      acceptsService(id, secret) {
        const expected = services.get(id);
        return expected === undefined ? undefined : timingSafeEqual(expected, sha256(secret));
      },
      store,
      tellPrivateNetworks: config.tellPrivateNetworks === 'on',
      pages: {
        error: pageErrors.refusal,
        async signOut(ctx, { action, xsrf }) {
          const { session, client } = ctx.oidc;
          const account = await accounts.find(session?.accountId ?? '').catch(() => undefined);
          const { postLogoutRedirectUri } = (session?.state ?? {}) as { postLogoutRedirectUri?: string };
          const html = signOutPage({
            form: { action, csrf: web.csrf(ctx, 'sign out'), hidden: { xsrf } },
            ...(account === undefined ? {} : { username: account.username }),
            ...(client?.clientName === undefined ? {} : { application: client.clientName }),
          });
          web.page(ctx, html, { formTargets: formTarget(postLogoutRedirectUri) });
        },
        async signedOut(ctx) {
          const stayed = await sessions.find(ctx);
          const html =
            stayed === undefined
              ? signedOutPage({ links: { signIn: '/account' } })
              : stillSignedInPage({ username: stayed.account.username, links: { account: '/account' } });
          web.page(ctx, html);
        },
        interactionUrl,
      },
    });
    built.on('server_error', (ctx: KoaContextWithOIDC, error: unknown) => providerFaults.set(ctx.res, error));
    oidc = {
      provider: built,
      middleware: compose(built.middleware) as Middleware,
      sign: await createTokenSigner(issuer, signingKey as JWK),
      jwks: createLocalJWKSet({ keys: keys.map(publicPart) }) as JWTVerifyGetKey,
    };
  }

  const keyKeeper = createKeyKeeper({
    store: createSigningKeyStore(connection),
    sealer: createSealer(masterKey, SIGNING_KEYS_PURPOSE),
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
    keys: ownKeys,
    revocations: feed.set,
  });
  const internalTokensOf = createTokenVerifier({
    issuer,
    audience: internalAudience(issuer),
    keys: ownKeys,
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
    if (reason !== 'password') await applications.ownerChanged(id);
  }

  const app = createIdentityApp({
    issuer,
    cookieKey,
    logger,
    faults,
    pageErrors,
    faultOf: (ctx) => providerFaults.get(ctx.res),
    limits:
      config.rateLimit === 'on'
        ? {
            token: createRateLimiter({ name: 'token', quota: 600, seconds: 60 }),
            password: createRateLimiter({ name: 'password', quota: 60, seconds: 60 }),
          }
        : undefined,
    routers: [
      oauthRoutes({ handles, verify: tokens.verify }),
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
        signer: () => current().sign,
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
        provider,
        accounts,
        sessions,
        checkPassword,
        links: mails,
        audit,
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
    provider: (ctx, next) => current().middleware(ctx, next),
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

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Without the private members of RFC 7518 §6. */
function publicPart({ d, p, q, dp, dq, qi, ...rest }: JWK): JWK {
  return rest;
}

/** Tokens for the internal routes of other services, each used for a few minutes. */
function internalTokens(signer: () => TokenSigner, issuer: string): () => Promise<string> {
  const lifetime = 300;
  let known: { token: string; until: number; signer: TokenSigner } | undefined;
  return async () => {
    const sign = signer();
    // A new signer means new keys, and the old one may be withdrawn.
    if (known === undefined || known.signer !== sign || known.until < Date.now()) {
      const { token } = await sign({
        subject: OWN_CLIENT,
        clientId: OWN_CLIENT,
        audience: internalAudience(issuer),
        scope: INTERNAL_SCOPE,
        lifetime,
        claims: { trusted: true, epoch: { client: 0 } },
      });
      known = { token, until: Date.now() + (lifetime / 2) * 1000, signer: sign };
    }
    return known.token;
  };
}

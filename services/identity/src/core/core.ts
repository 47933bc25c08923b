import { createConcurrencyLimit } from '@gatehouse/api/http/concurrency-limit';
import { createRateLimiter } from '@gatehouse/api/http/rate-limit';
import type { Logger } from '@gatehouse/core/logger';
import { deriveKeys } from '@gatehouse/core/sealing';
import { createErasures } from '@gatehouse/data/erasures';
import { createMailSender } from '@gatehouse/mail/mail-settings';
import { isFirstParty } from '@gatehouse/tokens/caller';
import { createInternalClient } from '@gatehouse/tokens/internal-client';
import { createRevocationFeed } from '@gatehouse/tokens/revocation-feed';
import { apiAudience } from '@gatehouse/tokens/scopes';
import { FRESH, requireSignIn } from '@gatehouse/tokens/step-up';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { createAuthentication } from '../http/authentication.ts';
import { createBrowserCookie } from '../pages/browser-cookie.ts';
import { createCsrfForms } from '../pages/csrf-forms.ts';
import { createPageErrors } from '../pages/page-errors.ts';
import type { Accounts } from './accounts/account.ts';
import { type AccountCache, createAccountCache } from './accounts/account-cache.ts';
import { createAccountMails } from './accounts/account-mails.ts';
import { createNotices } from './accounts/notices.ts';
import { createOneTimeLinks } from './accounts/one-time-link.ts';
import { createOneTimeLinkStore } from './accounts/one-time-link-store.ts';
import { createSeenStore } from './accounts/seen-store.ts';
import { createUsersClient } from './accounts/users-client.ts';
import type { Application } from './applications/application.ts';
import { createApplicationWrites } from './applications/application-writes.ts';
import { createApplications } from './applications/applications.ts';
import {
  CREDENTIALS_FOR_OTHERS,
  credentialCreated,
  limitCredentialsBy,
  type NotifyCredential,
} from './applications/new-credential-notice.ts';
import { createApplicationStore } from './applications/store/application-store.ts';
import { createMemberStore } from './applications/store/member-store.ts';
import { originOf } from './audit/audit.ts';
import { createAuthority } from './authority/authority.ts';
import { createExtensions, type Extensions } from './extensions.ts';
import { createFoundation, type IdentityDependencies } from './foundation/foundation.ts';
import { type CoreConfig, MAX_ACCESS_TOKEN_SECONDS } from './foundation/identity-config.ts';
import { createSignInThrottle } from './limits/sign-in-throttle.ts';
import { createSignInThrottleStore } from './limits/sign-in-throttle-store.ts';
import { createFindActing, createFindScopes } from './oidc/acting.ts';
import { type AccessTokenHandles, createAccessTokenHandles } from './oidc/adapter/access-token-handles.ts';
import { createOidcStore } from './oidc/adapter/oidc-adapter.ts';
import { createAuthorizedApplications } from './oidc/authorized-applications.ts';
import { createFindClient } from './oidc/clients/client-metadata.ts';
import type { FindResource } from './oidc/protected-resource.ts';
import { createReloadableProvider } from './oidc/reloadable-provider.ts';
import { createDerivedTokenStore } from './revocations/derived-token-store.ts';
import { createResourceTokenStore } from './revocations/resource-token-store.ts';
import { createRevocationStore } from './revocations/revocation-store.ts';
import { createRevocations } from './revocations/revocations.ts';
import { createAccountRouter } from './sessions/account-router.ts';
import { createBrowserSessions } from './sessions/browser-sessions.ts';
import { createGraceStore } from './sessions/grace-store.ts';
import { createLastWay } from './sessions/last-way.ts';
import { createPasswordCheck } from './sessions/password-check.ts';
import { createRememberedBrowserStore } from './sessions/remembered-browser-store.ts';
import { createRemovedMethods } from './sessions/removed-methods.ts';
import { createSecondFactorRequirement } from './sessions/second-factor-requirement.ts';
import { createSecondFactors } from './sessions/second-factors.ts';
import { createSessionEnds } from './sessions/session-ends.ts';
import { createSignInGenerations } from './sessions/sign-in-generations.ts';
import { createStrongestFactor } from './sessions/strongest-factor.ts';
import { CLOCK_MARGIN } from './tokens/clock-margin.ts';
import { createServiceClients, createServiceTokens } from './tokens/service-tokens.ts';
import { createTokenSigning } from './tokens/token-signing.ts';

/** Longer than users takes to check a password when many are being checked. */
const USERS_TIMEOUT_SECONDS = 10;
/** How long a rotated refresh token gets its successor again, in seconds. */
const REUSE_GRACE = 10;
/** Every token request needs its application: it may be some seconds old. */
const APPLICATION_CACHE = { max: 1000, ttl: 5000 };
/** How soon revocations that a crash kept from being written are resumed, and where no other process may have crashed. */
const RESUME_MS = { shared: 5000, alone: 30_000 };
/** RFC 9110 §9.2.1, of those that the APIs have. */
const SAFE_METHODS = new Set(['GET', 'HEAD']);
/** Above every epoch of an account. */
const ALL_EPOCHS = { epoch: Number.MAX_SAFE_INTEGER, signInEpoch: Number.MAX_SAFE_INTEGER };

/** The core that all features are made with. */
export type Core = ReturnType<typeof createCore>;

/** The issuer, the accounts, applications and sessions, and what they need: everything that is no feature by itself. */
export function createCore<Config extends CoreConfig>(
  config: Config,
  logger: Logger,
  dependencies: IdentityDependencies,
) {
  const extensions = createExtensions();
  const foundation = createFoundation(config, logger, dependencies, extensions);
  const signing = createTokenSigning();
  const applicationStore = createApplicationStore(
    foundation.connection,
    new LRUCache<string, Application>(APPLICATION_CACHE),
  );
  const requestToken = createServiceTokens(signing.signer, config.publicUrl);
  const accounts = createUsersClient(
    createInternalClient({
      service: 'users',
      url: config.usersUrl,
      requestToken,
      timeoutSeconds: USERS_TIMEOUT_SECONDS,
    }),
  );
  const shared = {
    ...foundation,
    config,
    extensions,
    issuer: config.publicUrl,
    masterKeys: config.masterKeys,
    lifetimes: config.lifetimes,
    signing,
    /** Gets tokens for the internal routes of other services. */
    requestToken,
    accounts,
    accountCache: createAccountCache(accounts),
    applicationStore,
  };
  const { collections: revoked, ...revoking } = createRevoking(shared);
  const { collections: mailCollections, ...mailing } = createMailing(shared);
  const issuing = createIssuing({ ...shared, ...revoking, ...mailing });
  const signingIn = createSigningIn({ ...shared, ...mailing, ...issuing });
  const authentication = createAuthentication({
    ...shared,
    ...revoking,
    findResource: issuing.findResource,
    publicKeys: signing.publicKeys,
    applicationKeys: extensions.applicationKeys,
    rateLimit: config.rateLimit === 'on',
    onCaller({ clientId, grantId }) {
      if (grantId === undefined) return;
      for (const program of extensions.programs) if (program.clientId === clientId) program.used(grantId);
    },
  });
  const { sessionEnds, store, generations, remembered, removedMethods, gracePeriods, members } = issuing;
  const ownErasers: Extensions['erasers'] = [
    (userId) => sessionEnds.endBelow(userId, ALL_EPOCHS),
    mailing.removeLinksOf,
    removedMethods.removeAllOf,
    gracePeriods.remove,
    members.removePerson,
  ];
  const erasures = createErasures(foundation.connection, {
    async erase(userId) {
      for (const erase of [...extensions.erasers, ...ownErasers]) await erase(userId);
    },
    logger: foundation.logger,
  });
  return {
    ...shared,
    ...revoking,
    ...mailing,
    ...issuing,
    ...signingIn,
    authentication,
    /** The caller of an API for people. With the setting, each of their changes takes a sign-in of the last five minutes. */
    async authenticate(ctx: Context) {
      const caller = await authentication.authenticate(ctx);
      const isChange = !SAFE_METHODS.has(ctx.method);
      // Others are refused anyway. A deployer cannot sign in: its admin did before marking it, for these requests alone.
      const isPerson = isFirstParty(caller) && caller.actors === undefined;
      if (config.freshSignIn === 'on' && isChange && isPerson) requireSignIn(caller, FRESH);
      return caller;
    },
    concurrency: createConcurrencyLimit(),
    erasures,
    requestErasure: erasures.request,
    /** By the limit of the setting, which may have been higher when a key signed. */
    longestTokenSeconds: MAX_ACCESS_TOKEN_SECONDS + CLOCK_MARGIN,
    /** How a task resumes revocations. */
    resuming: {
      everyMs: shared.isOnlyWriter ? RESUME_MS.alone : RESUME_MS.shared,
      immediately: true,
      onError: (error: unknown) =>
        foundation.logger.warn({ err: error }, 'revocations could not be resumed; trying again'),
    },
    collections: [
      ...store.collections,
      ...mailCollections,
      ...revoked,
      generations.collection,
      remembered.collection,
      removedMethods.collection,
      members.collection,
    ],
  };
}

type Shared = ReturnType<typeof createFoundation> & {
  config: CoreConfig;
  extensions: Extensions;
  issuer: string;
  signing: ReturnType<typeof createTokenSigning>;
  accounts: Accounts;
  accountCache: AccountCache;
  applicationStore: ReturnType<typeof createApplicationStore>;
};

/** The source of the revocation feed, and the feed as this service itself follows it. */
function createRevoking(shared: Shared) {
  const { config, connection, broadcast, isOnlyWriter, applicationStore, accountCache, extensions, logger } =
    shared;
  const { lifetimes, staleAfterSeconds } = config;
  const store = createRevocationStore(connection);
  const tokenLifetime = lifetimes.accessToken + CLOCK_MARGIN;
  const resourceTokens = createResourceTokenStore(connection);
  const derivedTokens = createDerivedTokenStore(connection);
  const revocations = createRevocations({
    store,
    resourceTokens,
    derivedTokens,
    broadcast,
    tokenLifetime,
    isOnlyWriter,
    logger,
  });
  const feed = createRevocationFeed({
    broadcast,
    fetch: revocations.list,
    logger,
    // Perhaps by another replica.
    onRevocation: (revocation) => {
      const { kind, id } = revocation;
      if (kind === 'client') applicationStore.forget(id);
      if (kind === 'subject') accountCache.forget(id);
      for (const listen of extensions.revocationListeners) listen(revocation);
    },
    ...(staleAfterSeconds === undefined ? {} : { staleAfterSeconds }),
  });
  return {
    revocations,
    feed,
    collections: [store.collection, resourceTokens.collection, derivedTokens.collection],
  };
}

/** People's accounts, and the mails to them. */
function createMailing(shared: Shared) {
  const { config, connection } = shared;
  const counters = createSignInThrottleStore(connection);
  const [throttleKey] = deriveKeys(config.masterKeys, 'sign-in guard');
  const seen = createSeenStore(connection);
  const throttle = createSignInThrottle({ store: counters, seen, key: throttleKey });
  const linkStore = createOneTimeLinkStore(connection);
  const links = createOneTimeLinks(linkStore);
  const mail = createMailSender(config.mail);
  const mails = createAccountMails({
    ...shared,
    links,
    mail,
    brand: config.brand,
    // Each kind by itself: what one causes must not keep another from being sent.
    countMail: (recipient, kind) => throttle.countMail({ recipient: `${kind} ${recipient}` }),
  });
  return {
    throttle,
    links,
    mails,
    notices: createNotices({ mails, seen }),
    removeLinksOf: linkStore.removeAllOf,
    stopMail: mail.stop,
    collections: [counters.collection, linkStore.collection, seen.collection],
  };
}

type Revoking = Omit<ReturnType<typeof createRevoking>, 'collections'>;
type Mailing = Omit<ReturnType<typeof createMailing>, 'collections'>;

const recordRepeatedRefresh =
  (audit: Shared['audit']) =>
  (ctx: KoaContextWithOIDC): Promise<void> => {
    const { clientId: client = '', accountId: subject = '' } = ctx.oidc.entities.RotatedRefreshToken ?? {};
    return audit.record({
      action: 'refresh_token.repeated',
      origin: originOf(ctx),
      actor: null,
      client,
      subject,
    });
  };

/** Sends the mail about a new credential. */
const notifyCredentialBy =
  (mails: Pick<Mailing['mails'], 'notify'>): NotifyCredential =>
  ({ owner, name }, credential, maker) => {
    if (owner === null) return;
    const by = maker?.id === owner ? undefined : maker?.id;
    void mails.notify(owner, credentialCreated(name, credential, by));
  };

/** The first result of several ways to find a resource. */
const findInTurn =
  (ways: readonly FindResource[]): FindResource =>
  async (...query) => {
    for (const find of ways) {
      const found = await find(...query);
      if (found !== undefined) return found;
    }
    return undefined;
  };

/** Revokes an access token, so that the resource that it is for hears of it. */
const tokenDenial =
  ({
    handles,
    findResource,
    revocations,
  }: Pick<Revoking, 'revocations'> & { handles: AccessTokenHandles; findResource: FindResource }) =>
  async (id: string): Promise<void> => {
    const audience = handles.audienceOf(id);
    const resource = audience === undefined ? undefined : await findResource(audience);
    await revocations.write([{ kind: 'token', id, resource: resource?.id }]);
  };

/** Applications, and oidc-provider with what it stores. */
function createIssuing(shared: Shared & Revoking & Mailing) {
  const { config, connection, extensions, revocations, applicationStore, mails, issuer, audit } = shared;
  const findApplication = (id: string, requester?: string) =>
    extensions.applicationSources.find((source) => source.has(id))?.find(id, requester) ??
    applicationStore.findById(id);
  const findResource = findInTurn(extensions.resources);
  const findActing = createFindActing({ issuer, store: applicationStore, findResource });
  const acceptsService = createServiceClients(config.services);
  const handles = createAccessTokenHandles(apiAudience(issuer));
  const store = createOidcStore(connection, {
    findClient: createFindClient({ issuer, acceptsService, applications: { find: findApplication } }),
    findAccessToken: handles.find,
    denyToken: tokenDenial({ handles, findResource, revocations }),
    grantListeners: extensions.grantListeners,
    denyGrant: (id) => revocations.write([{ kind: 'grant', id }]),
    reuseGrace: REUSE_GRACE,
    onRepeatedRefresh: recordRepeatedRefresh(audit),
    // Refresh tokens of a confidential client can be extended beyond that, but a code so old is no threat any more.
    keepExchangedCode: config.lifetimes.refreshToken,
  });
  const notifyCredential = notifyCredentialBy(mails);
  const limitCredentials = limitCredentialsBy(createRateLimiter(CREDENTIALS_FOR_OTHERS, shared.sharedLimits));
  const members = createMemberStore(connection);
  const authority = createAuthority({
    findAccount: shared.accountCache.find,
    readAccount: shared.accounts.find,
    members,
    noteGiver: applicationStore.noteGiver,
  });
  const applicationParts = {
    ...shared,
    members,
    authority,
    store: applicationStore,
    find: findApplication,
    keys: extensions.applicationKeys,
    ...{ endGrants: store.endGrantsOfClient, notifyCredential, limitCredentials },
    findScopes: createFindScopes({ issuer, findResource }),
  };
  const applicationWrites = createApplicationWrites(applicationParts);
  const applications = createApplications({ ...applicationParts, writes: applicationWrites });
  const authorizedApplications = createAuthorizedApplications({
    ...{ store, applications, findResource, findActing, audit },
  });
  const generations = createSignInGenerations(connection);
  const remembered = createRememberedBrowserStore(connection);
  const removedMethods = createRemovedMethods(connection);
  const sessionEnds = createSessionEnds({ ...extensions, store, generations, remembered, audit });
  const cookieKeys = deriveKeys(config.masterKeys, 'cookies').map((key) => key.toString('base64url'));
  const formKeys = deriveKeys(config.masterKeys, 'forms');
  const [successorKey] = deriveKeys(config.masterKeys, 'refresh tokens');
  const browser = createBrowserCookie(formKeys);
  const strongestFactor = createStrongestFactor({
    methods: extensions.signInMethods,
    sources: extensions.secondFactors,
  });
  const gracePeriods = createGraceStore(connection);
  const secondFactorRequirement = createSecondFactorRequirement({
    requiredOf: config.requireSecondFactor ?? 'none',
    graceDays: config.secondFactorGraceDays ?? 0,
    gracePeriods,
    strongestFactor,
  });
  const provider = createReloadableProvider({
    ...shared,
    lifetimes: config.lifetimes,
    accessTokenAlgorithm: config.accessTokenAlgorithm,
    cookieKeys,
    successorKey,
    applications,
    findResource,
    findActing,
    callerOfHandle: handles.callerOf,
    noteIssued: revocations.noteIssued,
    acceptsService,
    authority,
    store,
    signOuts: sessionEnds,
    strongestFactor,
    secondFactorRequirement,
    extensions: extensions.provider,
    browserId: browser.id,
  });
  return {
    strongestFactor,
    secondFactorRequirement,
    gracePeriods,
    handles,
    findResource,
    findActing,
    store,
    notifyCredential,
    limitCredentials,
    applicationWrites,
    members,
    authority,
    applications,
    authorizedApplications,
    generations,
    remembered,
    removedMethods,
    sessionEnds,
    cookieKeys,
    browser,
    forms: createCsrfForms(formKeys, browser, issuer),
    provider,
  };
}

/** How people sign in on our pages. */
function createSigningIn(shared: Shared & Mailing & ReturnType<typeof createIssuing>) {
  const { config, extensions, provider, toServiceError } = shared;
  const lifetime = config.lifetimes.session;
  const sessions = createBrowserSessions({ ...shared, provider: provider.current, lifetime });
  const secondFactors = createSecondFactors({
    ...shared,
    sessions,
    sources: extensions.secondFactors,
    lostFactors: extensions.lostFactors,
  });
  return {
    sessions,
    lastWay: createLastWay({ ...shared, methods: shared.extensions.signInMethods }),
    accountPages: createAccountRouter({
      ...{ ...shared, sessions, secondFactors },
      sections: extensions.accountSections,
      factors: extensions.factors,
      signUp: config.signUp === 'on',
    }),
    secondFactors,
    checkPassword: createPasswordCheck({ ...shared, secondFactors, methods: extensions.signInMethods }),
    pageErrors: createPageErrors(toServiceError),
  };
}

import { servicesCallableBy } from '@gatehouse/core/services';
import { requestInfo } from '@gatehouse/server/requests';
import {
  apiAudience,
  INTERNAL_SCOPE,
  internalAudience,
  MANAGE_APPS,
  parseScope,
} from '@gatehouse/tokens/scopes';
import type { JWK } from 'jose';
import type { Context } from 'koa';
import Provider, {
  type AccessToken,
  type Client,
  type ClientCredentials,
  type Configuration,
  type ErrorOut,
  errors,
  type Grant,
  type Interaction,
  type KoaContextWithOIDC,
  type RefreshToken,
  type ResourceServer,
} from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import type { AccountCache } from '../accounts/account-cache.ts';
import type { Application } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import { type OwnerPermissions, ownerPermissions, roleIn, withinCeiling } from '../applications/ownership.ts';
import { originsOf } from '../applications/redirect-uris.ts';
import { ANONYMOUS_SESSION_SECONDS, INTERACTION_SECONDS } from '../limits/bounds.ts';
import type { SigningAlgorithm } from '../tokens/signing-algorithms.ts';
import type { OidcStore } from './adapter/oidc-adapter.ts';
import { ACR, checkClaimsParameter, requestedOfUserInfo } from './claims/claims-parameter.ts';
import { type ProviderAccount, toProviderAccount } from './claims/provider-account.ts';
import { ALL_SCOPES, applyDefaultScope, OFFLINE_ACCESS, requireKnownScope } from './claims/scope-rules.ts';
import { CLAIMS_OF_SCOPES } from './claims/standard-claims.ts';
import { machineClaims, pinnedProfiles } from './clients/client-credentials.ts';
import { ACCOUNT_CLIENT, DASHBOARD_CLIENT, isFirstParty } from './clients/client-metadata.ts';
import {
  accessTokenAlgorithm,
  checkAssertion,
  codeLifetime,
  isFapi2,
  isFromTheFuture,
  SECURITY_PROFILE,
} from './clients/fapi.ts';
import { acceptEndpointAliases } from './endpoint-aliases.ts';
import {
  CONSENT_EPOCH,
  consentEpochOf,
  isOfConsentEpoch,
  roleByGrant,
  trackConsentEpochs,
} from './epochs/consent-epochs.ts';
import { isCurrent, signInPolicy, stampGrant, trackSignInEpochs } from './epochs/sign-in-epochs.ts';
import { routeSignOuts, type SignOuts } from './epochs/sign-outs.ts';
import { ROUTES } from './provider-routes.ts';

/** In seconds. */
export type Lifetimes = {
  accessToken: number;
  code: number;
  /** Absolute for public clients, sliding for confidential ones. */
  refreshToken: number;
  /** How long a browser that is not used stays signed in. */
  session: number;
};

export type ProviderOptions = {
  issuer: string;
  keys: { keys: JWK[] };
  /** The first signs cookies, and all are accepted. */
  cookieKeys: readonly string[];
  accessTokenAlgorithm: SigningAlgorithm;
  lifetimes: Lifetimes;
  applications: Pick<Applications, 'find' | 'checkSecret' | 'used'>;
  accountCache: Pick<AccountCache, 'find' | 'findNow'>;
  /** Whether this is the secret of one of our own services; undefined when there is no such service. */
  acceptsService(id: string, secret: string): boolean | undefined;
  store: OidcStore;
  /** What ends sessions. */
  signOuts: SignOuts;
  extensions: readonly ProviderExtension[];
  /** The id of the browser that makes a request. */
  browserId(ctx: Context): string;
};

/** What a feature adds to oidc-provider, whenever that is built. */
export type ProviderExtension = {
  /** One of the features has them. */
  pages?: ProviderPages;
  /** Adds to the configuration. */
  configure?(configuration: Configuration & { features: object }): void;
  attach?(provider: Provider): void;
};

/** The pages for requests that oidc-provider answers itself. */
export type ProviderPages = {
  error(ctx: KoaContextWithOIDC, error: ErrorOut, thrown: Error): void;
  signOut(ctx: KoaContextWithOIDC, form: { action: string; xsrf: string }): void | Promise<void>;
  signedOut(ctx: KoaContextWithOIDC): void | Promise<void>;
  interactionUrl(interaction: Interaction): string;
};

const DASHBOARD_SCOPES = [...ALL_SCOPES, MANAGE_APPS];
/** The routes at which oidc-provider answers people rather than programs. */
const PAGE_ROUTES = new Set([
  'authorization',
  'resume',
  'end_session',
  'end_session_confirm',
  'end_session_success',
]);
/** The routes at which authorization requests arrive. */
const REQUEST_ROUTES = new Set(['authorization', 'pushed_authorization_request']);
const DAY = 86_400;
/** The share of its lifetime below which a refresh token is extended: two writes are too much for every use of it. */
const EXTENDED_BELOW = 0.99;
/**
 * How far in the future the iat of a DPoP proof may lie, in seconds. oidc-provider would forget the proof that much before it
 * is too old.
 */
const PROOF_WINDOW = 300;
/** A parameter of an authorization request: the person wants to use an account other than the current one. */
export const ANOTHER_ACCOUNT = 'another_account';
/** Another one: the person wants to create an account. */
export const SIGN_UP = 'sign_up';

/** oidc-provider, configured. Its keys cannot be changed: for a rotation, another one is built and swapped in. */
export function createProvider(options: ProviderOptions): Provider {
  const { issuer, lifetimes } = options;
  const pages = options.extensions.find((it) => it.pages !== undefined)?.pages;
  if (pages === undefined) throw new Error('no feature has the pages of oidc-provider');
  const api = apiAudience(issuer);

  const configuration: Configuration & { features: object } = {
    adapter: options.store.adapterFor,
    jwks: options.keys,
    cookies: {
      keys: [...options.cookieKeys],
      names: {
        session: sessionCookieName(issuer),
        interaction: 'gatehouse_interaction',
        resume: 'gatehouse_resume',
      },
      long: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true },
      short: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true },
    },
    routes: ROUTES,
    // A scope that is not listed here would be granted to any client that asks.
    scopes: [...ALL_SCOPES, OFFLINE_ACCESS],
    extraParams: [ANOTHER_ACCOUNT, SIGN_UP],
    claims: { ...structuredClone(CLAIMS_OF_SCOPES), amr: null },
    acrValues: [ACR],
    responseTypes: ['code', 'id_token token', 'none'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' || isFapi2(client) },
    extraClientMetadata: { properties: [SECURITY_PROFILE, CONSENT_EPOCH] },
    assertJwtClientAuthClaimsAndHeader: async (...assertion) => checkAssertion(...assertion),
    // Said as plainly as request_uri_parameter_supported, which oidc-provider publishes by itself.
    discovery: { request_parameter_supported: false },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: {
        enabled: true,
        // Asked before a proof is verified. We use no nonces.
        requireNonce(ctx) {
          if (!isFromTheFuture(ctx.get('DPoP'))) return false;
          throw new errors.InvalidDpopProof('DPoP proof iat is too far in the future');
        },
      },
      fapi: { enabled: true, profile: (_ctx, client) => (isFapi2(client) ? '2.0' : undefined) },
      pushedAuthorizationRequests: { enabled: true },
      revocation: {
        enabled: true,
        // RFC 7009 §2.1: a client revokes its own tokens.
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      introspection: {
        enabled: true,
        allowedPolicy: mayIntrospect,
      },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: (ctx) =>
          pages.signOut(ctx, {
            action: '/oauth2/logout/confirm',
            xsrf: String((ctx.oidc.session?.state as { secret?: string } | undefined)?.secret),
          }),
        postLogoutSuccessSource: pages.signedOut,
      },
      // It is answered by user-info-routes.ts, as oidc-provider's own refuses tokens that are bound to an API.
      userinfo: { enabled: true },
      claimsParameter: { enabled: true, assertClaimsParameter: checkClaimsParameter },
      // Every access token is bound to the API or to one service, which makes it a JWT that services can verify themselves.
      resourceIndicators: {
        enabled: true,
        defaultResource(_ctx, client) {
          // There is no default for a service: it names the one that it will call (RFC 8707 §2).
          if (isService(client.clientId)) throw new errors.InvalidTarget();
          return api;
        },
        useGrantedResource: () => true,
        async getResourceServerInfo(ctx, resource, client) {
          if (!audiencesOf(client.clientId).includes(resource)) throw new errors.InvalidTarget();
          return {
            audience: resource,
            scope: (await allowedScopes(ctx)).join(' '),
            accessTokenFormat: 'jwt',
            accessTokenTTL: lifetimes.accessToken,
            jwt: { sign: { alg: accessTokenAlgorithm(client, options.accessTokenAlgorithm) } },
          } satisfies ResourceServer;
        },
      },
    },
    extraTokenClaims: (ctx, token) => accessTokenClaims(ctx, token),
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // A public client's refresh token works once (RFC 9700 §2.2.2); a confidential client's is extended when it is used.
    async rotateRefreshToken(ctx) {
      const { RefreshToken: token, Client: client, Grant: grant } = ctx.oidc.entities;
      if (token === undefined || client?.clientAuthMethod === 'none') return true;
      if (token.remainingTTL > lifetimes.refreshToken * EXTENDED_BELOW) return false;
      await options.store.extend('RefreshToken', token.jti, lifetimes.refreshToken);
      if (grant !== undefined) await options.store.extend('Grant', grant.jti, lifetimes.refreshToken + DAY);
      return false;
    },
    // A refresh token outlives the session's expiry, but not a sign-out (see authorization.success below).
    expiresWithSession: async () => false,
    loadExistingGrant,
    ttl: {
      AccessToken: lifetimes.accessToken,
      ClientCredentials: lifetimes.accessToken,
      AuthorizationCode: (_ctx, _code, client) => codeLifetime(client, lifetimes.code),
      IdToken: lifetimes.accessToken,
      Interaction: INTERACTION_SECONDS,
      Session: (_ctx, session) =>
        session.accountId === undefined ? ANONYMOUS_SESSION_SECONDS : lifetimes.session,
      // A grant must outlive what is issued under it.
      Grant: lifetimes.refreshToken + DAY,
      RefreshToken: (ctx) => ctx.oidc.entities.RotatedRefreshToken?.remainingTTL ?? lifetimes.refreshToken,
    },
    async findAccount(ctx, id, token) {
      const account = await accountsFor(ctx)(id);
      if (account === undefined || account.status !== 'active') return undefined;
      return signIns.areCurrent(ctx, account, token !== undefined) ? toProviderAccount(account) : undefined;
    },
    interactions: { url: (_ctx, interaction) => pages.interactionUrl(interaction), policy: signInPolicy() },
    clientBasedCORS: (_ctx, origin, client) => originsOf(client.redirectUris ?? []).includes(origin),
    renderError(ctx, out, error) {
      if (PAGE_ROUTES.has(ctx.oidc?.route)) pages.error(ctx, out, error);
      else {
        ctx.type = 'application/json';
        ctx.body = { error: out.error, error_description: out.error_description };
      }
    },
  };

  const permissionsOf = new WeakMap<object, ReturnType<typeof loadPermissions>>();
  for (const { configure } of options.extensions) configure?.(configuration);
  const provider = new Provider(issuer, configuration);
  for (const { attach } of options.extensions) attach?.(provider);
  acceptEndpointAliases(provider);
  const signIns = trackSignInEpochs(provider, options.browserId);
  trackConsentEpochs(provider);
  routeSignOuts(provider, options.signOuts);
  // The default compares with a client_secret in plain text, which we do not store.
  provider.Client.prototype.compareClientSecret = async function compare(this: { clientId: string }, secret) {
    const ofService = options.acceptsService(this.clientId, secret);
    if (ofService !== undefined) return ofService;
    const { ctx } = Provider;
    return options.applications.checkSecret(this.clientId, secret, ctx && requestInfo(ctx.req).address);
  };
  // The default looks for an earlier use and then stores this one, so that several at once pass.
  provider.ReplayDetection.unique = (issuer, jti, expiresAt) =>
    options.store.useOnce(`${issuer} ${jti}`, new Date((expiresAt + PROOF_WINDOW) * 1000));
  // Signing out ends what was issued in the session, although its expiry does not.
  provider.on('authorization.success', (ctx: KoaContextWithOIDC) => {
    const authorization = ctx.oidc.session?.authorizationFor(ctx.oidc.client?.clientId ?? '');
    if (authorization === undefined) return;
    authorization.persistsLogout = false;
    const own = authorization as { consentEpoch?: number; redirectUri?: string; grantId?: string };
    own.consentEpoch = consentEpochOf(ctx.oidc.client);
    const redirectUri = String(ctx.oidc.params?.redirect_uri);
    if (own.grantId === undefined || own.redirectUri === redirectUri) return;
    own.redirectUri = redirectUri;
    // Not awaited: it is shown to the person, and nothing depends on it.
    options.store
      .received(own.grantId, redirectUri)
      .catch((error) => provider.emit('server_error', ctx, error));
  });
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const { clientId } = ctx.oidc.client ?? {};
    if (clientId !== undefined && !isService(clientId))
      options.applications.used(clientId, requestInfo(ctx.req).address);
  });
  return provider;

  function isService(clientId: string): boolean {
    return clientId !== DASHBOARD_CLIENT && options.acceptsService(clientId, '') !== undefined;
  }

  /** A token is ended by the epochs in it; what else is asked, such as by introspection, has no such second look. */
  function accountsFor({ oidc }: KoaContextWithOIDC): AccountCache['find'] {
    return oidc.route === 'token' ? options.accountCache.find : options.accountCache.findNow;
  }

  /** What tokens of the client may be for: a service's, the services that it may call; any other's, the API. */
  function audiencesOf(clientId: string): readonly string[] {
    if (!isService(clientId)) return [api];
    return servicesCallableBy(clientId).map((service) => internalAudience(issuer, service));
  }

  /**
   * Read once for each token: it gets the epoch of the application from which it has its trust and its scopes, so that
   * whatever takes them away ends it.
   */
  async function loadPermissions(
    ctx: KoaContextWithOIDC,
    clientId: string,
  ): Promise<
    (OwnerPermissions<Account> & { application: Application; scopes: readonly string[] }) | undefined
  > {
    const application = await options.applications.find(clientId);
    if (application === undefined) return undefined;
    const permissions = await ownerPermissions(application, accountsFor(ctx));
    // RFC 6749 §5.2.
    if (!permissions.active) {
      throw new errors.UnauthorizedClient('the owner of this application has no active account');
    }
    return { ...permissions, application, scopes: permissions.within(application.scopes) };
  }

  /** What the application may do and under whom, loaded once for each request. */
  function permissions(ctx: KoaContextWithOIDC, clientId: string) {
    const known = permissionsOf.get(ctx.oidc) ?? loadPermissions(ctx, clientId);
    permissionsOf.set(ctx.oidc, known);
    return known;
  }

  /**
   * The scopes that a token for this request may have: those that the application may ask for, within the ceiling of
   * its owner and, once the person is known, of the person.
   */
  async function allowedScopes(ctx: KoaContextWithOIDC): Promise<readonly string[]> {
    const clientId = ctx.oidc.client?.clientId ?? '';
    if (clientId === ACCOUNT_CLIENT) return ['openid'];
    const scopes = isService(clientId)
      ? [INTERNAL_SCOPE]
      : clientId === DASHBOARD_CLIENT
        ? DASHBOARD_SCOPES
        : ((await permissions(ctx, clientId))?.scopes ?? []);
    if (ctx.oidc.params?.grant_type === 'client_credentials') applyDefaultScope(ctx, scopes);
    if (REQUEST_ROUTES.has(ctx.oidc.route)) requireKnownScope(ctx, scopes);
    const person = ctx.oidc.entities.Account as ProviderAccount | undefined;
    return person === undefined ? scopes : scopesFor(clientId, scopes, person.account);
  }

  /** A client may introspect its own tokens, and a resource server the access tokens of the API (RFC 7662 §2.1). */
  async function mayIntrospect(
    ctx: KoaContextWithOIDC,
    client: Client,
    token: AccessToken | ClientCredentials | RefreshToken,
  ): Promise<boolean> {
    if (client.clientAuthMethod === 'none') return false;
    if (token.clientId === client.clientId) return true;
    if (token.kind === 'RefreshToken' || token.aud !== api) return false;
    // The token of a login is of no application, and for nobody but us.
    if ((await options.applications.find(token.clientId ?? '')) === undefined) return false;
    return (await permissions(ctx, client.clientId))?.application.type === 'resource';
  }

  async function accessTokenClaims(
    ctx: KoaContextWithOIDC,
    token: { clientId?: string | undefined; accountId?: string; grantId?: string },
  ): Promise<Record<string, unknown> | undefined> {
    if (isService(token.clientId ?? '')) return { trusted: true, epoch: { client: 0 } };
    if (token.clientId === DASHBOARD_CLIENT) {
      const { account } = ctx.oidc.entities.Account as ProviderAccount;
      return { gid: token.grantId, roles: [account.role], epoch: { client: 0, subject: account.epoch } };
    }
    const permitted = await permissions(ctx, token.clientId ?? '');
    if (permitted === undefined) return undefined;
    const { owner, application } = permitted;
    const { AuthorizationCode: code, Client: issuedTo, Grant: grant } = ctx.oidc.entities;
    if (grant !== undefined && !isOfConsentEpoch(grant, application.consentEpoch)) {
      throw new errors.InvalidGrant('the application has another owner since');
    }
    if (code !== undefined && !issuedTo?.redirectUriAllowed(code.redirectUri ?? '')) {
      throw new errors.InvalidGrant('the redirect_uri is no longer registered');
    }
    if (token.accountId === undefined) return machineClaims(application, owner);
    const { account } = ctx.oidc.entities.Account as ProviderAccount;
    const roles = [roleByGrant(grant, roleIn({ owner }, account))];
    const epoch = { client: application.epoch, subject: account.epoch };
    return { ...pinnedProfiles(application), gid: token.grantId, roles, epoch, ...requestedOfUserInfo(ctx) };
  }

  /** The grant of this session, unless it has ended or is from before the account's current sign-in epoch. */
  async function loadExistingGrant(ctx: KoaContextWithOIDC) {
    const { account } = ctx.oidc.entities.Account as ProviderAccount;
    // oidc-provider checks it when a request comes, and not again when the person has signed in.
    if (!ctx.oidc.client?.redirectUriAllowed(String(ctx.oidc.params?.redirect_uri))) {
      throw new errors.InvalidRedirectUri();
    }
    const clientId = ctx.oidc.client?.clientId ?? '';
    // Only now is the person known: nobody should be asked to allow what their role cannot have.
    for (const server of Object.values(ctx.oidc.resourceServers ?? {})) {
      server.scope = scopesFor(clientId, parseScope(server.scope), account).join(' ');
    }
    const { params } = ctx.oidc;
    if (params?.scope !== undefined) {
      params.scope = scopesFor(clientId, parseScope(String(params.scope)), account).join(' ');
      if (params.scope === '')
        throw new errors.AccessDenied('the role of the person allows none of these scopes');
    }
    const id = ctx.oidc.result?.consent?.grantId ?? ctx.oidc.session?.grantIdFor(clientId);
    const grant = id === undefined ? undefined : await provider.Grant.find(id);
    const isAllowed = (it: Grant) => isOfConsentEpoch(it, consentEpochOf(ctx.oidc.client));
    if (grant !== undefined && isCurrent(grant, account) && isAllowed(grant)) {
      // Whatever its age, it must outlive what is issued now.
      if (grant.remainingTTL < lifetimes.refreshToken + DAY / 2) {
        await options.store.extend('Grant', grant.jti, lifetimes.refreshToken + DAY);
      }
      return grant;
    }
    if (!isFirstParty(clientId)) return undefined;
    // Our own pages need no consent.
    const own = stampGrant(
      new provider.Grant({ accountId: account.id, clientId }),
      account,
      ctx.oidc.session,
    );
    const scope = clientId === DASHBOARD_CLIENT ? DASHBOARD_SCOPES.join(' ') : 'openid';
    own.addOIDCScope(scope);
    own.addResourceScope(api, scope);
    await own.save();
    return own;
  }
}

/** The scopes of a list that a client may have for a person. Only the dashboard's tokens also manage applications. */
function scopesFor(clientId: string, scopes: readonly string[], { role }: Pick<Account, 'role'>): string[] {
  const within = withinCeiling(scopes, role);
  const manages = clientId === DASHBOARD_CLIENT && scopes.includes(MANAGE_APPS);
  return manages ? [...within, MANAGE_APPS] : within;
}

/** Over HTTPS with the prefix that keeps sibling domains from setting the cookie. */
function sessionCookieName(issuer: string): string {
  return issuer.startsWith('https:') ? '__Host-gatehouse_session' : 'gatehouse_session';
}

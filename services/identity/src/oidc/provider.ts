import { servicesCallableBy } from '@gatehouse/kit/services';
import {
  API_SCOPES,
  apiAudience,
  INTERNAL_SCOPE,
  internalAudience,
  OIDC_SCOPES,
  parseScope,
} from '@gatehouse/tokens/scopes';
import type { JWK } from 'jose';
import Provider, {
  type Configuration,
  type ErrorOut,
  errors,
  type Interaction,
  type KoaContextWithOIDC,
  type ResourceServer,
} from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import type { Application } from '../applications/application.ts';
import type { SigningAlgorithm } from '../keys/signing-keys.ts';
import { knowCalledAddress } from './called-address.ts';
import { ACCOUNT_CLIENT } from './client-metadata.ts';
import type { OidcStore } from './oidc-adapter.ts';
import { roleIn, type Standing, standingOf } from './owners.ts';
import { type Person, personOf, withinCeiling } from './person.ts';
import { isCurrent, keepSignInEpochs, signInPolicy, stamp } from './sign-in-epochs.ts';

/** In seconds. */
export type Lifetimes = {
  accessToken: number;
  code: number;
  /** Absolute for public clients, sliding for confidential ones. */
  refreshToken: number;
  /** How long a browser stays signed in without being used. */
  session: number;
};

export type ProviderOptions = {
  issuer: string;
  keys: { keys: JWK[] };
  /** For signing cookies. */
  cookieKey: string;
  accessTokenAlgorithm: SigningAlgorithm;
  lifetimes: Lifetimes;
  findApplication(id: string): Promise<Application | undefined>;
  /** Whether the secret is a live one of the application. */
  checkSecret(id: string, secret: string): Promise<boolean>;
  findAccount(id: string): Promise<Account | undefined>;
  /** Whether the secret is that of one of our own services; undefined when there is no such service. */
  acceptsService(id: string, secret: string): boolean | undefined;
  store: OidcStore;
  /** Whether applications in private networks are told of sign-outs, too. */
  tellPrivateNetworks: boolean;
  pages: ProviderPages;
};

/** What people see of what oidc-provider answers by itself. */
export type ProviderPages = {
  error(ctx: KoaContextWithOIDC, error: ErrorOut, thrown: Error): void;
  signOut(ctx: KoaContextWithOIDC, form: { action: string; xsrf: string }): void | Promise<void>;
  signedOut(ctx: KoaContextWithOIDC): void | Promise<void>;
  interactionUrl(interaction: Interaction): string;
};

const ALL_SCOPES = [...OIDC_SCOPES, ...API_SCOPES];
/** Where oidc-provider answers a person, not a program. */
const PAGE_ROUTES = new Set([
  'authorization',
  'resume',
  'end_session',
  'end_session_confirm',
  'end_session_success',
]);
const DAY = 86_400;
/** In an authorization request: whoever is signed in wants to be somebody else. */
export const ANOTHER_ACCOUNT = 'another_account';

/** oidc-provider, configured. Keys cannot be changed later: for a rotation, build another and swap. */
export function createProvider(options: ProviderOptions): Provider {
  const { issuer, lifetimes, pages } = options;
  const api = apiAudience(issuer);

  const configuration: Configuration = {
    adapter: options.store.adapterFor,
    jwks: options.keys,
    cookies: {
      keys: [options.cookieKey],
      names: {
        session: sessionCookieName(issuer),
        interaction: 'gatehouse_interaction',
        resume: 'gatehouse_resume',
      },
      long: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true },
      short: { signed: true, httpOnly: true, sameSite: 'lax', overwrite: true },
    },
    routes: {
      authorization: '/oauth2/authorize',
      token: '/oauth2/token',
      revocation: '/oauth2/revoke',
      introspection: '/oauth2/introspect',
      pushed_authorization_request: '/oauth2/par',
      end_session: '/oauth2/logout',
      jwks: '/.well-known/jwks.json',
    },
    // Scopes that are not named here would be granted to any client that asks.
    scopes: ALL_SCOPES,
    extraParams: [ANOTHER_ACCOUNT],
    claims: {
      openid: ['sub'],
      profile: ['name', 'given_name', 'family_name', 'picture', 'updated_at'],
      email: ['email', 'email_verified'],
    },
    responseTypes: ['code', 'id_token token', 'none'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' },
    discovery: { userinfo_endpoint: `${issuer}/userinfo` },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: true },
      pushedAuthorizationRequests: { enabled: true },
      backchannelLogout: { enabled: true },
      revocation: {
        enabled: true,
        // RFC 7009 §2.1: a client revokes its own tokens.
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      introspection: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) =>
          client.clientAuthMethod !== 'none' && token.clientId === client.clientId,
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
      userinfo: { enabled: false },
      // Every access token is for the API or for one service, and so is a JWT that services can verify by themselves.
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
            jwt: { sign: { alg: options.accessTokenAlgorithm } },
          } satisfies ResourceServer;
        },
      },
    },
    extraTokenClaims: (ctx, token) => accessTokenClaims(ctx, token),
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // A public client's refresh token serves once (RFC 9700 §2.2.2); a confidential one's lives on with every use.
    async rotateRefreshToken(ctx) {
      const { RefreshToken: token, Client: client } = ctx.oidc.entities;
      if (token === undefined || client?.clientAuthMethod === 'none') return true;
      await options.store.extend('RefreshToken', token.jti, lifetimes.refreshToken);
      if (token.grantId !== undefined) {
        await options.store.extend('Grant', token.grantId, lifetimes.refreshToken + DAY);
      }
      return false;
    },
    // A refresh token outlives the browser's session; signing out ends it (see authorization.success below).
    expiresWithSession: async () => false,
    loadExistingGrant,
    ttl: {
      AccessToken: lifetimes.accessToken,
      ClientCredentials: lifetimes.accessToken,
      AuthorizationCode: lifetimes.code,
      IdToken: lifetimes.accessToken,
      Interaction: 3600,
      // Somebody who has not signed in leaves nothing behind for long.
      Session: (_ctx, session) => (session.accountId === undefined ? 3600 : lifetimes.session),
      // A grant must outlive what is issued under it.
      Grant: lifetimes.refreshToken + DAY,
      RefreshToken: (ctx) => ctx.oidc.entities.RotatedRefreshToken?.remainingTTL ?? lifetimes.refreshToken,
    },
    async findAccount(ctx, id, token) {
      const account = await options.findAccount(id);
      if (account === undefined || account.status !== 'active') return undefined;
      return signIns.holds(ctx, account, token !== undefined) ? personOf(account) : undefined;
    },
    interactions: { url: (_ctx, interaction) => pages.interactionUrl(interaction), policy: signInPolicy() },
    // oidc-provider's own dispatcher refuses special-use addresses, so that nobody makes us call our neighbours.
    ...(options.tellPrivateNetworks ? { fetch: fetchAnywhere } : {}),
    clientBasedCORS: (_ctx, origin, client) =>
      (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin),
    renderError(ctx, out, error) {
      if (PAGE_ROUTES.has(ctx.oidc?.route)) pages.error(ctx, out, error);
      else {
        ctx.type = 'application/json';
        ctx.body = { error: out.error, error_description: out.error_description };
      }
    },
  };

  const standings = new WeakMap<object, Promise<Standing | undefined>>();
  const provider = new Provider(issuer, configuration);
  knowCalledAddress(provider);
  const signIns = keepSignInEpochs(provider);
  // The default compares with a client_secret in plain text, which we do not have.
  provider.Client.prototype.compareClientSecret = async function compare(this: { clientId: string }, secret) {
    const ofService = options.acceptsService(this.clientId, secret);
    if (ofService !== undefined) return ofService;
    return options.checkSecret(this.clientId, secret);
  };
  // Signing out ends what was issued in the session, although it does not end by itself with it.
  provider.on('authorization.success', (ctx: KoaContextWithOIDC) => {
    const authorization = ctx.oidc.session?.authorizationFor(ctx.oidc.client?.clientId ?? '');
    if (authorization !== undefined) authorization.persistsLogout = false;
  });
  return provider;

  function isService(clientId: string): boolean {
    return options.acceptsService(clientId, '') !== undefined;
  }

  /** What tokens of the client may be for: a service's, the services that it may call; any other's, the API. */
  function audiencesOf(clientId: string): readonly string[] {
    if (!isService(clientId)) return [api];
    return servicesCallableBy(clientId).map((service) => internalAudience(issuer, service));
  }

  /** Asked once for each request. */
  function standing(ctx: KoaContextWithOIDC, clientId: string): Promise<Standing | undefined> {
    let known = standings.get(ctx.oidc);
    if (known === undefined) {
      known = options
        .findApplication(clientId)
        .then((application) => application && standingOf(application, options.findAccount));
      standings.set(ctx.oidc, known);
    }
    return known;
  }

  /**
   * What a token for this request may hold at most: what the application may ask for, within its owner's ceiling
   * and, where a person is known, within theirs.
   */
  async function allowedScopes(ctx: KoaContextWithOIDC): Promise<readonly string[]> {
    const clientId = ctx.oidc.client?.clientId ?? '';
    if (clientId === ACCOUNT_CLIENT) return ['openid'];
    const scopes = isService(clientId) ? [INTERNAL_SCOPE] : ((await standing(ctx, clientId))?.scopes ?? []);
    if (ctx.oidc.params?.grant_type === 'client_credentials') settleScope(ctx, scopes);
    const person = ctx.oidc.entities.Account as Person | undefined;
    return person === undefined ? scopes : withinCeiling(scopes, person.account);
  }

  async function accessTokenClaims(
    ctx: KoaContextWithOIDC,
    token: { clientId?: string | undefined; accountId?: string; grantId?: string },
  ): Promise<Record<string, unknown> | undefined> {
    if (isService(token.clientId ?? '')) return { trusted: true, epoch: { client: 0 } };
    const application = await options.findApplication(token.clientId ?? '');
    if (application === undefined) return undefined;
    const { epoch: client, profiles, trusted } = application;
    const pinned = Object.keys(profiles).length === 0 ? {} : { profiles };
    const owner = trusted ? undefined : (await standing(ctx, application.id))?.owner;
    if (token.accountId !== undefined) {
      const { account } = ctx.oidc.entities.Account as Person;
      // In an application of somebody of a lesser role, whoever signs in has no more than that.
      const role = roleIn({ owner }, account);
      return {
        ...pinned,
        gid: token.grantId,
        roles: [role],
        epoch: { client, subject: account.epoch },
      };
    }
    if (owner === undefined) return { ...pinned, trusted: true, epoch: { client } };
    // Whoever is not trusted stands under their owner.
    return { ...pinned, owner: owner.id, roles: [owner.role], epoch: { client, subject: owner.epoch } };
  }

  /** The grant to go on with: the one of this session, unless it ended or the person has signed in anew since. */
  async function loadExistingGrant(ctx: KoaContextWithOIDC) {
    const { account } = ctx.oidc.entities.Account as Person;
    // Known only now: nobody is asked to allow what their role cannot have.
    for (const server of Object.values(ctx.oidc.resourceServers ?? {})) {
      server.scope = withinCeiling(parseScope(server.scope), account).join(' ');
    }
    const { params } = ctx.oidc;
    if (params?.scope !== undefined) {
      params.scope = withinCeiling(parseScope(String(params.scope)), account).join(' ');
    }
    const clientId = ctx.oidc.client?.clientId ?? '';
    const id = ctx.oidc.result?.consent?.grantId ?? ctx.oidc.session?.grantIdFor(clientId);
    const grant = id === undefined ? undefined : await provider.Grant.find(id);
    if (grant !== undefined && isCurrent(grant, account)) {
      // What is issued now must not outlive it, however old it is.
      if (grant.remainingTTL < lifetimes.refreshToken + DAY / 2) {
        await options.store.extend('Grant', grant.jti, lifetimes.refreshToken + DAY);
      }
      return grant;
    }
    if (clientId !== ACCOUNT_CLIENT) return undefined;
    // Our own pages need nobody's consent.
    const own = stamp(new provider.Grant({ accountId: account.id, clientId }), account);
    own.addOIDCScope('openid');
    own.addResourceScope(api, 'openid');
    await own.save();
    return own;
  }
}

/**
 * Without a scope, a machine is given all that its application may ask for (RFC 6749 §3.3). A scope beyond
 * that is refused here, since oidc-provider drops what it does not know in silence.
 */
function settleScope(ctx: KoaContextWithOIDC, allowed: readonly string[]): void {
  const { params } = ctx.oidc;
  if (params === undefined) return;
  const requested = parseScope(String(params.scope ?? ''));
  const refused = requested.filter((scope) => !allowed.includes(scope));
  if (refused.length > 0) {
    const named = refused.join(' ').slice(0, 100);
    throw new errors.InvalidScope(`this application may not ask for ${named}`, named);
  }
  if (requested.length === 0) params.scope = allowed.join(' ');
}

/** Without the dispatcher that refuses special-use addresses. */
const fetchAnywhere: typeof fetch = (input, init) => {
  const { dispatcher: _, ...rest } = (init ?? {}) as RequestInit & { dispatcher?: unknown };
  return fetch(input, rest);
};

/** Over HTTPS with the prefix by which browsers keep neighbours below the same domain from setting it. */
function sessionCookieName(issuer: string): string {
  return issuer.startsWith('https:') ? '__Host-gatehouse_session' : 'gatehouse_session';
}

import { requestInfo } from '@gatehouse/server/requests';
import { ACRS } from '@gatehouse/verify/sign-in';
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { LANGUAGES } from '../../texts/languages.ts';
import { originsOf } from '../applications/redirect-uris.ts';
import { ANONYMOUS_SESSION_SECONDS, INTERACTION_SECONDS } from '../limits/bounds.ts';
import { consumeWithTokens, deriveSuccessors } from './adapter/single-use.ts';
import { checkClaimsParameter } from './claims/claims-parameter.ts';
import { toProviderAccount } from './claims/provider-account.ts';
import { answerRequestedAcr } from './claims/requested-acr.ts';
import { ALL_SCOPES, OFFLINE_ACCESS } from './claims/scope-rules.ts';
import { CLAIMS_OF_SCOPES } from './claims/standard-claims.ts';
import { CLIENT_PROPERTIES, ID_TOKEN_PROFILE_CLAIMS, IS_UNKNOWN } from './clients/client-metadata.ts';
import { checkAssertion, codeLifetime, isFapi2, isFromTheFuture } from './clients/fapi.ts';
import { federatedClient } from './clients/federated-client.ts';
import { noteSecret } from './clients/noted-secret.ts';
import { acceptEndpointAliases } from './endpoint-aliases.ts';
import { consentEpochOf, trackConsentEpochs } from './epochs/consent-epochs.ts';
import { areSignInsCurrent, signInPolicy, trackSignInEpochs } from './epochs/sign-in-epochs.ts';
import { endDeviceWithoutSession, routeSignOuts } from './epochs/sign-outs.ts';
import { isDeviceRequest } from './first-party-grants.ts';
import { createGrants } from './grants.ts';
import { createPermissions, type Permissions } from './permissions.ts';
import { addAccountChoice, addDevicePrompt, ignoreUnknownPrompts, PROMPTS } from './prompts.ts';
import { ANOTHER_ACCOUNT, type ProviderOptions, type ProviderPages, SIGN_UP } from './provider-options.ts';
import { ROUTES } from './provider-routes.ts';
import { addStrength } from './strength.ts';

/** The routes at which oidc-provider answers people rather than programs. */
const PAGE_ROUTES = new Set([
  'authorization',
  'resume',
  'code_verification',
  'device_resume',
  'end_session',
  'end_session_confirm',
  'end_session_success',
]);
/**
 * How far in the future the iat of a DPoP proof may lie, in seconds. oidc-provider would forget the proof that much before it
 * is too old.
 */
const PROOF_WINDOW = 300;

/** oidc-provider, configured. Its keys cannot be changed: for a rotation, another one is built and swapped in. */
export function createProvider(options: ProviderOptions): Provider {
  const pages = options.extensions.find((it) => it.pages !== undefined)?.pages;
  if (pages === undefined) throw new Error('no feature has the pages of oidc-provider');
  const permissions = createPermissions(options);
  const configuration = configurationOf(options, permissions, pages);
  for (const { configure } of options.extensions) configure?.(configuration);
  const provider = new Provider(options.issuer, configuration);
  for (const { attach } of options.extensions) attach?.(provider, permissions.ofRequest);
  acceptEndpointAliases(provider);
  answerRequestedAcr(provider);
  ignoreUnknownPrompts(provider);
  trackSignInEpochs(provider, options.browserId);
  trackConsentEpochs(provider);
  routeSignOuts(provider, options.signOuts, pages.signedOut);
  endDeviceWithoutSession(provider, options.store);
  consumeWithTokens(provider);
  deriveSuccessors(provider, options.successorKey);
  compareSecretHashes(provider, options);
  // The default looks for an earlier use and then stores this one, so that several at once pass.
  provider.ReplayDetection.unique = (issuer, jti, expiresAt) =>
    options.store.useOnce(`${issuer} ${jti}`, new Date((expiresAt + PROOF_WINDOW) * 1000));
  noteAuthorizations(provider, options);
  redirectToKnownClients(provider);
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const { clientId } = ctx.oidc.client ?? {};
    // Also a client without a secret: its code or refresh token was valid.
    requestInfo(ctx.req).namedOnly = false;
    if (clientId !== undefined && !permissions.isService(clientId))
      options.applications.used(clientId, requestInfo(ctx.req).address);
  });
  return provider;
}

function configurationOf(
  options: ProviderOptions,
  permissions: Permissions,
  pages: ProviderPages,
): Configuration & { features: object } {
  const { issuer, lifetimes } = options;
  const grants = createGrants(options);
  const policy = signInPolicy();
  addStrength(policy, options);
  addAccountChoice(policy);
  addDevicePrompt(policy);
  return {
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
    // Of every sign-in, the ID token says how and when it was.
    claims: { ...structuredClone(CLAIMS_OF_SCOPES), openid: ['sub', 'acr', 'amr', 'auth_time'] },
    acrValues: [...ACRS],
    responseTypes: ['code', 'id_token token', 'none'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    pkce: { required: (_ctx, client) => client.clientAuthMethod === 'none' || isFapi2(client) },
    extraClientMetadata: { properties: CLIENT_PROPERTIES },
    async assertJwtClientAuthClaimsAndHeader(ctx, ...assertion) {
      checkAssertion(ctx, ...assertion);
      // Its signature was verified before.
      requestInfo(ctx.req).namedOnly = false;
    },
    // Said as plainly as request_uri_parameter_supported, which oidc-provider publishes by itself.
    discovery: {
      request_parameter_supported: false,
      ui_locales_supported: LANGUAGES,
      // OpenID Connect Initiating User Registration §4.2.
      prompt_values_supported: PROMPTS,
    },
    features: featuresOf(permissions, pages),
    extraTokenClaims: permissions.accessTokenClaims,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: grants.rotateRefreshToken,
    // A refresh token outlives the session's expiry, but not a sign-out (see core/sessions/session-ends.ts).
    expiresWithSession: async () => false,
    loadExistingGrant: grants.loadExisting,
    ttl: {
      AccessToken: lifetimes.accessToken,
      ClientCredentials: lifetimes.accessToken,
      AuthorizationCode: (_ctx, _code, client) => codeLifetime(client, lifetimes.code),
      IdToken: lifetimes.accessToken,
      Interaction: INTERACTION_SECONDS,
      Session: (_ctx, session) =>
        session.accountId === undefined ? ANONYMOUS_SESSION_SECONDS : lifetimes.session,
      Grant: grants.seconds,
      RefreshToken: (ctx) => ctx.oidc.entities.RotatedRefreshToken?.remainingTTL ?? lifetimes.refreshToken,
    },
    async findAccount(ctx, id, token) {
      if (token !== undefined) permissions.preload(ctx);
      const account = await options.accounts.find(id);
      if (account === undefined || account.status !== 'active') return undefined;
      if (!areSignInsCurrent(ctx, account, token !== undefined)) return undefined;
      return toProviderAccount(account, { hasProfile: ctx.oidc.client?.[ID_TOKEN_PROFILE_CLAIMS] === true });
    },
    interactions: {
      url: (_ctx, interaction) => pages.interactionUrl(interaction),
      policy,
    },
    clientBasedCORS: (_ctx, origin, client) => originsOf(client.redirectUris ?? []).includes(origin),
    renderError(ctx, out, error) {
      if (PAGE_ROUTES.has(ctx.oidc?.route)) pages.error(ctx, out, error);
      else {
        ctx.type = 'application/json';
        ctx.body = { error: out.error, error_description: out.error_description };
      }
    },
  };
}

/** The features of oidc-provider beyond the code flow. */
function featuresOf(permissions: Permissions, pages: ProviderPages): NonNullable<Configuration['features']> {
  return {
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
      allowedPolicy: permissions.mayIntrospect,
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
      defaultResource: (_ctx, client) => permissions.defaultResource(client),
      useGrantedResource: () => true,
      getResourceServerInfo: permissions.resourceServer,
    },
  };
}

/** The default compares with a client_secret in plain text, which we do not store. */
function compareSecretHashes(
  provider: Provider,
  { acceptsService, applications }: Pick<ProviderOptions, 'acceptsService' | 'applications'>,
): void {
  provider.Client.prototype.compareClientSecret = async function compare(this: { clientId: string }, secret) {
    const { ctx } = Provider;
    const info = ctx && requestInfo(ctx.req);
    const isFederated = ctx !== undefined && federatedClient(ctx, this.clientId)?.secret === secret;
    const ofService = isFederated || acceptsService(this.clientId, secret);
    const found =
      ofService === undefined
        ? await applications.checkSecret(this.clientId, secret, info?.address)
        : undefined;
    if (ctx !== undefined && found !== undefined) noteSecret(ctx, found);
    const isValid = ofService ?? found !== undefined;
    if (isValid && info !== undefined) info.namedOnly = false;
    return isValid;
  };
}

/**
 * Errors go to a client that nobody here knows only where somebody is signed in or has seen a page: anybody could make such a client,
 * and with it a link to us that leads elsewhere (RFC 9700 §4.11.2).
 */
function redirectToKnownClients(provider: Provider): void {
  provider.on('authorization.error', (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
    const { route, client, session } = ctx.oidc;
    if (route !== 'authorization' || client?.[IS_UNKNOWN] !== true || session?.accountId !== undefined)
      return;
    // oidc-provider reads it after this event.
    Object.assign(error, { allow_redirect: false });
    ctx.status = 400;
  });
}

/** Records in the session and the grant which tokens an application was issued, and to which redirect URI. */
function noteAuthorizations(provider: Provider, { store }: Pick<ProviderOptions, 'store'>): void {
  provider.on('authorization.success', (ctx: KoaContextWithOIDC) => {
    const authorization = ctx.oidc.session?.authorizationFor(ctx.oidc.client?.clientId ?? '');
    if (authorization === undefined || isDeviceRequest(ctx)) return;
    const own = authorization as { consentEpoch?: number; redirectUri?: string; grantId?: string };
    own.consentEpoch = consentEpochOf(ctx.oidc.client);
    const redirectUri = String(ctx.oidc.params?.redirect_uri);
    if (own.grantId === undefined || own.redirectUri === redirectUri) return;
    own.redirectUri = redirectUri;
    // Not awaited: it is shown to the person, and nothing depends on it.
    store.received(own.grantId, redirectUri).catch((error) => provider.emit('server_error', ctx, error));
  });
}

/** Over HTTPS with the prefix that keeps sibling domains from setting the cookie. */
function sessionCookieName(issuer: string): string {
  return issuer.startsWith('https:') ? '__Host-gatehouse_session' : 'gatehouse_session';
}

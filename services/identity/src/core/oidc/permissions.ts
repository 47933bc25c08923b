import { servicesCallableBy } from '@gatehouse/core/services';
import {
  apiAudience,
  INTERNAL_SCOPE,
  internalAudience,
  MANAGE_APPS,
  parseScope,
  REVOCATIONS_READ,
  SSF_MANAGE,
  SSF_READ,
} from '@gatehouse/tokens/scopes';
import { type Client, errors, type KoaContextWithOIDC, type ResourceServer } from 'oidc-provider';
import type { Account } from '../accounts/account.ts';
import type { Application } from '../applications/application.ts';
import { credentialPermissions, ownerPermissions, roleIn, withinCeiling } from '../applications/ownership.ts';
import { signingKeyId } from '../applications/public-keys.ts';
import type { NewCredential } from '../revocations/revocations.ts';
import { requestedOfUserInfo } from './claims/claims-parameter.ts';
import type { ProviderAccount } from './claims/provider-account.ts';
import { ALL_SCOPES, applyDefaultScope, requireKnownScope } from './claims/scope-rules.ts';
import { machineClaims, pinnedProfiles } from './clients/client-credentials.ts';
import {
  ACCOUNT_CLIENT,
  CLI_CLIENT,
  DASHBOARD_CLIENT,
  isFirstParty,
  managesApplications,
} from './clients/client-metadata.ts';
import { accessTokenAlgorithm } from './clients/fapi.ts';
import { federatedClient, withinIssuer } from './clients/federated-client.ts';
import { notedSecret } from './clients/noted-secret.ts';
import { isOfConsentEpoch, roleByGrant, scopesOf } from './epochs/consent-epochs.ts';
import { introspectionRule } from './introspection-rule.ts';
import type { ProviderOptions, RequestPermissions } from './provider-options.ts';

/** The scopes of the first-party clients that act for people. */
export const FIRST_PARTY_SCOPES = [...ALL_SCOPES, MANAGE_APPS];
const SSF_SCOPES: readonly string[] = [SSF_MANAGE, SSF_READ];
/** The routes at which authorization requests arrive. */
const REQUEST_ROUTES = new Set(['authorization', 'pushed_authorization_request', 'device_authorization']);

/** The length of the longest identifier that can be registered. */
const MAX_SHOWN = 500;

/** The permissions of clients, and the contents of their access tokens. */
export type Permissions = ReturnType<typeof createPermissions>;

type PermissionOptions = Pick<
  ProviderOptions,
  | 'issuer'
  | 'accessTokenAlgorithm'
  | 'lifetimes'
  | 'applications'
  | 'accounts'
  | 'acceptsService'
  | 'authority'
  | 'findResource'
  | 'callerOfHandle'
  | 'noteIssued'
>;

type IssuedToken = {
  clientId?: string | undefined;
  accountId?: string;
  grantId?: string;
  resourceServer?: ResourceServer | undefined;
};

/** Finds out what the client of a request may do: as an application, as one of our services, or as our own pages. */
export function createPermissions(options: PermissionOptions) {
  const { issuer } = options;
  const api = apiAudience(issuer);
  const { permissions, credentialOf } = createRequestPermissions(options);
  const { isService, audiencesOf, defaultResource } = createAudiences(options, api);

  /**
   * The scopes that a token for this request may have: those that the application may ask for, within the ceiling of
   * its owner and, once the person is known, of the person.
   */
  async function allowedScopes(ctx: KoaContextWithOIDC): Promise<readonly string[]> {
    const clientId = ctx.oidc.client?.clientId ?? '';
    if (clientId === ACCOUNT_CLIENT) return ['openid'];
    const scopes = isService(clientId)
      ? [INTERNAL_SCOPE]
      : managesApplications(clientId)
        ? FIRST_PARTY_SCOPES
        : ofItself(ctx, withStreamScopes(ctx, await permissions(ctx, clientId)));
    if (ctx.oidc.params?.grant_type === 'client_credentials') applyDefaultScope(ctx, scopes);
    // Only who the person is: an application gets nothing that it did not ask for.
    const byDefault = scopes.filter((scope) => scope === 'openid');
    if (REQUEST_ROUTES.has(ctx.oidc.route)) requireKnownScope(ctx, byDefault);
    const person = ctx.oidc.entities.Account as ProviderAccount | undefined;
    return person === undefined ? scopes : scopesFor(clientId, scopes, person.account);
  }

  async function accessTokenClaims(
    ctx: KoaContextWithOIDC,
    token: IssuedToken,
  ): Promise<Record<string, unknown> | undefined> {
    if (isService(token.clientId ?? '')) return { trusted: true, epoch: { client: 0 } };
    const isForOthers = token.resourceServer !== undefined && token.resourceServer.audience !== api;
    if (managesApplications(token.clientId ?? '')) {
      const { account } = ctx.oidc.entities.Account as ProviderAccount;
      const epoch = { client: 0, subject: account.epoch };
      if (isForOthers) await noteIssued(options, token, { subject: account.id, epoch });
      const roles = isForOthers ? undefined : [account.role];
      return { gid: token.grantId, roles, epoch, ...authenticationOf(ctx) };
    }
    const permitted = await permissions(ctx, token.clientId ?? '');
    if (permitted === undefined) return undefined;
    const { owner, application } = permitted;
    const { Grant: grant } = ctx.oidc.entities;
    requireConsentInForce(ctx, application);
    if (token.accountId === undefined) {
      const { id } = await credentialOf(ctx, application);
      const grantId = federatedClient(ctx, application.id)?.grantId;
      const claims = { ...machineClaims(application, permitted, id), gid: grantId };
      return isForOthers ? forOthers(options, token, claims, owner?.id) : claims;
    }
    const { account } = ctx.oidc.entities.Account as ProviderAccount;
    const [epoch, gid] = [{ client: application.epoch, subject: account.epoch }, token.grantId];
    // Roles and profiles are those of our API.
    if (isForOthers) {
      await noteIssued(options, token, { subject: account.id, epoch });
      return { gid, epoch, ...authenticationOf(ctx) };
    }
    const roles = [roleByGrant(grant, roleIn({ owner }, account))];
    const ofSignIn = { ...authenticationOf(ctx), ...requestedOfUserInfo(ctx) };
    return { ...pinnedProfiles(application), gid, roles, epoch, ...ofSignIn };
  }

  /** The audience and the scopes of a resource of somebody else. */
  async function ofOthers(ctx: KoaContextWithOIDC, resource: string, client: Client) {
    const { clientId } = client;
    if (clientId === CLI_CLIENT) return resourceOfPerson(options.findResource, ctx, resource);
    const isOfOthers = !isService(clientId) && !isFirstParty(clientId);
    // The owner's account must be active, whatever the token is for.
    const { application, givenBy } = (isOfOthers && (await permissions(ctx, clientId))) || {};
    const isOfMember = givenBy !== undefined;
    return resourceOfOthers(options.findResource, ctx, { resource, application, isOfMember });
  }

  /** The format of an access token for a resource: a JWT for the API or for one service, which these can verify themselves. */
  async function resourceServer(
    ctx: KoaContextWithOIDC,
    resource: string,
    client: Client,
  ): Promise<ResourceServer> {
    const { clientId } = client;
    const isOurs = audiencesOf(clientId).includes(resource);
    const own = isService(clientId) || isFirstParty(clientId) ? undefined : await permissions(ctx, clientId);
    requireStreamOfWeb(ctx, own?.application.type, isOurs);
    const { audience, scopes } = isOurs
      ? { audience: resource, scopes: await allowedScopes(ctx) }
      : await ofOthers(ctx, resource, client);
    return {
      audience,
      scope: scopes.join(' '),
      accessTokenFormat: 'jwt',
      accessTokenTTL: options.lifetimes.accessToken,
      jwt: { sign: { alg: accessTokenAlgorithm(client, options.accessTokenAlgorithm) } },
    };
  }

  /** Begins to read the owner of the application, at the same time as the person for whom it gets a token. */
  function preload(ctx: KoaContextWithOIDC): void {
    const { clientId = '' } = ctx.oidc.client ?? {};
    if (isFirstParty(clientId) || isService(clientId)) return;
    // It is thrown where the permissions are needed, after the errors of the person.
    permissions(ctx, clientId).catch(() => {});
  }

  const mayIntrospect = introspectionRule(options, { audiencesOf, permissions });

  return {
    ...{ ofRequest: permissions, isService, preload, mayIntrospect },
    ...{ accessTokenClaims, defaultResource, resourceServer },
  };
}

/** The claims of a machine's token for a resource of somebody else, which is noted. */
async function forOthers<C extends { epoch: NewCredential['epoch']; gid?: string | undefined }>(
  options: Parameters<typeof noteIssued>[0],
  token: IssuedToken,
  claims: C,
  subject: string | undefined,
) {
  const { epoch, gid } = claims;
  await noteIssued(options, token, { subject, epoch, grantId: gid });
  // Roles, profiles and credentials are those of our API; a member who gave the credential concerns all.
  return { ...claims, credential_id: undefined, roles: undefined, profiles: undefined };
}

/** A resource of somebody else hears of what ends its tokens (see core/revocations). */
async function noteIssued(
  options: Pick<PermissionOptions, 'findResource' | 'noteIssued' | 'lifetimes'>,
  { clientId = '', grantId, resourceServer }: IssuedToken,
  of: Pick<NewCredential, 'subject' | 'epoch' | 'grantId'>,
): Promise<void> {
  const resource = await options.findResource(resourceServer?.audience ?? '');
  if (resource === undefined) throw new errors.InvalidTarget();
  const expiresAt = new Date(Date.now() + (options.lifetimes.accessToken + 1) * 1000);
  await options.noteIssued({ grantId, ...of, resource: resource.id, clientId }, expiresAt);
}

const isForItself = ({ oidc }: KoaContextWithOIDC) => oidc.params?.grant_type === 'client_credentials';
const requestedScopes = ({ oidc }: KoaContextWithOIDC) => parseScope(String(oidc.params?.scope ?? ''));
const requestsStream = (ctx: KoaContextWithOIDC) =>
  requestedScopes(ctx).some((it) => SSF_SCOPES.includes(it));

/** The scopes of a list that a token of an issuer may give to an application for itself; what people give is not bounded by it. */
function ofItself(ctx: KoaContextWithOIDC, scopes: readonly string[]): readonly string[] {
  return isForItself(ctx) ? withinIssuer(ctx, ctx.oidc.client?.clientId, scopes) : scopes;
}

/** A web application or a machine gets the scopes of its event stream for itself, if it names them. */
function withStreamScopes(
  ctx: KoaContextWithOIDC,
  { application, scopes = [] }: { application?: Application; scopes?: readonly string[] } = {},
): readonly string[] {
  const mayHave = isForItself(ctx) && /^(?:web|machine)$/.test(application?.type ?? '');
  return mayHave && requestsStream(ctx) ? [...scopes, ...SSF_SCOPES] : scopes;
}

/** An application that people sign in to has no rights of its own, except for its event stream. Throws `unauthorized_client`. */
function requireStreamOfWeb(ctx: KoaContextWithOIDC, type: Application['type'] | undefined, isOurs: boolean) {
  if (type !== 'web' || !isForItself(ctx)) return;
  const isOfStream = requestedScopes(ctx).every((it) => SSF_SCOPES.includes(it)) && requestsStream(ctx);
  if (isOurs && isOfStream) return;
  const only = `an application of type web gets tokens for itself with the scopes ${SSF_SCOPES.join(' and ')} only`;
  throw new errors.UnauthorizedClient(only);
}

/** The permissions of the applications of requests, and of their owners. */
function createRequestPermissions(options: PermissionOptions) {
  const permissionsOf = new WeakMap<object, ReturnType<typeof loadPermissions>>();

  /**
   * Read once for each token: it gets the epoch of the application from which it has its trust and its scopes, so that
   * whatever takes them away ends it.
   */
  async function loadPermissions(ctx: KoaContextWithOIDC, clientId: string): ReturnType<RequestPermissions> {
    const application = await options.applications.find(clientId);
    if (application === undefined) return undefined;
    const permissions =
      isForItself(ctx) || application.type === 'machine' || application.type === 'resource'
        ? await credentialPermissions(application, await credentialOf(ctx, application), {
            ...{ authority: options.authority, findOwner: options.accounts.find },
          })
        : await ownerPermissions(application, options.accounts.find);
    // RFC 6749 §5.2.
    if (permissions?.active !== true) {
      throw new errors.UnauthorizedClient('the owner of this application has no active account');
    }
    const scopes =
      application.type === 'resource' ? [REVOCATIONS_READ] : permissions.within(application.scopes);
    return { ...permissions, application, scopes };
  }

  /** The credential by which the machine has authenticated. */
  async function credentialOf(ctx: KoaContextWithOIDC, { id, jwks, jwksGiven }: Application) {
    const federated = federatedClient(ctx, id);
    if (federated !== undefined) return { kind: 'federated_credential', ...federated.credential } as const;
    if (jwks !== undefined) {
      const keyId = await signingKeyId(id, jwks, String(ctx.oidc.params?.client_assertion));
      return { kind: 'public_keys', id: keyId, given: jwksGiven } as const;
    }
    const secret = notedSecret(ctx);
    return { kind: 'client_secret', id: secret?.id, given: secret?.given } as const;
  }

  /** The permissions of the application and its owner, loaded once for each request. */
  function permissions(ctx: KoaContextWithOIDC, clientId: string) {
    const known = permissionsOf.get(ctx.oidc) ?? loadPermissions(ctx, clientId);
    permissionsOf.set(ctx.oidc, known);
    return known;
  }

  return { permissions, credentialOf };
}

function createAudiences(
  { acceptsService, issuer }: Pick<PermissionOptions, 'acceptsService' | 'issuer'>,
  api: string,
) {
  function isService(clientId: string): boolean {
    return clientId !== DASHBOARD_CLIENT && acceptsService(clientId, '') !== undefined;
  }

  /** The resources that tokens of the client may be for: of a service, the services that it may call; of any other client, the API. */
  function audiencesOf(clientId: string): readonly string[] {
    if (!isService(clientId)) return [api];
    return servicesCallableBy(clientId).map((service) => internalAudience(issuer, service));
  }

  /** There is no default for a service: it names the one that it will call (RFC 8707 §2). */
  function defaultResource(client: Client): string {
    if (isService(client.clientId)) throw new errors.InvalidTarget();
    return api;
  }

  return { isService, audiencesOf, defaultResource };
}

/** Throws `invalid_grant` if the consent was given for another owner, or for a redirect URI that is gone. */
function requireConsentInForce({ oidc }: KoaContextWithOIDC, application: Application): void {
  const { AuthorizationCode: code, Client: issuedTo, Grant: grant } = oidc.entities;
  if (grant !== undefined && !isOfConsentEpoch(grant, application.consentEpoch)) {
    throw new errors.InvalidGrant('the application has another owner since: ask the person again');
  }
  if (code !== undefined && !issuedTo?.redirectUriAllowed(code.redirectUri ?? '')) {
    throw new errors.InvalidGrant('the redirect_uri is no longer registered');
  }
}

async function resourceOfOthers(
  findResource: PermissionOptions['findResource'],
  ctx: KoaContextWithOIDC,
  {
    resource,
    application,
    isOfMember,
  }: { resource: string; application: Application | undefined; isOfMember: boolean },
) {
  const isMachine = ctx.oidc.params?.grant_type === 'client_credentials';
  const found = application && (await findResource(resource, { ...application, isMachine, isOfMember }));
  if (found === undefined) throw new errors.InvalidTarget(unavailable(resource));
  const { Grant: grant } = ctx.oidc.entities;
  const scopes = ofItself(ctx, scopesOf(found, resource, grant));
  if (scopes.length === 0 && isMachine)
    throw new errors.InvalidScope('there is no scope that it may have', '');
  if (scopes.length === 0 && grant?.getResourceScope(resource) !== '') {
    throw new errors.InvalidGrant('the resource has changed since: ask the person again');
  }
  if (isMachine) applyDefaultScope(ctx, scopes);
  if (REQUEST_ROUTES.has(ctx.oidc.route)) requireKnownScope(ctx, scopes, [...scopes, ...ALL_SCOPES]);
  return { audience: found.identifier, scopes };
}

/** A resource that the person owns, once it is known who they are: what they allow the command line is theirs already. */
async function resourceOfPerson(
  findResource: PermissionOptions['findResource'],
  ctx: KoaContextWithOIDC,
  resource: string,
) {
  const found = await findResource(resource);
  const { account } = (ctx.oidc.entities.Account ?? {}) as Partial<ProviderAccount>;
  if (found === undefined || (account !== undefined && account.id !== found.owner)) {
    throw new errors.InvalidTarget(unavailable(resource));
  }
  const scopes = found.scopes.map(({ name }) => name);
  if (REQUEST_ROUTES.has(ctx.oidc.route)) requireKnownScope(ctx, scopes, [...scopes, ...ALL_SCOPES]);
  return { audience: found.identifier, scopes };
}

/** One sentence for all reasons, since client IDs are public: a sentence for each would tell strangers which URLs are registered. */
function unavailable(resource: string): string {
  // The characters of an error_description are limited (RFC 6749 §4.1.2.1).
  const url = new URL(resource).href.slice(0, MAX_SHOWN).replaceAll(/[ "\\]/g, encodeURIComponent);
  return `this application gets no tokens for ${url}: the owner of this API has to register it, list the application there, or serve metadata that names this issuer`;
}

/** How and when the person signed in (RFC 9470 §6.1), which a refresh does not change; see keepConfirmedTimes. */
function authenticationOf({ oidc }: KoaContextWithOIDC) {
  const { AuthorizationCode, DeviceCode, RefreshToken } = oidc.entities;
  const { acr, authTime } = AuthorizationCode ??
    DeviceCode ??
    RefreshToken ?? { acr: oidc.acr, authTime: oidc.session?.authTime() };
  return { acr, auth_time: authTime };
}

/** The scopes of a list that a client may have for a person. Only first-party tokens also manage applications. */
export function scopesFor(
  clientId: string,
  scopes: readonly string[],
  { role }: Pick<Account, 'role'>,
): string[] {
  const within = withinCeiling(scopes, role);
  const manages = managesApplications(clientId) && scopes.includes(MANAGE_APPS);
  return manages ? [...within, MANAGE_APPS] : within;
}

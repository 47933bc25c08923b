import { requestInfo } from '@gatehouse/server/requests';
import { apiAudience, parseScope } from '@gatehouse/tokens/scopes';
import type { Context } from 'koa';
import type { Account } from '../../accounts/account.ts';
import type { AccountCache } from '../../accounts/account-cache.ts';
import {
  type Application,
  type ClientSecret,
  findSecret,
  grantTypesOf,
} from '../../applications/application.ts';
import type { Applications } from '../../applications/applications.ts';
import { credentialPermissions, type OwnerPermissions } from '../../applications/ownership.ts';
import type { Authority } from '../../authority/authority.ts';
import type { TokenSigning } from '../../tokens/token-signing.ts';
import { federatedClient } from './federated-client.ts';

/** The parameters that a token request may have to be handled here. */
const PARAMETERS = new Set(['grant_type', 'scope', 'client_id', 'client_secret']);
/** Headers to which oidc-provider responds: CORS, DPoP (RFC 9449), and attestations of clients. */
const HEADERS = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'];
/** The credentials of HTTP Basic, where nothing in them is percent-encoded (RFC 6749 §2.3.1). */
const PLAIN_BASIC = /^Basic ([A-Za-z0-9+/]+={0,2})$/;
const PLAIN_CREDENTIALS = /^([\w-]+):([\w-]+)$/;

/** The claim of the profiles that an application has pinned, if any. */
export function pinnedProfiles({ profiles }: Pick<Application, 'profiles'>): { profiles?: object } {
  return Object.keys(profiles).length === 0 ? {} : { profiles };
}

/** The claims of a token that an application has for itself, by one of its credentials: under its owner, or trusted. */
export function machineClaims(
  application: Pick<Application, 'epoch' | 'profiles'>,
  {
    owner,
    givenBy,
  }: Pick<OwnerPermissions<Pick<Account, 'id' | 'role' | 'status' | 'epoch'>>, 'owner' | 'givenBy'>,
  credentialId: string | undefined,
): Record<string, unknown> & { epoch: { client: number; subject?: number } } {
  const { epoch: client } = application;
  const of =
    owner === undefined
      ? { trusted: true, epoch: { client } }
      : { owner: owner.id, roles: [owner.role], epoch: { client, subject: owner.epoch } };
  return { ...pinnedProfiles(application), ...of, given_by: givenBy, credential_id: credentialId };
}

/**
 * Issues access tokens for client credentials (RFC 6749 §4.4) in the plain case: an application authenticates with its secret, or
 * has done so by a token of a trusted issuer, and asks for a bearer token for the API. That is the whole traffic of most machines, and takes a fraction of the time that it
 * takes in oidc-provider, which has to be ready for everything.
 *
 * The function resolves to whether it has answered the request. What it has not answered, such as every request that is to be
 * refused, goes on to oidc-provider, as if this did not exist. It throws `unavailable` like oidc-provider.
 */
export function createClientCredentials(options: {
  issuer: string;
  /** In seconds. */
  lifetime: number;
  applications: Pick<Applications, 'find' | 'secretUsed' | 'used'>;
  accountCache: Pick<AccountCache, 'find'>;
  authority: Pick<Authority<Account>, 'giverOf'>;
  signing: Pick<TokenSigning, 'signer'>;
  onTokenIssued(clientId: string): void;
}): (ctx: Context, form: URLSearchParams) => Promise<boolean> {
  const { lifetime, applications, authority } = options;
  const findOwner = options.accountCache.find;
  const audience = apiAudience(options.issuer);
  return async (ctx, form) => {
    const credentials = plainCredentials(ctx, form);
    if (credentials === undefined) return false;
    const { id, secret } = credentials;
    const application = await applications.find(id);
    if (application === undefined || !isPlainMachine(application)) return false;
    const federated = federatedClient(ctx, id);
    const found = federated === undefined ? findPlainSecret(application, secret) : federated.credential;
    if (found === undefined) return false;
    const kind = federated === undefined ? 'client_secret' : 'federated_credential';
    const by = { kind, given: found.given } as const;
    const permissions = await credentialPermissions(application, by, { authority, findOwner });
    if (permissions?.active !== true) return false;
    const bound = federated?.scopes ?? application.scopes;
    const allowed = permissions.within(application.scopes.filter((scope) => bound.includes(scope)));
    const asked = form.get('scope') ?? '';
    const scopes = asked === '' ? allowed : parseScope(asked);
    const isPlain = asked === '' || asked === scopes.join(' ');
    if (scopes.length === 0 || !isPlain || !scopes.every((scope) => allowed.includes(scope))) return false;
    const info = requestInfo(ctx.req);
    const scope = scopes.join(' ');
    const claims = { ...machineClaims(application, permissions, found.id), gid: federated?.grantId };
    const draft = { subject: id, clientId: id, audience, scope, lifetime, claims };
    const { token } = await options.signing.signer()(draft);
    if (federated === undefined) applications.secretUsed(id, found.id, info.address);
    applications.used(id, info.address);
    options.onTokenIssued(id);
    info.client = id;
    ctx.set('cache-control', 'no-store');
    ctx.body = { access_token: token, expires_in: lifetime, scope, token_type: 'Bearer' };
    return true;
  };
}

/** The credentials of a request that asks for nothing else, and sends them in one way. */
function plainCredentials(ctx: Context, form: URLSearchParams): { id: string; secret: string } | undefined {
  if (form.get('grant_type') !== 'client_credentials') return undefined;
  if (HEADERS.some((name) => ctx.req.headers[name] !== undefined)) return undefined;
  const names = [...form.keys()];
  if (names.some((name) => !PARAMETERS.has(name)) || new Set(names).size < names.length) return undefined;
  const { authorization } = ctx.req.headers;
  const id = form.get('client_id');
  const secret = form.get('client_secret');
  if (authorization === undefined) return id && secret ? { id, secret } : undefined;
  const [, encoded = ''] = PLAIN_BASIC.exec(authorization) ?? [];
  const [, basicId, basicSecret] =
    PLAIN_CREDENTIALS.exec(Buffer.from(encoded, 'base64').toString('latin1')) ?? [];
  if (basicId === undefined || basicSecret === undefined) return undefined;
  return secret === null && (id === null || id === basicId)
    ? { id: basicId, secret: basicSecret }
    : undefined;
}

/** Whether the application gets tokens for itself that are bound to nothing. */
function isPlainMachine(application: Application): boolean {
  const { dpopBound, securityProfile } = application;
  const isBound = dpopBound || securityProfile !== undefined;
  return !isBound && grantTypesOf(application).includes('client_credentials');
}

/** The secret of an application that authenticates with one. */
function findPlainSecret(application: Application, secret: string): ClientSecret | undefined {
  return application.jwks === undefined ? findSecret(application, secret) : undefined;
}

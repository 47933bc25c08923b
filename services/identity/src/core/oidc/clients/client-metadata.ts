import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { DASHBOARD } from '@gatehouse/core/services';
import { API_SCOPES, OIDC_SCOPES } from '@gatehouse/tokens/scopes';
import Provider, { type AdapterPayload } from 'oidc-provider';
import {
  type Application,
  DEVICE_CODE_GRANT,
  grantTypesOf,
  isConfidential,
  signsPeopleIn,
  TOKEN_EXCHANGE_GRANT,
} from '../../applications/application.ts';
import type { Applications } from '../../applications/applications.ts';
import { OFFLINE_ACCESS } from '../claims/scope-rules.ts';
import { SECURITY_PROFILE } from './fapi.ts';
import { federatedClient } from './federated-client.ts';
import { isMetadataDocumentId } from './metadata-document-id.ts';

/** oidc-provider requires one of a confidential client; secrets are compared with their hashes elsewhere. */
const KEPT_AS_HASH = 'kept as a hash';

/** The name of an application's consent epoch in the metadata of its client. */
export const CONSENT_EPOCH = 'consent_epoch';

/** The name of that setting of an application in the metadata of its client. */
export const REQUIRE_SECOND_FACTOR = 'require_second_factor';

/** Whether its ID tokens have the claims of the scope profile, in the metadata of its client. */
export const ID_TOKEN_PROFILE_CLAIMS = 'id_token_profile_claims';

/** Whether nobody here is known to trust a client; a field of its metadata. */
export const IS_UNKNOWN = 'is_unknown';

/** The metadata of clients that are ours. */
export const CLIENT_PROPERTIES = [
  ...[SECURITY_PROFILE, CONSENT_EPOCH, REQUIRE_SECOND_FACTOR, ID_TOKEN_PROFILE_CLAIMS, IS_UNKNOWN],
];

/** An application as oidc-provider wants to see a client (RFC 7591 §2). */
export function clientMetadata(application: Application): AdapterPayload {
  const { type, legacyImplicit, jwks, backchannelLogoutUri, securityProfile } = application;
  const ofPeople = signsPeopleIn(application);
  const { ctx } = Provider;
  const isFederated = ctx !== undefined && federatedClient(ctx, application.id) !== undefined;
  const method = !isConfidential(application)
    ? 'none'
    : jwks === undefined || isFederated
      ? 'client_secret_post'
      : 'private_key_jwt';
  return {
    client_id: application.id,
    client_name: application.name,
    application_type: type === 'native' ? 'native' : 'web',
    token_endpoint_auth_method: method,
    ...(method === 'client_secret_post' ? { client_secret: KEPT_AS_HASH } : {}),
    ...(jwks?.uri === undefined ? omitUndefined({ jwks }) : { jwks_uri: jwks.uri }),
    grant_types: [
      ...grantTypesOf(application),
      ...(hasEventStream(application) ? ['client_credentials'] : []),
    ],
    response_types:
      ofPeople && application.redirectUris.length > 0
        ? legacyImplicit
          ? ['code', 'id_token token']
          : ['code']
        : [],
    redirect_uris: [...application.redirectUris],
    post_logout_redirect_uris: [...application.postLogoutRedirectUris],
    ...(type === 'resource'
      ? {}
      : { scope: [...application.scopes, ...(ofPeople ? [OFFLINE_ACCESS] : [])].join(' ') }),
    id_token_signed_response_alg: application.idTokenAlgorithm,
    dpop_bound_access_tokens: application.dpopBound,
    require_pushed_authorization_requests: application.requirePushedRequests,
    [CONSENT_EPOCH]: application.consentEpoch,
    [REQUIRE_SECOND_FACTOR]: application.requireSecondFactor,
    [ID_TOKEN_PROFILE_CLAIMS]: application.idTokenProfileClaims,
    [IS_UNKNOWN]: application.owner === null && !application.trusted && application.lastUse === null,
    ...(securityProfile === undefined ? {} : { [SECURITY_PROFILE]: securityProfile }),
    ...(backchannelLogoutUri === undefined
      ? {}
      : { backchannel_logout_uri: backchannelLogoutUri, backchannel_logout_session_required: true }),
  };
}

/** Whether an application that people sign in to gets tokens for itself for its event stream (see permissions.ts). */
function hasEventStream({ id, type }: Application): boolean {
  return type === 'web' && !isMetadataDocumentId(id);
}

/** Another service, which asks with client credentials for tokens for internal audiences. */
export function serviceMetadata(id: string): AdapterPayload {
  return {
    client_id: id,
    token_endpoint_auth_method: 'client_secret_post',
    client_secret: KEPT_AS_HASH,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
  };
}

/** The developer dashboard: an application like others, except that it needs no consent and may manage applications. */
export const DASHBOARD_CLIENT = DASHBOARD;

export function dashboardClientMetadata(issuer: string): AdapterPayload {
  return {
    client_id: DASHBOARD_CLIENT,
    client_name: 'Gatehouse dashboard',
    token_endpoint_auth_method: 'client_secret_post',
    client_secret: KEPT_AS_HASH,
    // It exchanges the tokens that are sent to the MCP server.
    grant_types: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE_GRANT],
    response_types: ['code'],
    redirect_uris: [`${issuer}/dashboard/signed-in`],
    post_logout_redirect_uris: [`${issuer}/dashboard/signed-out`],
    scope: [...OIDC_SCOPES, ...API_SCOPES].join(' '),
    id_token_signed_response_alg: 'RS256',
  };
}

/** Whether it is first-party: no page asks people whether to allow it its scopes. */
export function isFirstParty(clientId: string): boolean {
  return clientId === ACCOUNT_CLIENT || managesApplications(clientId);
}

/** Whether its tokens do whatever the person may do, also manage applications. */
export function managesApplications(clientId: string): boolean {
  return clientId === DASHBOARD_CLIENT || clientId === CLI_CLIENT;
}

/** The command line, which people connect as a device; unlike our pages, it outlives the session in the browser. */
export const CLI_CLIENT = 'gatehouse-cli';
export const CLI_NAME = 'Gatehouse command line';

/** A public client: its tokens are bound to a key (RFC 9449), which a copy of its file of tokens must contain to be of use. */
function cliClientMetadata(): AdapterPayload {
  return {
    client_id: CLI_CLIENT,
    client_name: CLI_NAME,
    token_endpoint_auth_method: 'none',
    grant_types: [DEVICE_CODE_GRANT, 'refresh_token'],
    response_types: [],
    redirect_uris: [],
    scope: [...OIDC_SCOPES, ...API_SCOPES].join(' '),
    id_token_signed_response_alg: 'RS256',
    dpop_bound_access_tokens: true,
  };
}

/** Our own account pages: a browser is sent through the sign-in with it, and nothing is issued to it. */
export const ACCOUNT_CLIENT = 'gatehouse-account';

export function accountClientMetadata(issuer: string): AdapterPayload {
  return {
    client_id: ACCOUNT_CLIENT,
    client_name: 'Gatehouse',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['none'],
    redirect_uris: [`${issuer}/account/signed-in`],
    post_logout_redirect_uris: [`${issuer}/account/signed-out`],
    scope: 'openid',
    id_token_signed_response_alg: 'RS256',
  };
}

/** Finds the clients that oidc-provider serves: our own services, our account pages, and applications. */
export function createFindClient(options: {
  issuer: string;
  acceptsService(id: string, secret: string): boolean | undefined;
  applications: Pick<Applications, 'find'>;
}): (id: string) => Promise<AdapterPayload | undefined> {
  const { issuer, acceptsService, applications } = options;
  return async (id) => {
    if (acceptsService(id, '') !== undefined) {
      return id === DASHBOARD_CLIENT ? dashboardClientMetadata(issuer) : serviceMetadata(id);
    }
    if (id === ACCOUNT_CLIENT) return accountClientMetadata(issuer);
    if (id === CLI_CLIENT) return cliClientMetadata();
    const application = await applications.find(id);
    return application && clientMetadata(application);
  };
}

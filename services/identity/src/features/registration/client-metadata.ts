import { bodyValidator, invalidFields } from '@gatehouse/api/http/schema';
import type { FieldProblem } from '@gatehouse/core/errors';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { parseScope } from '@gatehouse/tokens/scopes';
import { homePageOf } from '@gatehouse/web/branding';
import { type Static, type TObject, Type } from 'typebox';
import {
  type Application,
  type ApplicationChanges,
  type ApplicationType,
  DEVICE_CODE_GRANT,
  ID_TOKEN_ALGORITHMS,
} from '../../core/applications/application.ts';
import { PERSONAL_SCOPES } from '../../core/applications/application-rules.ts';
import { readPublicKeys, readPublicKeysUri } from '../../core/applications/public-keys.ts';
import { hostOf } from '../../core/applications/redirect-uris.ts';
import { MAX_REQUEST } from '../../core/limits/bounds.ts';
import { ALL_SCOPES, OFFLINE_ACCESS } from '../../core/oidc/claims/scope-rules.ts';
import { clientMetadata } from '../../core/oidc/clients/client-metadata.ts';
import { AUTH_METHODS, type AuthMethod } from './registration.ts';

const Text = Type.Optional(Type.String());
const Texts = Type.Optional(Type.Array(Type.String()));
const Flag = Type.Optional(Type.Boolean());
const PNG_ONLY = 'A PNG picture as a `data:` URL. Any other URL has no effect: nothing is fetched.';

/** The metadata of RFC 7591 §2 that has an effect. Other members are ignored, as that section demands. */
export const ClientMetadata = Type.Object({
  redirect_uris: Texts,
  post_logout_redirect_uris: Texts,
  token_endpoint_auth_method: Type.Optional(Type.Enum([...AUTH_METHODS])),
  grant_types: Texts,
  response_types: Texts,
  application_type: Type.Optional(Type.Enum(['web', 'native'])),
  client_name: Text,
  scope: Type.Optional(
    Type.String({
      description: 'Scopes, separated by spaces. Of those, the client gets what the registration allows.',
    }),
  ),
  jwks: Type.Optional(
    Type.Object({}, { additionalProperties: true, description: 'Public keys, for `private_key_jwt`.' }),
  ),
  jwks_uri: Type.Optional(Type.String({ description: 'Their URL, in place of `jwks`.' })),
  logo_uri: Type.Optional(Type.String({ description: PNG_ONLY })),
  client_uri: Text,
  policy_uri: Text,
  tos_uri: Text,
  backchannel_logout_uri: Text,
  id_token_signed_response_alg: Type.Optional(Type.Enum([...ID_TOKEN_ALGORITHMS])),
  dpop_bound_access_tokens: Flag,
  require_pushed_authorization_requests: Flag,
});
type Metadata = Static<typeof ClientMetadata>;

/** Like bodyValidator, but null stands for a member that is not there (RFC 7592 §2.2). */
export function metadataValidator<S extends TObject>(schema: S): (body: unknown) => Static<S> {
  const validate = bodyValidator(schema);
  return (body) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return validate(body);
    return validate(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)));
  };
}

/** The settings of an application as its client asks for them. What the metadata does not name is removed. */
export type RequestedClient = {
  type: ApplicationType;
  authMethod: AuthMethod;
  settings: ApplicationChanges & Pick<Application, 'name' | 'scopes' | 'redirectUris'>;
};

/**
 * Reads what a client asks for, and leaves out or replaces what it does not get, as the response then says (RFC 7591 §3.2.1). Throws
 * `invalid` with the members that contradict one another; whether an application may be like this is for the rules of applications to say.
 *
 * @param options.allowed the scopes that the client may have
 * @param options.machines whether it may be a machine, which acts as the owner of the registration token
 * @param options.isOfNobody whether it registers without an initial access token: then it is public, and we show and call nothing of it
 */
export function readClientMetadata(
  metadata: Metadata,
  options: { allowed: readonly string[]; machines: boolean; isOfNobody: boolean },
): RequestedClient {
  const { isOfNobody } = options;
  const { redirect_uris: redirectUris = [], application_type: kind, logo_uri: logo } = metadata;
  const { grant_types: grants = ['authorization_code'] } = metadata;
  const redirects = grants.includes('authorization_code');
  const deviceFlow = grants.includes(DEVICE_CODE_GRANT) && !isOfNobody;
  // A client for people is no machine as well.
  const isMachine = grants.includes('client_credentials') && !redirects && !deviceFlow;
  // RFC 8252 §8.5: a native application cannot keep a secret.
  const isPublic = isOfNobody || kind === 'native' || metadata.token_endpoint_auth_method === 'none';
  const authMethod = isPublic ? 'none' : (metadata.token_endpoint_auth_method ?? 'client_secret_basic');
  const problems: FieldProblem[] = [];
  const require = (holds: boolean, field: string, message: string) => {
    if (!holds) problems.push({ field, message });
  };
  require(isMachine ||
    redirects ||
    deviceFlow, 'grant_types', 'must contain a grant that begins with no token, such as authorization_code');
  require(!isMachine ||
    options.machines, 'grant_types', 'can contain client_credentials only with a registration token that allows machines');
  require(redirects ||
    redirectUris.length === 0, 'grant_types', 'must contain authorization_code, as there are redirect URIs');
  require(!redirects ||
    (metadata.response_types ?? ['code']).includes('code'), 'response_types', 'must contain code');
  require(!isMachine ||
    !isPublic, 'token_endpoint_auth_method', 'must not be none for the grant client_credentials');
  require(!isOfNobody ||
    JSON.stringify(metadata).length <=
      MAX_REQUEST, 'The metadata', `can be longer than ${MAX_REQUEST} bytes with an initial access token only`);
  const keys = authMethod === 'private_key_jwt' ? readKeys(metadata) : undefined;
  require(keys === undefined || !('problem' in keys), 'jwks', keys && 'problem' in keys ? keys.problem : '');
  if (problems.length > 0) throw invalidFields(problems);
  const isNative = kind === 'native' || !redirectUris.every((uri) => uri.startsWith('https:')) || deviceFlow;
  return {
    authMethod,
    type: isMachine ? 'machine' : !isPublic ? 'web' : isNative ? 'native' : 'spa',
    settings: {
      name: metadata.client_name?.trim() || (hostOf(redirectUris[0]) ?? 'Unnamed client'),
      redirectUris,
      postLogoutRedirectUris: metadata.post_logout_redirect_uris ?? [],
      scopes: scopesOf(metadata, options.allowed, isMachine),
      deviceFlow,
      idTokenAlgorithm: metadata.id_token_signed_response_alg ?? 'RS256',
      dpopBound: metadata.dpop_bound_access_tokens ?? false,
      requirePushedRequests: metadata.require_pushed_authorization_requests ?? false,
      jwks: keys !== undefined && 'keys' in keys ? keys : undefined,
      backchannelLogoutUri: isOfNobody ? undefined : metadata.backchannel_logout_uri,
      // Pictures of other sites are not shown, since their servers would see who signs in.
      logoUri: logo?.startsWith('data:') && !isOfNobody ? logo : undefined,
      clientUri: homePageOf(metadata),
      policyUri: metadata.policy_uri,
      tosUri: metadata.tos_uri,
    },
  };
}

function readKeys({ jwks, jwks_uri: uri }: Metadata): ReturnType<typeof readPublicKeys> {
  // RFC 7591 §2: not both.
  if (jwks !== undefined && uri !== undefined) return { problem: 'cannot be combined with jwks_uri' };
  if (uri !== undefined) return readPublicKeysUri(uri);
  return jwks === undefined
    ? { problem: 'or jwks_uri is required for private_key_jwt' }
    : readPublicKeys(jwks);
}

/**
 * The scopes that the client gets of those that it asks for: the response states them (RFC 7591 §3.2.1). Many ask for all
 * that our metadata lists. Those of a registered resource need no registration; a client that names no others can sign people in.
 */
function scopesOf({ scope }: Metadata, allowed: readonly string[], isMachine: boolean): string[] {
  const wanted = scope === undefined ? undefined : parseScope(scope);
  const possible = isMachine ? allowed.filter((name) => !PERSONAL_SCOPES.includes(name)) : allowed;
  const given = possible.filter((name) => wanted?.includes(name) ?? true);
  const known: readonly string[] = [...ALL_SCOPES, OFFLINE_ACCESS];
  const isForResource = wanted?.some((name) => !known.includes(name)) === true;
  return given.length === 0 && isForResource ? possible.filter((name) => name === 'openid') : given;
}

/** An application as its client sees it: the client information of RFC 7591 §3.2.1, without credentials. */
export function clientInformation(application: Application, authMethod: AuthMethod) {
  const metadata = clientMetadata(application);
  const visible = Object.keys(ClientMetadata.properties).flatMap((name) =>
    metadata[name] === undefined ? [] : [[name, metadata[name]]],
  );
  return {
    client_id: application.id,
    client_id_issued_at: Math.floor(application.createdAt.getTime() / 1000),
    ...Object.fromEntries(visible),
    token_endpoint_auth_method: authMethod,
    scope: application.scopes.join(' '),
    ...omitUndefined({
      logo_uri: application.logoUri,
      client_uri: application.clientUri,
      policy_uri: application.policyUri,
      tos_uri: application.tosUri,
    }),
  };
}

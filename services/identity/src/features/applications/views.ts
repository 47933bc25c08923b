import { shape } from '@gatehouse/api/openapi/shapes';
import { omitUndefined } from '@gatehouse/core/omit-undefined';
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import { type TSchema, Type } from 'typebox';
import {
  APPLICATION_TYPES,
  type Application,
  ID_TOKEN_ALGORITHMS,
  isConfidential,
  type LastUse,
  SECURITY_PROFILES,
} from '../../core/applications/application.ts';

/**
 * How an application authenticates at the token endpoint. None has asked for a method, so that one with a secret has the
 * default (RFC 7591 §2), and may send its secret in the body as well.
 */
function authMethodOf(application: Application): 'none' | 'client_secret_basic' | 'private_key_jwt' {
  if (!isConfidential(application)) return 'none';
  return application.jwks === undefined ? 'client_secret_basic' : 'private_key_jwt';
}

export const Time = Type.String({ format: 'date-time' });
export const orNull = (schema: TSchema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
/** How long what is created is to live, in seconds. */
export const Lifetime = Type.Integer({ minimum: 60, maximum: 3650 * 86_400 });
const Texts = Type.Array(Type.String());
export const LastUseFields = {
  last_used_at: orNull(Time, 'The time of the last use, to the minute.'),
  last_used_address: orNull(Type.String(), 'The IP address of the last use, if known.'),
};

export const Protected = Type.Boolean({
  description: 'Whether it cannot be deleted: switch this off first.',
});

export const ExchangeRuleView = Type.Object({
  resource: Type.String({ description: 'The identifier of the API: ours, or a registered one.' }),
  scopes: Texts,
});

export const AssertionRuleView = Type.Object({
  authorization_server: Type.String({ description: 'Its issuer identifier (RFC 8414 §2).' }),
  client_id: Type.String({ description: 'The client ID of the application there.' }),
  scopes: Texts,
  resources: Type.Optional(
    Type.Array(Type.String(), { description: 'The only APIs there; by default, the other server decides.' }),
  ),
});

export const ApplicationView = Type.Object({
  client_id: Type.String(),
  name: Type.String(),
  type: Type.String({ enum: [...APPLICATION_TYPES] }),
  redirect_uris: Texts,
  post_logout_redirect_uris: Texts,
  scopes: Type.Array(Type.String(), { description: 'The scopes that the application may request.' }),
  profiles: Type.Object(
    Object.fromEntries(
      Object.entries(PROFILE_PINS).map(([pin, names]) => [
        pin,
        Type.Optional(Type.String({ enum: [...names] })),
      ]),
    ),
    { description: 'The API profiles that the application has pinned.' },
  ),
  legacy_implicit: Type.Boolean({ description: 'Whether the application may use the implicit flow.' }),
  trusted: Type.Boolean({
    description: 'Whether the application acts with its own scopes, not with the role of its owner.',
  }),
  trusted_by: orNull(Type.String(), 'The id of the admin who granted the trust.'),
  trusted_at: orNull(Time),
  owner: orNull(Type.String(), 'The id of the owner; null for an application that the operator has set up.'),
  token_endpoint_auth_method: Type.String({
    enum: ['none', 'client_secret_basic', 'private_key_jwt'],
    description:
      'The authentication method at the token endpoint (RFC 7591 §2). A secret may also be sent in the body ' +
      '(client_secret_post).',
  }),
  jwks: orNull(
    Type.Object({}, { additionalProperties: true }),
    'The public keys of the application (RFC 7517 §5).',
  ),
  jwks_uri: orNull(Type.String(), 'The URL of its public keys, in place of `jwks` (RFC 7591 §2).'),
  backchannel_logout_uri: orNull(Type.String()),
  dpop_bound_access_tokens: Type.Boolean(),
  require_pushed_authorization_requests: Type.Boolean(),
  require_second_factor: Type.Boolean({
    description: 'Whether nobody signs in to it without a second factor or a passkey.',
  }),
  device_flow: Type.Boolean({
    description: 'Whether devices without a browser may use it (RFC 8628).',
  }),
  id_token_signed_response_alg: Type.String({ enum: [...ID_TOKEN_ALGORITHMS] }),
  id_token_profile_claims: Type.Boolean({
    description:
      'Whether its ID tokens have the name, the username and the picture, with the scope `profile`.',
  }),
  security_profile: orNull(Type.String({ enum: [...SECURITY_PROFILES] })),
  token_exchange: Type.Array(ExchangeRuleView, {
    description:
      'The APIs for which the application may exchange the tokens that people send to its own API (RFC 8693), and the most scopes ' +
      'there. Its own API is in the list, too, perhaps without scopes.',
  }),
  identity_assertions: Type.Array(AssertionRuleView, {
    description:
      'The other authorization servers for which the application gets identity assertions (ID-JAG) about the people who sign in to it, ' +
      'and the scopes that it can get there. Only an admin adds or changes them, and they end with the role of that admin.',
  }),
  protected: Protected,
  registered: Type.Boolean({ description: 'Whether the client manages its own registration (RFC 7592).' }),
  primary_color: Type.Optional(Type.String({ description: 'The accent of its pages, as #rrggbb.' })),
  logo_uri: Type.Optional(Type.String({ description: 'A PNG picture as a data: URL.' })),
  client_uri: Type.Optional(Type.String({ description: 'Its home page.' })),
  policy_uri: Type.Optional(Type.String({ description: 'Its privacy policy.' })),
  tos_uri: Type.Optional(Type.String({ description: 'Its terms of service.' })),
  support_uri: Type.Optional(Type.String({ description: 'Where people get help with it.' })),
  ...LastUseFields,
  created_at: Time,
  updated_at: Time,
});

/** A time in the examples of the OpenAPI document. */
export const EXAMPLE_TIME = '2026-11-02T09:30:00.000Z';

export const applicationShape = shape('Application', ApplicationView, {
  client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z',
  name: 'Lighthouse',
  type: 'web',
  redirect_uris: ['https://lighthouse.example/callback'],
  post_logout_redirect_uris: [],
  scopes: ['openid', 'read:data'],
  profiles: { items: 'cursor' },
  legacy_implicit: false,
  trusted: false,
  trusted_by: null,
  trusted_at: null,
  owner: 'usr_01m7g9v7d0000a3b9e5k2m8p4q',
  token_endpoint_auth_method: 'client_secret_basic',
  jwks: null,
  jwks_uri: null,
  backchannel_logout_uri: null,
  dpop_bound_access_tokens: false,
  require_pushed_authorization_requests: false,
  require_second_factor: false,
  device_flow: false,
  id_token_signed_response_alg: 'RS256',
  id_token_profile_claims: true,
  security_profile: null,
  token_exchange: [],
  identity_assertions: [],
  protected: false,
  registered: false,
  last_used_at: null,
  last_used_address: null,
  created_at: EXAMPLE_TIME,
  updated_at: EXAMPLE_TIME,
});

/** An application as the API returns it. */
export function applicationView(application: Application) {
  return {
    client_id: application.id,
    name: application.name,
    type: application.type,
    redirect_uris: application.redirectUris,
    post_logout_redirect_uris: application.postLogoutRedirectUris,
    scopes: application.scopes,
    profiles: application.profiles,
    legacy_implicit: application.legacyImplicit,
    trusted: application.trusted,
    trusted_by: application.trust?.by ?? null,
    trusted_at: application.trust?.at ?? null,
    owner: application.owner,
    token_endpoint_auth_method: authMethodOf(application),
    jwks: application.jwks?.uri === undefined ? (application.jwks ?? null) : null,
    jwks_uri: application.jwks?.uri ?? null,
    backchannel_logout_uri: application.backchannelLogoutUri ?? null,
    dpop_bound_access_tokens: application.dpopBound,
    require_pushed_authorization_requests: application.requirePushedRequests,
    require_second_factor: application.requireSecondFactor,
    device_flow: application.deviceFlow,
    id_token_signed_response_alg: application.idTokenAlgorithm,
    id_token_profile_claims: application.idTokenProfileClaims,
    security_profile: application.securityProfile ?? null,
    token_exchange: application.tokenExchange,
    identity_assertions: application.identityAssertions,
    protected: application.protected,
    registered: application.registrableScopes !== undefined,
    ...omitUndefined({
      primary_color: application.primaryColor,
      logo_uri: application.logoUri,
      client_uri: application.clientUri,
      policy_uri: application.policyUri,
      tos_uri: application.tosUri,
      support_uri: application.supportUri,
    }),
    ...lastUseView(application.lastUse),
    created_at: application.createdAt,
    updated_at: application.updatedAt,
  };
}

export const LastFour = orNull(
  Type.String(),
  'The last characters, to recognize it. Null if it was created by the operator.',
);
/** When something was used last, as the API returns it. */
export function lastUseView(use: LastUse | null) {
  return { last_used_at: use?.at ?? null, last_used_address: use?.address ?? null };
}

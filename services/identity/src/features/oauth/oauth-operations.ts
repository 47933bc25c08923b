import type { DocumentedResponse, Operation } from '@gatehouse/api/openapi/operation';
import { response, shape } from '@gatehouse/api/openapi/shapes';
import { MCP_METADATA_PATH, RESOURCE_METADATA_PATH } from '@gatehouse/tokens/resource-metadata';
import { type TSchema, Type } from 'typebox';
import {
  DEVICE_CODE_GRANT,
  JWT_BEARER_GRANT,
  TOKEN_EXCHANGE_GRANT,
} from '../../core/applications/application.ts';
import { ROUTES } from '../../core/oidc/provider-routes.ts';
import { type Operations, oauthErrorBody } from '../../openapi/operations.ts';

// The requests below are validated by oidc-provider, without schemas: these describe them.
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';
const tag = 'OAuth 2.0 and OpenID Connect';

const text = (description?: string) =>
  Type.Optional(Type.String(description === undefined ? {} : { description }));
/** RFC 6749 §2.3.1, RFC 7523 §2.2. */
const CLIENT = {
  client_id: text(),
  client_secret: text('The secret of an application that has one, unless it is sent by HTTP Basic.'),
  client_assertion_type: text(
    '`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`, for an application with public keys or federated credentials; ' +
      '`…:jwt-spiffe` for a JWT-SVID of a trust domain (draft-ietf-oauth-spiffe-client-auth).',
  ),
  client_assertion: text(
    'A JWT that the application has signed (private_key_jwt), or one of a trusted issuer. With the latter, `client_id` is required.',
  ),
};

const tokenRequest = shape(
  'TokenRequest',
  Type.Object({
    grant_type: Type.String({
      enum: [
        ...['authorization_code', 'refresh_token', 'client_credentials', DEVICE_CODE_GRANT],
        ...[TOKEN_EXCHANGE_GRANT, JWT_BEARER_GRANT],
      ],
    }),
    ...CLIENT,
    code: text('With authorization_code.'),
    redirect_uri: text('With authorization_code: the same as in the authorization request.'),
    code_verifier: text('With authorization_code, if its request had a code_challenge (RFC 7636 §4.5).'),
    refresh_token: text('With refresh_token.'),
    device_code: text('With the grant of the device flow (RFC 8628 §3.4).'),
    subject_token: text(
      'With token exchange (RFC 8693 §2.1): the access token that a person has sent to the API of the application; for an ID-JAG, an ID ' +
        'token or a refresh token of the application.',
    ),
    subject_token_type: text(
      'With token exchange: `urn:ietf:params:oauth:token-type:access_token`; for an ID-JAG, that of an `id_token` or a `refresh_token`.',
    ),
    requested_token_type: text(
      'With token exchange: that of an access token, by default; `urn:ietf:params:oauth:token-type:id-jag` for an identity assertion ' +
        '(draft-ietf-oauth-identity-assertion-authz-grant §4.3).',
    ),
    assertion: text(
      'With the grant of RFC 7523: an ID-JAG of an issuer that an admin trusts to speak for people (draft-ietf-oauth-identity-assertion-authz-grant §4.4).',
    ),
    audience: text(
      'With token exchange: as resource; for an ID-JAG, the issuer of the other authorization server.',
    ),
    scope: text('With client_credentials, refresh_token and token exchange: scopes, separated by spaces.'),
    resource: text('RFC 8707 §2. The API, by default; with token exchange, that of the token.'),
  }),
  {
    grant_type: 'client_credentials',
    client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z',
    client_secret: 'the secret of the application',
    scope: 'read:data',
  },
);
const tokenResponse = shape(
  'TokenResponse',
  Type.Object({
    access_token: Type.String(),
    token_type: Type.String({ enum: ['Bearer', 'DPoP', 'N_A'] }),
    expires_in: Type.Integer({ description: 'In seconds.' }),
    issued_token_type: text('With token exchange (RFC 8693 §2.2.1).'),
    refresh_token: text(
      'With authorization_code; with refresh_token of an application that cannot keep a secret.',
    ),
    scope: text(),
    id_token: text('If the scope openid was granted (OpenID Connect Core §2).'),
  }),
);

const errors = {
  body: oauthErrorBody('OAuthError', { unauthenticated: 'invalid_client', internal: 'server_error' }),
  // RFC 6749 §5.2: if the application authenticated with HTTP Basic.
  headers: { unauthenticated: { 'WWW-Authenticate': 'sometimes' } },
} as const;

type OfClient = Pick<
  Operation,
  'operationId' | 'summary' | 'description' | 'body' | 'bodyTypes' | 'responses'
>;
const ofClient = (about: OfClient): Operation => ({
  ...about,
  tag,
  clientAuthentication: true,
  errors: { ...errors, kinds: ['unauthenticated', 'rate_limited', 'unavailable'] },
});

const tokenResponses = { 200: response('The tokens.', tokenResponse) };
const tokenOperation = {
  summary: 'Request tokens',
  description: 'RFC 6749 §3.2. With a DPoP header the access token is bound to a key (RFC 9449).',
  body: [tokenRequest],
  responses: tokenResponses,
};

const page = (description: string) => ({ description, mediaType: 'text/html' });
const OAUTH_ERROR = shape('OAuthError', errors.body.schema);
/** An error as a page, or as JSON for what does not accept HTML. */
const errorPage = (description: string) => ({ ...page(description), shapes: [OAUTH_ERROR] });
const redirect = (description: string) => ({ description, headers: { Location: 'always' } as const });
const PAGES = {
  400: errorPage('The request is not valid.'),
  408: errorPage('The form took too long to arrive.'),
  413: errorPage('The form is too large.'),
  415: errorPage('The body is not a form.'),
  429: errorPage('Too many requests.'),
  500: errorPage('Something went wrong on the server.'),
};

const parameters = (schemas: Record<string, TSchema>) => Type.Object(schemas);
const AUTHORIZATION = parameters({
  client_id: Type.String(),
  response_type: Type.String({ description: '`code`; for legacy applications also `id_token token`.' }),
  redirect_uri: Type.String({ description: 'One of the redirect URIs of the application.' }),
  scope: Type.Optional(
    Type.String({
      description: 'Scopes, separated by spaces. By default all scopes of the application.',
    }),
  ),
  state: text('Returned unchanged.'),
  nonce: text('Returned in the ID token.'),
  code_challenge: text('RFC 7636 §4.3. Required of applications of type spa and native.'),
  code_challenge_method: text('`S256`.'),
  prompt: text('`none` alone, or some of `login`, `consent` and `select_account`. Others are ignored.'),
  max_age: text('The maximum age of the sign-in, in seconds.'),
  login_hint: text('A username or an email address.'),
  request_uri: text('From the pushed authorization request (RFC 9126 §4).'),
});
const LOGOUT = parameters({
  id_token_hint: text('An ID token of the person who signs out.'),
  client_id: text(),
  post_logout_redirect_uri: text('One of the post-logout redirect URIs of the application.'),
  state: text('Returned unchanged.'),
});

/** A page that is reached by GET and, as a form, by POST. */
function pageOperations(
  name: string,
  path: string,
  about: { summary: string; description: string; query: ReturnType<typeof parameters>; schema: string },
): Operations {
  const { summary, description, query, schema } = about;
  const responses = {
    200: page('A page.'),
    302: redirect('A redirect to the application, with the result.'),
    303: redirect('A redirect to the next page, or to the application.'),
    ...PAGES,
  };
  const common = { summary, description, tag, errors, responses };
  return {
    [`GET ${path}`]: { ...common, operationId: name, query: [{ profile: 'interface', schema: query }] },
    [`POST ${path}`]: {
      ...common,
      operationId: `${name}_form`,
      body: [shape(schema, query)],
      bodyTypes: [FORM],
    },
  };
}

const metadata = shape(
  'ProviderMetadata',
  Type.Object(
    {
      issuer: Type.String(),
      authorization_endpoint: Type.String(),
      token_endpoint: Type.String(),
      jwks_uri: Type.String(),
    },
    { additionalProperties: true },
  ),
);
const protectedResource = shape(
  'ProtectedResourceMetadata',
  Type.Object(
    {
      resource: Type.String({ description: 'The audience of access tokens.' }),
      authorization_servers: Type.Array(Type.String()),
      scopes_supported: Type.Array(Type.String()),
    },
    { additionalProperties: true },
  ),
);
const jwks = shape(
  'JsonWebKeySet',
  Type.Object({
    keys: Type.Array(Type.Object({ kty: Type.String(), kid: Type.String() }, { additionalProperties: true })),
  }),
);
const published = (operationId: string, summary: string, document: DocumentedResponse): Operation => ({
  operationId,
  summary,
  tag,
  errors,
  conditional: 'read',
  responses: { 200: { ...document, headers: { ETag: 'always' } } },
});
const discovery = response('The metadata.', metadata);

const userInfo = shape(
  'UserInfo',
  Type.Object(
    {
      sub: Type.String({ description: 'The id of the person.' }),
      name: text(),
      given_name: text(),
      family_name: text(),
      preferred_username: text(),
      picture: text(),
      locale: text(),
      zoneinfo: text(),
      email: text(),
      email_verified: Type.Optional(Type.Boolean()),
      roles: Type.Optional(Type.Array(Type.String())),
      updated_at: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
    },
    { additionalProperties: true },
  ),
  { sub: 'usr_01m7g9v7d0000a3b9e5k2m8p4q', name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace' },
);
const userInfoOperation = (operationId: string): Operation => ({
  operationId,
  summary: 'Read the claims about the signed-in person',
  tag,
  scopes: ['openid'],
  description: 'OpenID Connect Core §5.3: the claims that the scopes profile, email and roles permit.',
  responses: { 200: response('The claims about the person.', userInfo) },
  errors: {
    body: oauthErrorBody('BearerError', {
      unauthenticated: 'invalid_token',
      forbidden: 'insufficient_scope',
      internal: 'invalid_request',
    }),
  },
});

const tokenForm = {
  token: Type.String(),
  token_type_hint: text('`access_token` or `refresh_token`.'),
  ...CLIENT,
};
const introspection = shape(
  'Introspection',
  Type.Object({ active: Type.Boolean() }, { additionalProperties: true }),
  { active: false },
);
const pushed = shape(
  'PushedRequest',
  Type.Object({ request_uri: Type.String(), expires_in: Type.Integer() }),
);

const deviceAuthorization = shape(
  'DeviceAuthorization',
  Type.Object({
    device_code: Type.String({ description: 'The code with which the device requests its tokens.' }),
    user_code: Type.String({ description: 'The code that the person enters at verification_uri.' }),
    verification_uri: Type.String(),
    verification_uri_complete: Type.String(),
    expires_in: Type.Integer({ description: 'In seconds.' }),
  }),
);

/** The endpoints of OAuth 2.0 and OpenID Connect. */
export const oauthOperations: Operations = {
  'POST /oauth/token': ofClient({
    ...tokenOperation,
    operationId: 'oauth_token',
    bodyTypes: [JSON_TYPE, FORM],
  }),
  [`POST ${ROUTES.token}`]: ofClient({
    ...tokenOperation,
    operationId: 'oauth2_token',
    bodyTypes: [FORM],
  }),
  [`POST ${ROUTES.revocation}`]: ofClient({
    operationId: 'oauth2_revoke',
    summary: 'Revoke a token',
    description: 'RFC 7009. An unknown token is no error.',
    body: [shape('Revocation', Type.Object(tokenForm))],
    bodyTypes: [FORM, JSON_TYPE],
    responses: { 200: response('The token is not valid any more.', shape('Nothing', Type.Object({}))) },
  }),
  [`POST ${ROUTES.introspection}`]: ofClient({
    operationId: 'oauth2_introspect',
    summary: 'Introspect a token',
    description: 'RFC 7662.',
    body: [shape('IntrospectionRequest', Type.Object(tokenForm))],
    bodyTypes: [FORM, JSON_TYPE],
    responses: { 200: response('Whether the token is valid, and its permissions.', introspection) },
  }),
  [`POST ${ROUTES.pushed_authorization_request}`]: ofClient({
    operationId: 'oauth2_par',
    summary: 'Push an authorization request',
    description: 'RFC 9126. The parameters of the authorization request.',
    // client_id is a parameter of the request itself, however the application authenticates (RFC 9126 §2.1).
    body: [shape('PushedAuthorizationRequest', Type.Object({ ...CLIENT, ...AUTHORIZATION.properties }))],
    bodyTypes: [FORM],
    responses: { 201: response('The request_uri to send the browser with.', pushed) },
  }),
  [`POST ${ROUTES.device_authorization}`]: ofClient({
    operationId: 'oauth2_device_authorization',
    summary: 'Ask for a device to be connected',
    description:
      'RFC 8628 §3.1. For applications with device_flow. The device waits 5 seconds between its token requests.',
    body: [
      shape(
        'DeviceAuthorizationRequest',
        Type.Object({ ...CLIENT, scope: text('By default all scopes of the application.') }),
        { client_id: 'app_01m7g9w2k0000c4v8x3r6t5n1z', scope: 'openid read:data' },
      ),
    ],
    bodyTypes: [FORM],
    responses: { 200: response('The codes for the device and for the person.', deviceAuthorization) },
  }),
  ...pageOperations('oauth2_authorize', ROUTES.authorization, {
    summary: 'Ask a person to sign in and to permit access',
    description: 'RFC 6749 §4.1. A browser is sent here.',
    query: AUTHORIZATION,
    schema: 'AuthorizationRequest',
  }),
  ...pageOperations('oauth2_logout', ROUTES.end_session, {
    summary: 'Sign a person out',
    description: 'OpenID Connect RP-Initiated Logout. A browser is sent here.',
    query: LOGOUT,
    schema: 'LogoutRequest',
  }),
  'GET /userinfo': userInfoOperation('userinfo'),
  'POST /userinfo': userInfoOperation('userinfo_form'),
  [`GET ${ROUTES.jwks}`]: published('jwks', 'Read the keys that verify tokens', {
    ...response('The keys.', jwks),
    // RFC 7517 §8.5.2
    jsonType: 'application/jwk-set+json',
  }),
  'GET /.well-known/openid-configuration': published(
    'openid_configuration',
    'Discover the endpoints',
    discovery,
  ),
  [`GET ${RESOURCE_METADATA_PATH}`]: published(
    'oauth_protected_resource',
    'Discover the API as a protected resource (RFC 9728)',
    response('The metadata.', protectedResource),
  ),
  [`GET ${MCP_METADATA_PATH}`]: published(
    'oauth_protected_resource_mcp',
    'Discover the MCP server as a protected resource (RFC 9728)',
    response('The metadata.', protectedResource),
  ),
  'GET /.well-known/oauth-authorization-server': published(
    'oauth_authorization_server',
    'Discover the endpoints (RFC 8414)',
    discovery,
  ),
};

import { ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { credentialIn } from '@gatehouse/tokens/authorization';
import { unauthenticated } from '@gatehouse/tokens/caller';
import type { Context, Middleware } from 'koa';
import { Type } from 'typebox';
import { originOf } from '../../core/audit/audit.ts';
import { type Api, createApi } from '../../http/api.ts';
import { oauthErrorBody, response, shape } from '../../openapi/operations.ts';
import { ClientMetadata, clientInformation, metadataValidator } from './client-metadata.ts';
import type { RegisteredClient, Registrations } from './registrations.ts';

/** Where clients register themselves. */
export const REGISTRATION_ENDPOINT = '/oauth2/register';

const errors = {
  body: oauthErrorBody('RegistrationError', {
    invalid: 'invalid_client_metadata',
    unauthenticated: 'invalid_token',
    internal: 'server_error',
  }),
  headers: { unauthenticated: { 'WWW-Authenticate': 'always' } },
} as const;

const informationShape = shape(
  'ClientInformation',
  Type.Object({
    ...ClientMetadata.properties,
    client_id: Type.String(),
    client_id_issued_at: Type.Integer({ description: 'In seconds since 1970.' }),
    client_secret: Type.Optional(Type.String({ description: 'The secret, shown only when it is new.' })),
    client_secret_expires_at: Type.Optional(Type.Integer({ description: '0: never.' })),
  }),
);

/** POST /oauth2/register (RFC 7591 §3). */
export function registrationRoutes(options: { issuer: string; registrations: Registrations }): Api {
  const { registrations } = options;
  const api = createApi({
    prefix: REGISTRATION_ENDPOINT,
    errors,
    identify: async (ctx) => ({ token: tokenIn(ctx), origin: originOf(ctx) }),
    validator: metadataValidator,
  });
  api.router.use(registrationErrors);

  api.post('register_client', '/', {
    summary: 'Register a client',
    description:
      'Dynamic client registration (RFC 7591 §3) with an initial access token, which is a registration token, in the Authorization header. ' +
      'The client is an application of the owner of the token.',
    body: shape('ClientMetadata', ClientMetadata, {
      client_name: 'Lighthouse',
      redirect_uris: ['https://lighthouse.example/callback'],
      scope: 'openid profile',
    }),
    responses: { 201: response('The client has been registered.', informationShape) },
    kinds: ['unauthenticated', 'rate_limited'],
    handle: async ({ token, origin, body }) =>
      informationOf(await registrations.register(body, token, origin)),
  });
  return api;
}

/** The bearer token of a request (RFC 6750 §2.1). Throws `unauthenticated`. */
function tokenIn(ctx: Context): string {
  const { authorization } = ctx.req.headers;
  if (authorization === undefined) {
    throw unauthenticated('This needs an initial access token in the Authorization header, as "Bearer".');
  }
  const { scheme, value } = credentialIn(authorization);
  if (scheme !== 'bearer') {
    throw unauthenticated('Send the token as "Bearer".', 'invalid_request');
  }
  return value;
}

/** The response about a client (RFC 7591 §3.2.1). */
function informationOf({ application, registration, secret }: RegisteredClient) {
  return {
    ...clientInformation(application, registration.authMethod),
    ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
  };
}

/** Answers with the codes of RFC 7591 §3.2.2, and of RFC 6750 §3.1 for the token. */
const registrationErrors: Middleware = async (ctx, next) => {
  try {
    await next();
  } catch (thrown) {
    if (!(thrown instanceof ServiceError)) throw thrown;
    const { kind, details, message, status, headers } = thrown;
    if (kind !== 'invalid' && kind !== 'unauthenticated') throw thrown;
    const isRedirect = details?.[0]?.field.startsWith('redirect_uris');
    const code =
      kind === 'unauthenticated'
        ? 'invalid_token'
        : isRedirect
          ? 'invalid_redirect_uri'
          : 'invalid_client_metadata';
    ctx.status = status;
    ctx.set(headers);
    ctx.body = { error: code, error_description: message };
    requestInfo(ctx.req).failure ??= { code, message };
  }
};

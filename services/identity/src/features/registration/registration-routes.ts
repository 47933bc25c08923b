import { done, ok, response, shape } from '@gatehouse/api/openapi/shapes';
import { ServiceError } from '@gatehouse/core/errors';
import { requestInfo } from '@gatehouse/server/requests';
import { credentialIn } from '@gatehouse/tokens/authorization';
import { unauthenticated } from '@gatehouse/tokens/caller';
import type { Middleware } from 'koa';
import { Type } from 'typebox';
import { originOf } from '../../core/audit/audit.ts';
import { type Api, createApi } from '../../http/api.ts';
import type { Authentication } from '../../http/authentication.ts';
import { oauthErrorBody } from '../../openapi/operations.ts';
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
    registration_access_token: Type.String({
      description: 'With it the client reads, changes and ends its registration. Each change replaces it.',
    }),
    registration_client_uri: Type.String({ description: 'Where it does so.' }),
  }),
);

/** POST /oauth2/register (RFC 7591 §3), and the clients below it (RFC 7592 §2). */
export function registrationRoutes(options: {
  issuer: string;
  registrations: Registrations;
  /** Whether clients can register without an initial access token. */
  isOpen: boolean;
  authentication: Pick<Authentication, 'countUnauthenticated'>;
}): Api {
  const { registrations } = options;
  const api = createApi({
    prefix: REGISTRATION_ENDPOINT,
    errors,
    async identify(ctx) {
      const { authorization } = ctx.req.headers;
      const needsNone = options.isOpen && ctx.method === 'POST' && authorization === undefined;
      const token = needsNone ? '' : tokenIn(authorization);
      const { client_id: id } = ctx.params as { client_id?: string };
      if (id !== undefined) {
        const { application } = await registrations.read(id, token);
        // Strangers can register any number of those that nobody owns.
        if (application.owner !== null) requestInfo(ctx.req).client = id;
      }
      return { token, origin: originOf(ctx) };
    },
    validator: metadataValidator,
  });
  api.router.use(registrationErrors(options.authentication));

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
      informationOf(
        await (token === ''
          ? registrations.registerOpenly(body, origin)
          : registrations.register(body, token, origin)),
      ),
  });

  api.get('read_client', '/:client_id', {
    summary: 'Read a registration',
    description: `${BY_CLIENT} (RFC 7592 §2.1). A client secret is not in the response: only its hash is stored.`,
    responses: ok('The client.', informationShape),
    kinds: ['unauthenticated', 'rate_limited'],
    handle: async ({ token, params }) => informationOf(await registrations.read(params.client_id, token)),
  });

  api.put('change_client', '/:client_id', {
    summary: 'Change a registration',
    description:
      `${BY_CLIENT} (RFC 7592 §2.2). What is left out is removed. The response has another registration access token, which replaces the one ` +
      'of the request. People are asked again to allow the client before they are sent to a redirect URI that was added.',
    body: shape(
      'ClientChange',
      Type.Object({
        ...ClientMetadata.properties,
        client_id: Type.String(),
        client_secret: Type.Optional(Type.String({ description: 'The current one.' })),
      }),
    ),
    responses: ok('The changed client.', informationShape),
    kinds: ['unauthenticated', 'rate_limited'],
    handle: async ({ token, origin, params, body }) =>
      informationOf(await registrations.change(params.client_id, token, body, origin)),
  });

  api.delete('remove_client', '/:client_id', {
    summary: 'End a registration',
    description: `${BY_CLIENT} (RFC 7592 §2.3). Ends its tokens, its API keys, and the permissions that people gave it.`,
    responses: done('The client no longer exists.'),
    kinds: ['unauthenticated', 'rate_limited'],
    handle: ({ token, origin, params }) => registrations.remove(params.client_id, token, origin),
  });
  return api;

  /** The response about a client (RFC 7591 §3.2.1, RFC 7592 §3). */
  function informationOf({ application, registration, token, secret }: RegisteredClient) {
    return {
      ...clientInformation(application, registration.authMethod),
      ...(secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 }),
      registration_access_token: token,
      registration_client_uri: `${options.issuer}${REGISTRATION_ENDPOINT}/${application.id}`,
    };
  }
}

const BY_CLIENT = 'By the client, with its registration access token in the Authorization header';

/** The bearer token of a request (RFC 6750 §2.1). Throws `unauthenticated`. */
function tokenIn(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw unauthenticated(
      'This needs an initial access token or a registration access token in the Authorization header, as "Bearer".',
    );
  }
  const { scheme, value } = credentialIn(authorization);
  if (scheme !== 'bearer') {
    throw unauthenticated('Send the token as "Bearer".', 'invalid_request');
  }
  return value;
}

/** Counts requests by address, and answers with the codes of RFC 7591 §3.2.2, and of RFC 6750 §3.1 for the token. */
const registrationErrors =
  ({ countUnauthenticated }: Pick<Authentication, 'countUnauthenticated'>): Middleware =>
  async (ctx, next) => {
    // POST is counted as all requests with a secret are (see app.ts).
    if (ctx.method !== 'POST') await countUnauthenticated(ctx);
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

import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from '@fastify/cors';
import { type ErrorKind, kindOfStatus, ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { isDryRun } from '@gatehouse/server/configuration-header';
import { isCanonicalPath, pathOf } from '@gatehouse/server/request-path';
import { requestInfo } from '@gatehouse/server/requests';
import { withResourceMetadata } from '@gatehouse/tokens/resource-metadata';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type onRequestAsyncHookHandler,
} from 'fastify';
import type { ErrorBody } from '../http/error-bodies.ts';
import { BODY_LIMIT, parseJsonBody } from '../http/json-body.ts';
import { readBody } from '../http/request-body.ts';
import { requestFailure } from '../http/request-failure.ts';
import type { OpenApiOptions } from '../openapi/operation.ts';
import { mountOpenApi } from './openapi-route.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The error that is returned to the caller for anything thrown; a fault of the service is logged. */
    errorOf(thrown: unknown, request: FastifyRequest): ServiceError;
  }
  interface FastifyContextConfig {
    /** The error body of this route, if it differs from that of its path. */
    errorBody?: ErrorBody;
    /** The member of the body that is kept as its original text (see parseJsonBody). */
    verbatim?: string | undefined;
    /** Whether its handler obeys isDryRun(). */
    dryRun?: true | undefined;
  }
}

export type AppOptions = {
  logger: Logger;
  /** The error body for a path, which may not exist. */
  errorBodyFor(path: string): ErrorBody;
  /** Converts other errors, such as those of an unreachable database, to a ServiceError. */
  translate(error: unknown): ServiceError | undefined;
  /** The hook of routes that need a credential: it notes who sent a request that has no route, for the request log. */
  authenticate?: onRequestAsyncHookHandler;
  /** Serves an OpenAPI document of the `documented` routes. */
  openapi?: OpenApiOptions;
};

const EXPOSED_HEADERS = [
  'ETag',
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'Link',
  'Incomplete-Results',
  'Location',
  'Deprecation',
  'Sunset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'X-Request-Id',
  'Idempotency-Replayed',
  'WWW-Authenticate',
].join(', ');

/**
 * The Fastify app of a resource service: it accepts only JSON, writes errors in the form of the path, responds with 405
 * for unsupported methods, and allows cross-origin requests with a bearer token (never with cookies).
 */
export function createApp(options: AppOptions): FastifyInstance {
  const { logger, errorBodyFor, translate, authenticate, openapi } = options;
  const app = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request) => requestInfo(request).id,
    // No child logger per request, as most requests log nothing; lines about a request carry its id.
    childLoggerFactory: (parent) => parent,
    // Longer than any request line that Node accepts: a malformed id is rejected by its route, after authentication.
    routerOptions: { maxParamLength: 65_536 },
    // For a URL that cannot be decoded. No hooks run, so the CORS headers are set here.
    frameworkErrors: (error, request, reply) => {
      reply.header('access-control-allow-origin', '*');
      reply.header('access-control-expose-headers', EXPOSED_HEADERS);
      void sendError(error, request, reply);
    },
  });

  app.decorateRequest('caller', undefined);
  app.decorate('errorOf', errorOf);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest) =>
    parseJsonBody(await readBody(request.raw, BODY_LIMIT), request.routeOptions.config.verbatim),
  );

  app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'Authorization',
      'DPoP',
      'Content-Type',
      'If-Match',
      'If-None-Match',
      'Idempotency-Key',
      'X-Request-Id',
      'traceparent',
    ],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 3600,
    // An OPTIONS request that is not a preflight is not an error.
    strictPreflight: false,
  });

  const routes = createRouteTable();
  app.addHook('onRoute', ({ url, method }) => routes.add(url, [method].flat()));
  app.addHook('onRequest', (request, reply, done) => {
    requestInfo(request.raw).route = request.routeOptions.url;
    if (!request.is404 && isCanonicalPath(pathOf(request.url))) return done();
    // Before the body is read and parsed, since the caller may not be authenticated.
    const error = routes.missing(pathOf(request.url));
    if (authenticate === undefined || request.headers.authorization === undefined) return done(error);
    const note = () => {
      requestInfo(request.raw).route ??= routes.knownPart(pathOf(request.url));
    };
    // Whether the credential is good or not, the response is the same.
    authenticate
      .call(app, request, reply)
      .then(note, () => {})
      .then(() => done(error));
  });

  app.addHook('preHandler', async ({ raw, method, routeOptions }) => {
    if (method === 'GET' || method === 'HEAD' || routeOptions.config.dryRun || !isDryRun(raw)) return;
    throw new ServiceError('invalid', 'This request cannot be a dry run.');
  });

  if (openapi !== undefined) mountOpenApi(app, openapi);

  app.setErrorHandler(sendError);
  app.setNotFoundHandler((request, reply) => sendError(routes.missing(pathOf(request.url)), request, reply));

  function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = errorOf(thrown, request);
    requestInfo(request.raw).failure = requestFailure(error);
    return reply
      .code(error.status)
      .headers(
        openapi?.origin === undefined ? error.headers : withResourceMetadata(error.headers, openapi.origin),
      )
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .serializer(JSON.stringify)
      .send(bodyOf(request).write(error));
  }

  function errorOf(thrown: unknown, request: FastifyRequest): ServiceError {
    return clientError(thrown) ?? translate(thrown) ?? fault(thrown, request);
  }

  function bodyOf(request: FastifyRequest): ErrorBody {
    return request.routeOptions.config.errorBody ?? errorBodyFor(pathOf(request.url));
  }

  function fault(thrown: unknown, request: FastifyRequest): ServiceError {
    // A client that closed the connection is logged as status 499 instead.
    if (!request.raw.socket.destroyed) request.log.error({ err: thrown, req_id: request.id }, 'fault');
    return new ServiceError('internal', `Something went wrong on our side. Request id: ${request.id}.`);
  }

  return app;
}

/** The app as a Node request handler. Requests wait until the app's plugins are loaded. */
export function handlerOf(
  app: FastifyInstance,
): (request: IncomingMessage, response: ServerResponse) => void {
  let ready = false;
  const loaded = app.ready().then(() => {
    ready = true;
  });
  return (request, response) => {
    if (ready) app.routing(request, response);
    else loaded.then(() => app.routing(request, response));
  };
}

/** A ServiceError; errors with which Fastify itself rejects a request are converted to one. */
function clientError(thrown: unknown): ServiceError | undefined {
  if (thrown instanceof ServiceError) return thrown;
  // The code of an error of the database is a number.
  const { code, statusCode } = Object(thrown) as { code?: unknown; statusCode?: number };
  const isOfFastify = typeof code === 'string' && code.startsWith('FST_ERR_');
  if (!isOfFastify || statusCode === undefined || statusCode >= 500) return undefined;
  const kind = kindOfStatus(statusCode) ?? 'invalid';
  const message = MESSAGES[kind] ?? 'The request is not valid.';
  return new ServiceError(kind, message, { cause: thrown });
}

const MESSAGES: Partial<Record<ErrorKind, string>> = {
  not_found: 'There is nothing here.',
  unsupported_media_type: 'The body must be sent as application/json.',
};

/** The patterns of the routes, each with its methods. */
function createRouteTable() {
  const patterns = new Map<string, Set<string>>();
  return {
    add(pattern: string, methods: readonly string[]): void {
      patterns.set(pattern, new Set([...(patterns.get(pattern) ?? []), ...methods]));
    },
    /** The error for a request without a route: 404 or 405. */
    missing(path: string): ServiceError {
      const matching = isCanonicalPath(path) ? [...patterns].filter(([it]) => matches(it, path)) : [];
      const allowed = [...new Set(matching.flatMap(([, methods]) => [...methods]))].join(', ');
      return allowed === ''
        ? new ServiceError('not_found', 'There is nothing here.')
        : // RFC 9110 §15.5.6
          new ServiceError('method_not_allowed', `This path takes ${allowed}.`, {
            headers: { allow: allowed },
          });
    },
    /**
     * The pattern of a path, or as much of one as the path begins with: `/v1/users/*`. The rest is chosen by the caller and may be a
     * secret, so it must not become the name of a series of metrics.
     */
    knownPart(path: string): string {
      const parts = path.split('/');
      const lengths = [...patterns.keys()].map((pattern) => {
        const expected = pattern.split('/');
        const first = expected.findIndex((part, i) => part !== parts[i]);
        return first === -1 ? expected.length : first;
      });
      return (
        [...patterns.keys()].find((pattern) => matches(pattern, path)) ??
        [...parts.slice(0, Math.max(...lengths)), '*'].join('/')
      );
    },
  };
}

/** Whether a path matches a route's pattern such as /v1/users/:id. */
function matches(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const parts = path.split('/');
  return (
    expected.length === parts.length &&
    expected.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]))
  );
}

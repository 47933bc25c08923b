import type { IncomingMessage, ServerResponse } from 'node:http';
import cors from '@fastify/cors';
import type { ErrorBody } from '@gatehouse/http/error-bodies';
import { BODY_LIMIT, parseJsonBody } from '@gatehouse/http/json-body';
import { discardBody } from '@gatehouse/kit/discard-body';
import { type ErrorKind, kindOfStatus, ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { requestInfo } from '@gatehouse/kit/requests';
import type { OpenApiOptions } from '@gatehouse/openapi/operation';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { mountOpenApi } from './openapi-route.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How errors of this route are written, when not as its path says. */
    errorBody?: ErrorBody;
    /** The member of the body that is kept as the text that was sent (see parseJsonBody). */
    verbatim?: string | undefined;
  }
}

export type AppOptions = {
  logger: Logger;
  /** How errors are written below a path; also for paths that do not exist. */
  errorBodyFor(path: string): ErrorBody;
  /** The caller's error for a failure that is not a ServiceError, such as a database that is away. */
  translate(error: unknown): ServiceError | undefined;
  /** Serves an OpenAPI document of the routes that are `documented`. */
  openapi?: OpenApiOptions;
};

const EXPOSED_HEADERS = [
  'ETag',
  'Link',
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
 * The Fastify app of a resource service: takes JSON and nothing else, answers errors in the shape of the
 * path, knows 405, and lets browsers of any origin in with a bearer token (never with cookies).
 */
export function createApp({ logger, errorBodyFor, translate, openapi }: AppOptions): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request) => requestInfo(request).id,
    // A line that is about a request says so by itself; most requests write none but run()'s.
    childLoggerFactory: (parent) => parent,
    bodyLimit: BODY_LIMIT,
    // Longer than Node lets a request line be: what is no id is told so by its route, after its guards.
    routerOptions: { maxParamLength: 65_536 },
    // Of a URL that cannot be decoded; no hook runs for it, so what the CORS hook would set is set here.
    frameworkErrors: (error, request, reply) => {
      reply.header('access-control-allow-origin', '*');
      reply.header('access-control-expose-headers', EXPOSED_HEADERS);
      void sendError(error, request, reply);
    },
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      refuseEncoded(request);
      return parseJsonBody(body, request.routeOptions.config.verbatim);
    },
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
    ],
    exposedHeaders: EXPOSED_HEADERS,
    maxAge: 3600,
    // An OPTIONS that is no preflight is no error either.
    strictPreflight: false,
  });

  const patterns = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = patterns.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    patterns.set(url, methods);
  });
  app.addHook('onRequest', (request, _reply, done) => {
    requestInfo(request.raw).route = request.routeOptions.url;
    // Now, and not only when the body has been read and parsed: whoever asks may be a stranger.
    done(request.is404 ? missing(request) : undefined);
  });

  if (openapi !== undefined) mountOpenApi(app, openapi);

  app.setErrorHandler(async (error, request, reply) => {
    if (callersError(error)?.kind === 'too_large') {
      await discardBody(request.raw);
      reply.header('connection', 'close');
    }
    return sendError(error, request, reply);
  });
  app.setNotFoundHandler((request, reply) => sendError(missing(request), request, reply));

  /** Why no route serves the request. */
  function missing(request: FastifyRequest): ServiceError {
    const fitting = [...patterns].filter(([pattern]) => matches(pattern, pathOf(request)));
    const allowed = [...new Set(fitting.flatMap(([, methods]) => [...methods]))];
    return allowed.length === 0
      ? new ServiceError('not_found', 'There is nothing here.')
      : new ServiceError('method_not_allowed', `This path takes ${allowed.join(', ')}.`, {
          // RFC 9110 §15.5.6
          headers: { allow: allowed.join(', ') },
        });
  }

  function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = callersError(thrown) ?? translate(thrown) ?? fault(thrown, request);
    return reply
      .code(error.status)
      .headers(error.headers)
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .serializer(JSON.stringify)
      .send(bodyOf(request).write(error));
  }

  function bodyOf(request: FastifyRequest): ErrorBody {
    return request.routeOptions.config.errorBody ?? errorBodyFor(pathOf(request));
  }

  function fault(thrown: unknown, request: FastifyRequest): ServiceError {
    // A caller who hung up is in the log as the request's status 499.
    if (!request.raw.socket.destroyed) request.log.error({ err: thrown, req_id: request.id }, 'fault');
    return new ServiceError('internal', `Something went wrong on our side. Request id: ${request.id}.`);
  }

  return app;
}

/** Bodies come as they are (RFC 9110 §8.4: 415 for a coding that is not taken). */
function refuseEncoded({ headers }: FastifyRequest): void {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity') return;
  throw new ServiceError('unsupported_media_type', 'The body must be sent without a Content-Encoding.');
}

/** The app as a Node request handler; usable at once, requests wait until the app's plugins are loaded. */
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

/** A ServiceError, or what Fastify itself refuses a request with, as a ServiceError. */
function callersError(thrown: unknown): ServiceError | undefined {
  if (thrown instanceof ServiceError) return thrown;
  const { code, statusCode } = Object(thrown) as Partial<FastifyError>;
  if (code?.startsWith('FST_ERR_') !== true || statusCode === undefined || statusCode >= 500)
    return undefined;
  const kind = kindOfStatus(statusCode) ?? 'invalid';
  const message = MESSAGES[kind] ?? 'The request is not valid.';
  return new ServiceError(kind, message, { cause: thrown });
}

const MESSAGES: Partial<Record<ErrorKind, string>> = {
  not_found: 'There is nothing here.',
  too_large: `The body is larger than ${BODY_LIMIT} bytes.`,
  unsupported_media_type: 'The body must be sent as application/json.',
};

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

/** Whether a path fits a route's pattern such as /v1/users/:id. */
function matches(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const parts = path.split('/');
  return (
    expected.length === parts.length &&
    expected.every((part, i) => (part.startsWith(':') ? parts[i] !== '' : part === parts[i]))
  );
}

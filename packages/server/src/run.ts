import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { isUnder, prefixesOf, SERVICE_NAMES } from '@gatehouse/core/services';
import { runIn, type Span } from '@gatehouse/core/tracing';
import { LINKS } from '@gatehouse/web/pages';
import { completedRequest } from './completed-request.ts';
import {
  type ConnectionLimits,
  type Connections,
  DEFAULT_LIMITS,
  isEventStream,
  limitConnections,
  timeoutsOf,
} from './connections.ts';
import { createFallback } from './fallback.ts';
import { problem, sendJson } from './json-response.ts';
import { close, listen, noConnectionWaits } from './listening.ts';
import { createManagement } from './management.ts';
import { pathOf } from './request-path.ts';
import { type RequestInfo, requestInfo } from './requests.ts';
import type { Service } from './service.ts';
import { endRequestSpan, startRequestSpan } from './tracing/request-span.ts';
import { transportReader } from './transport.ts';
import { limitUnread } from './unread-responses.ts';

/** Limits that are not given are as in DEFAULT_LIMITS. */
export type RunOptions = Partial<ConnectionLimits> & {
  port: number;
  /**
   * Where health and metrics are served. With it, `port` is listened on once every service is ready, and a connection that is
   * kept alive ends with its next response after stop(). Without it, for a process that no load balancer looks after,
   * `port` serves all at once, and stop() closes idle connections.
   */
  managementPort?: number;
  host: string;
  logger: Logger;
  /** Addresses and CIDR ranges whose X-Forwarded-* headers are believed. */
  trustedProxies: readonly string[];
  /** Whether requests that did not come by HTTPS are refused; the health paths are exempt. */
  requireHttps: boolean;
  /**
   * How long stop() goes on serving, with /health/ready at 503, before no connection is accepted, in seconds: for load
   * balancers to send requests elsewhere. None by default.
   */
  shutdownDelaySeconds?: number;
  /** How long stop() then waits for requests in flight and for connections that are kept alive, in seconds. */
  drainSeconds: number;
};

export type Running = {
  /** The ports listened on; they differ from the options that were 0. That of the services is 0 until it is. */
  readonly port: number;
  readonly managementPort: number;
  /** Resolves when every service has started; rejects when one never can, or when stop() came first. */
  started: Promise<void>;
  /** Whether stop() has been called. */
  readonly stopping: boolean;
  /** Lets the shutdown delay pass, accepts no connection, lets those there are end, stops the services in reverse order. Idempotent. */
  stop(): Promise<void>;
};

/** How often is looked whether services that have started are ready. */
const READINESS_MS = 50;

/**
 * Serves the services on one port. Rejects when the port that is to be listened on first cannot be had: that of management, or
 * the only one, where a service that waits for its database answers 503 meanwhile. The services are started one after the
 * other: one that needs another in order to start must come after it.
 */
export async function run(services: readonly Service[], options: RunOptions): Promise<Running> {
  const { logger, host, managementPort, shutdownDelaySeconds = 0, drainSeconds } = options;
  const limits = { ...DEFAULT_LIMITS, ...options };
  const hasManagementPort = managementPort !== undefined;
  let isStarted = false;
  let stopping = false;
  const phase = () => (stopping ? 'stopping' : hasManagementPort && !isStarted ? 'starting' : 'serving');
  const management = createManagement(services, phase, logger);
  /** Whether connections end with their next response. */
  let draining = false;

  // Node's own answer to a missing Host header is not JSON.
  const server = createServer({
    requireHostHeader: false,
    ServerResponse: limitUnread(ServerResponse),
    ...timeoutsOf(limits),
  });
  const connections = limitConnections(server, limits, logger);
  const respond = createResponder(services, options, {
    server,
    connections,
    management,
    isDraining: () => draining,
  });
  server.on('request', respond);
  // Node would answer 417 to an expectation that it does not know, which may be ignored instead (RFC 9110 §10.1.1).
  server.on('checkExpectation', respond);
  server.on('clientError', refuseMalformed);
  const managementServer = createServer((request, response) => {
    response.setHeader('x-content-type-options', 'nosniff');
    const isKnown = management.respond(pathOf(request.url ?? '/'), response);
    if (!isKnown) sendJson(response, 404, problem('not_found', 'There is nothing here.'));
  });

  let listening = hasManagementPort
    ? listen(managementServer, managementPort, host)
    : listen(server, options.port, host);
  await listening;
  const begun: Service[] = [];
  const started = startInOrder();
  // The caller may await it later; until then a failure must not count as unhandled.
  started.catch(() => {});

  async function startInOrder(): Promise<void> {
    for (const service of services) {
      if (stopping) throw new Error(`stopped before ${service.name} was started`);
      begun.push(service);
      await service.start();
    }
    if (hasManagementPort) {
      while (!stopping && !(await management.isReady())) await sleep(READINESS_MS);
      if (stopping) throw new Error('stopped before the services were ready');
      listening = listen(server, options.port, host);
      await listening;
    }
    isStarted = true;
  }

  let stopped: Promise<void> | undefined;
  const stop = async () => {
    stopping = true;
    if (isStarted && shutdownDelaySeconds > 0) await sleep(shutdownDelaySeconds * 1000);
    draining = true;
    // Responses say that their connection is closed afterwards.
    for (const response of connections.withoutResponse()) {
      if (!response.headersSent) response.setHeader('connection', 'close');
      // It would go on until the drain is over.
      else if (isEventStream(response)) response.end();
    }
    await listening.catch(() => {});
    await noConnectionWaits(server);
    const closed = close(server, drainSeconds);
    if (!hasManagementPort) {
      server.closeIdleConnections();
      connections.closeUnused();
    }
    await closed;
    management.stop();
    const failures: unknown[] = [];
    await Promise.all(begun.map(async (service) => service.flush?.())).catch((error: unknown) =>
      failures.push(error),
    );
    for (const service of begun.toReversed()) {
      await service.stop().catch((error: unknown) => failures.push(error));
    }
    await close(managementServer, 0);
    if (failures.length > 0) throw new AggregateError(failures, 'not every service stopped cleanly');
  };
  return {
    get port() {
      return portOf(server);
    },
    get managementPort() {
      return portOf(managementServer);
    },
    started,
    get stopping() {
      return stopping;
    },
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Handles requests to the port of the services: passes each on to the service of its path, and observes its end. */
function createResponder(
  services: readonly Service[],
  options: RunOptions,
  parts: {
    server: Server;
    connections: Connections;
    management: ReturnType<typeof createManagement>;
    isDraining: () => boolean;
  },
) {
  const { server, connections, management, isDraining } = parts;
  const { logger, requireHttps } = options;
  const hasManagementPort = options.managementPort !== undefined;
  const transportOf = transportReader(options.trustedProxies);
  // Longest first, so that a service below another's prefix gets its requests.
  const table = services
    .flatMap((service) => service.prefixes.map((prefix) => ({ prefix, service })))
    .sort((a, b) => b.prefix.length - a.prefix.length);
  // The paths of services in other processes, too: the edge passes unknown ones on to the dashboard.
  const prefixes = [...table.map(({ prefix }) => prefix), ...SERVICE_NAMES.flatMap(prefixesOf)];
  const fallback = createFallback({ prefixes, links: LINKS });

  return (request: IncomingMessage, response: ServerResponse): void => {
    connections.begin(response);
    const { address, secure } = transportOf(request);
    const info = requestInfo(request, address);
    toOriginForm(request);
    const path = pathOf(request.url ?? '/');
    const begin = performance.now();
    /** None for the probes of operators, and for unknown paths. */
    let service: Service | undefined;
    let span: Span | undefined;
    response.on('close', () => {
      connections.end(response);
      const isStreaming = info.streamingSince !== undefined && response.headersSent;
      const status = response.writableFinished || isStreaming ? response.statusCode : 499;
      const ms = (info.streamingSince ?? performance.now()) - begin;
      runIn(span, () => logRequest({ method: request.method, info, path, status, ms }, logger));
      if (service !== undefined) {
        const completed = completedRequest(request.method, info, { status, ms, path });
        management.observe(service, completed);
        endRequestSpan(span, completed);
      }
      // The connection is idle from now on.
      if (isDraining() && !hasManagementPort) setImmediate(() => server.closeIdleConnections());
    });
    response.setHeader('x-request-id', info.id);
    response.setHeader('x-content-type-options', 'nosniff');
    if (isDraining()) response.setHeader('connection', 'close');

    const fault = headerFault(request);
    if (fault !== undefined) {
      response.setHeader('connection', 'close');
      return void sendJson(response, 400, problem('invalid_parameter', fault));
    }
    if (!hasManagementPort && management.respond(path, response)) return;
    service = table.find(({ prefix }) => isUnder(path, prefix))?.service;
    if (requireHttps) {
      if (!secure) {
        return void sendJson(
          response,
          403,
          problem('https_required', 'This interface is served over HTTPS only.'),
        );
      }
      // RFC 6797 §7.2: only over HTTPS, for a year.
      response.setHeader('strict-transport-security', 'max-age=31536000');
    }
    if (service === undefined) return void fallback(request, response, path);
    span = startRequestSpan(service.name, request);
    runIn(span, () => service.handle(request, response));
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0;
}

/**
 * RFC 9112 §3.2: a request has one Host header; RFC 9110 §5.3: no field twice that is not a list. Node keeps the first of
 * several, and a proxy may have acted on another.
 */
function headerFault({ rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  let hosts = 0;
  let credentials = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    if (name.length === 13 && name.toLowerCase() === 'authorization') credentials += 1;
  }
  if (hosts > 1) return 'There is more than one Host header.';
  if (hosts === 0 && httpVersion === '1.1') return 'The Host header is missing.';
  return credentials > 1 ? 'There is more than one Authorization header.' : undefined;
}

/** RFC 9112 §3.2.2: a server takes the absolute form too; the services know the origin form only. */
function toOriginForm(request: IncomingMessage): void {
  const origin = /^https?:\/\/[^/?#]*/i.exec(request.url ?? '')?.[0];
  if (origin === undefined) return;
  const rest = request.url?.slice(origin.length) ?? '';
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
}

/** One line for each request, when its response is out or its caller gone. */
function logRequest(
  request: { method: string | undefined; info: RequestInfo; path: string; status: number; ms: number },
  logger: Logger,
): void {
  const { method, info, path, status, ms } = request;
  const line = {
    req_id: info.id,
    method,
    // Where no route matched, the line has the path: without its query, and cut if it is long.
    route: (info.route ?? path).slice(0, 256),
    status,
    ms: Math.round(ms * 100) / 100,
    client: info.client,
    subject: info.subject,
    address: info.address,
    deprecated: info.deprecated,
  };
  // A dependency is unavailable for a while: not a fault of this process.
  if (status === 503) logger.warn(line, 'request');
  else if (status >= 500) logger.error(line, 'request');
  else if (path.startsWith('/health/')) logger.debug(line, 'request');
  else logger.info(line, 'request');
}

const LINGER_MS = 500;

/** Node refuses what is not HTTP before any handler runs; the caller still gets JSON. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: import('node:stream').Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The headers are too large.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request did not arrive in time.']
        : ['400 Bad Request', 'This is not a valid HTTP request.'];
  const body = JSON.stringify(problem('invalid_parameter', message));
  // The caller may leave its side open for ever. Destroyed at once, it might lose the response.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

import type { Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '@gatehouse/core/logger';

/** The limits of connections and requests; times are in seconds. */
export type ConnectionLimits = {
  /** How long the headers of a request may take to arrive, also on a new connection on which nothing is sent. */
  headersTimeoutSeconds: number;
  /** How long a request may take to arrive as a whole; no less than its headers. */
  requestTimeoutSeconds: number;
  /** How long the client may take, from the headers of a request, to receive its whole response. */
  responseTimeoutSeconds: number;
  /** How many connections may be open at once. */
  maxConnections: number;
};

export const DEFAULT_LIMITS: ConnectionLimits = {
  headersTimeoutSeconds: 10,
  requestTimeoutSeconds: 60,
  responseTimeoutSeconds: 120,
  maxConnections: 4096,
};

const CHECK_MS = 1000;
const WARN_EVERY_MS = 60_000;
/** How long a request may have been arriving before it makes room for others. */
const SLOW_MS = 1000;

/** The options of the server: Node answers a request that is too slow with `clientError`. */
export function timeoutsOf(limits: ConnectionLimits): ServerOptions {
  return {
    headersTimeout: limits.headersTimeoutSeconds * 1000,
    requestTimeout: limits.requestTimeoutSeconds * 1000,
    connectionsCheckingInterval: CHECK_MS,
  };
}

export type Connections = {
  /** A request has come. To be called once for each, before it is answered. */
  begin(response: ServerResponse): void;
  /** The response is closed. */
  end(response: ServerResponse): void;
  /** The requests that are not answered yet. */
  withoutResponse(): Iterable<ServerResponse>;
  /** Closes the connections on which nothing has been sent; Node does not count them as idle. */
  closeUnused(): void;
};

/** Whether it goes on for as long as both sides want. Its sender closes one that is not read. */
export function isEventStream(response: ServerResponse): boolean {
  return response.headersSent && response.getHeader('content-type') === 'text/event-stream';
}

/** A request that is not answered yet. */
type PendingRequest = { response: ServerResponse; begin: number };

/**
 * Closes connections whose response is not taken in time. For each new connection beyond the limit it closes one, so that idle ones do not
 * keep others out. If most connections have a request, it closes the one whose request has been arriving for longest; otherwise the one
 * that has been without a request for longest. If all requests have arrived, it closes the new connection.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, logger: Logger): Connections {
  /** The requests of each connection, the earliest first; several when they are pipelined. */
  const open = new Map<Socket, PendingRequest[]>();
  /** The idle connections, the one that has been idle longest first. */
  const silent = new Set<Socket>();
  let warnedAt = Number.NEGATIVE_INFINITY;

  function forget(socket: Socket): void {
    open.delete(socket);
    silent.delete(socket);
  }

  /** The earliest of the requests that have been arriving for longer than SLOW_MS. */
  function slowest(): Socket | undefined {
    let earliest = performance.now() - SLOW_MS;
    let socket: Socket | undefined;
    for (const [candidate, [first]] of open) {
      if (first === undefined || first.begin >= earliest || first.response.req.complete) continue;
      earliest = first.begin;
      socket = candidate;
    }
    return socket;
  }

  function makeRoom(): void {
    if (performance.now() - warnedAt > WARN_EVERY_MS) {
      warnedAt = performance.now();
      logger.warn({ connections: open.size }, 'too many connections');
    }
    // Idle connections get half of the limit: with less, new ones would be closed before they can send a request.
    const isMostlyBusy = silent.size * 2 < limits.maxConnections;
    const socket = (isMostlyBusy ? slowest() : undefined) ?? silent.values().next().value;
    if (socket === undefined) return;
    // Not only at its close event, since many connections may come before that.
    forget(socket);
    socket.destroy();
  }

  server.on('connection', (socket) => {
    open.set(socket, []);
    silent.add(socket);
    socket.once('close', () => forget(socket));
    if (open.size > limits.maxConnections) makeRoom();
  });

  const check = setInterval(() => {
    const earliest = performance.now() - limits.responseTimeoutSeconds * 1000;
    for (const [socket, [first]] of open) {
      if (first !== undefined && first.begin <= earliest && !isEventStream(first.response)) socket.destroy();
    }
  }, CHECK_MS).unref();
  server.on('close', () => clearInterval(check));

  return {
    begin(response) {
      const { socket } = response.req;
      open.get(socket)?.push({ response, begin: performance.now() });
      silent.delete(socket);
    },
    end(response) {
      const { socket } = response.req;
      const requests = open.get(socket);
      if (requests === undefined) return;
      const i = requests.findIndex((request) => request.response === response);
      if (i !== -1) requests.splice(i, 1);
      if (requests.length === 0) silent.add(socket);
    },
    withoutResponse: () => [...open.values()].flatMap((requests) => requests.map(({ response }) => response)),
    closeUnused() {
      for (const socket of open.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

import type { Server, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from './logger.ts';

/** What callers can hold of a server, and for how long, in seconds. */
export type ConnectionLimits = {
  /** How long the headers of a request may take to arrive, also on a new connection on which nothing is sent. */
  headersTimeoutSeconds: number;
  /** How long a request may take to arrive as a whole; no less than its headers. */
  requestTimeoutSeconds: number;
  /** How long it may take from the headers of a request until its whole answer has been taken. */
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
  unanswered(): Iterable<ServerResponse>;
  /** Closes the connections on which nothing has been sent; Node does not count them as idle. */
  closeUnused(): void;
};

type Connection = {
  /** The requests that are not answered yet, the earliest first; several when they are pipelined. */
  requests: { response: ServerResponse; begin: number }[];
  /** When the last answer ended, or the connection began. */
  silentSince: number;
};

/**
 * Closes connections whose answer is not taken in time, and one connection for each new one beyond the limit: the one that
 * has gone longest without a request, so that connections that do nothing do not keep out those that do. When all have a
 * request, the new one.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, logger: Logger): Connections {
  const open = new Map<Socket, Connection>();
  /** Those that had no request when it was last looked, the one that had been silent for longest last. */
  let silent: { socket: Socket; since: number }[] = [];
  let warnedAt = Number.NEGATIVE_INFINITY;

  function makeRoom(): void {
    if (performance.now() - warnedAt > WARN_EVERY_MS) {
      warnedAt = performance.now();
      logger.warn({ connections: open.size }, 'too many connections');
    }
    const socket = longestSilent();
    if (socket === undefined) return;
    // Not only when it is closed, since many connections may come before that.
    open.delete(socket);
    socket.destroy();
  }

  /** Looks at all connections only when those that it found the last time are used up: a flood would make it look for each. */
  function longestSilent(): Socket | undefined {
    for (const isNew of [false, true]) {
      if (isNew) silent = silentNow();
      for (let next = silent.pop(); next !== undefined; next = silent.pop()) {
        const found = open.get(next.socket);
        // One that has had a request meanwhile has been silent for less time than the others.
        if (found?.requests.length === 0 && found.silentSince === next.since) return next.socket;
      }
    }
    return undefined;
  }

  function silentNow(): typeof silent {
    return [...open]
      .filter(([, { requests }]) => requests.length === 0)
      .map(([socket, { silentSince: since }]) => ({ socket, since }))
      .sort((one, other) => other.since - one.since);
  }

  server.on('connection', (socket) => {
    open.set(socket, { requests: [], silentSince: performance.now() });
    socket.once('close', () => open.delete(socket));
    if (open.size > limits.maxConnections) makeRoom();
  });

  const check = setInterval(() => {
    silent = [];
    const earliest = performance.now() - limits.responseTimeoutSeconds * 1000;
    for (const [socket, { requests }] of open) {
      if (requests[0] !== undefined && requests[0].begin <= earliest) socket.destroy();
    }
  }, CHECK_MS).unref();
  server.on('close', () => clearInterval(check));

  return {
    begin(response) {
      open.get(response.req.socket)?.requests.push({ response, begin: performance.now() });
    },
    end(response) {
      const connection = open.get(response.req.socket);
      if (connection === undefined) return;
      const i = connection.requests.findIndex((request) => request.response === response);
      if (i !== -1) connection.requests.splice(i, 1);
      connection.silentSince = performance.now();
    },
    unanswered: () => [...open.values()].flatMap(({ requests }) => requests.map(({ response }) => response)),
    closeUnused() {
      for (const socket of open.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

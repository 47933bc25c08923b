import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * How many connections may wait to be accepted; the system may allow less. With Node's 511 a burst of a thousand
 * overflows it while the process is busy, and some are reset seconds later.
 */
const BACKLOG = 4096;
/** For how many turns of the event loop connections may go on coming, one in each. */
const MAX_TURNS = 1000;

/** Resolves when the server listens; rejects when the port cannot be had. */
export function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/**
 * Resolves in a turn of the event loop in which no connection has come, or when that takes too long: the system resets those
 * that are established and not accepted yet when the server stops listening, with the requests that were sent on them. Node
 * accepts one each turn.
 */
export async function noConnectionWaits(server: Server): Promise<void> {
  let quietTurns = 0;
  const onConnection = () => {
    quietTurns = 0;
  };
  server.on('connection', onConnection);
  // The turn that has begun may have looked for connections before this.
  for (let turn = 0; quietTurns < 2 && turn < MAX_TURNS; turn += 1) {
    quietTurns += 1;
    await nextTurn();
  }
  server.off('connection', onConnection);
}

/**
 * Accepts no connection from now on, and resolves when all have ended: each by itself, or after `seconds`. Those without a
 * request are left to their timeout, since a client that keeps one may be sending the next.
 */
export function close(server: Server, seconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), seconds * 1000);
    // close() of http.Server would close idle connections.
    NetServer.prototype.close.call(server, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

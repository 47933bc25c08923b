import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A load balancer: passes each request on to one of its origins in turn, over a connection of its own. A request whose origin
 * cannot be reached is broken off, and not repeated; with `tryOthers`, it goes to the other origins first, as Caddy does.
 */
export async function startBalancer(
  t: { teardown(action: () => unknown): void },
  { tryOthers = false } = {},
) {
  let origins: string[] = [];
  const inFlight = new Map<string, number>();
  let turn = 0;
  function passOn(incoming: IncomingMessage, response: ServerResponse, attempts: number): void {
    turn += 1;
    const origin = origins[turn % origins.length] ?? '';
    const count = (by: number) => inFlight.set(origin, (inFlight.get(origin) ?? 0) + by);
    count(1);
    response.once('close', () => count(-1));
    const { method, url: path, headers } = incoming;
    const passedOn = request(`${origin}${path}`, { method, headers, agent: false }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    passedOn.on('error', (error: NodeJS.ErrnoException) => {
      // Nothing of the request has been read yet where no connection was made.
      const isRepeatable = error.code === 'ECONNREFUSED' || (method === 'GET' && !response.headersSent);
      if (isRepeatable && attempts > 1) passOn(incoming, response, attempts - 1);
      else response.destroy();
    });
    passedOn.on('socket', (socket) => socket.once('connect', () => incoming.pipe(passedOn)));
  }
  const server = createServer((incoming, response) =>
    passOn(incoming, response, tryOthers ? 2 * origins.length : 1),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use(...next: string[]) {
      origins = next;
    },
    inFlightOf: (origin: string) => inFlight.get(origin) ?? 0,
  };
}

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A load balancer: passes each request on to one of its origins in turn, over a connection of its own. A request whose origin
 * cannot be reached is broken off, and not repeated.
 */
export async function startBalancer(t: { teardown(action: () => unknown): void }) {
  let origins: string[] = [];
  const inFlight = new Map<string, number>();
  let turn = 0;
  const server = createServer((incoming, response) => {
    turn += 1;
    const origin = origins[turn % origins.length] ?? '';
    const count = (by: number) => inFlight.set(origin, (inFlight.get(origin) ?? 0) + by);
    count(1);
    response.on('close', () => count(-1));
    const { method, url: path, headers } = incoming;
    const passedOn = request(`${origin}${path}`, { method, headers, agent: false }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    passedOn.on('error', () => response.destroy());
    incoming.pipe(passedOn);
  });
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

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Makes a server listen on loopback until the test ends; returns its port. */
export async function listen(
  t: { teardown(action: () => unknown): void },
  server: Server & { closeAllConnections?(): void },
): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections?.();
  });
  return (server.address() as AddressInfo).port;
}

/** Counts the connections that a server has had, and has. */
export function countConnections(server: Server) {
  const seen = { connections: 0, open: 0 };
  server.on('connection', (socket) => {
    seen.connections += 1;
    seen.open += 1;
    socket
      .on('error', () => {})
      .once('close', () => {
        seen.open -= 1;
      });
  });
  return seen;
}

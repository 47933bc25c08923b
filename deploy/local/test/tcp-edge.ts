import { connect, createServer } from 'node:net';
import { listen } from '@gatehouse/testing/listen';

const HOST = '127.0.0.1';

/** Passes connections on to these ports in turn, without those that accept none; returns its own port. */
export async function startTcpEdge(
  t: { teardown(action: () => unknown): void },
  ports: readonly number[],
): Promise<number> {
  let turn = 0;
  const edge = createServer((client) => {
    const attempt = (left: number): void => {
      if (left === 0) return void client.destroy();
      turn += 1;
      const server = connect(Number(ports[turn % ports.length]), HOST);
      server.once('error', () => attempt(left - 1));
      server.once('connect', () => {
        server.removeAllListeners('error');
        for (const [from, to] of [
          [client, server],
          [server, client],
        ] as const) {
          from.on('error', () => to.destroy());
          from.on('close', () => to.destroy());
        }
        client.pipe(server).pipe(client);
      });
    };
    client.on('error', () => {});
    attempt(ports.length);
  });
  return listen(t, edge);
}

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running, RunOptions } from '@gatehouse/server/run';
import type { Service } from '@gatehouse/server/service';
import { runServices, service } from '@gatehouse/testing/run-services';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import type { Test } from 'tap';

export type Line = Record<string, unknown>;
type Served = { running: Running; url: string; lines: Line[] };

export async function serve(
  t: Test,
  services: readonly Service[],
  options: Partial<RunOptions> = {},
): Promise<Served> {
  const { logger, lines } = recordingLogger('debug');
  return { ...(await runServices(t, services, { logger, ...options })), lines };
}

/** A service that keeps its requests until they are answered by hand. */
export function holding(name: string, parts: Partial<Service> = {}) {
  const held: { request: IncomingMessage; response: ServerResponse }[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    void held.push({ request, response });
  const next = () => until(() => held.shift());
  return { ...service(name, { handle, ...parts }), next };
}

export async function until<T>(read: () => T | undefined | false): Promise<T> {
  const giveUpAt = performance.now() + 5000;
  while (performance.now() < giveUpAt) {
    const value = read();
    if (value !== undefined && value !== false) return value;
    await sleep(5);
  }
  throw new Error('waited 5 s in vain');
}

export async function open(t: Test, port: number, sent = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(sent);
  return socket;
}

/** All that the server sends until it closes the connection, as head and body. */
export async function respond(socket: Socket): Promise<{ head: string; body: string }> {
  const all = (await buffer(socket)).toString();
  const [head = '', body = ''] = all.split('\r\n\r\n', 2);
  return { head, body };
}

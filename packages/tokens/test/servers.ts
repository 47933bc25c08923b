import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type TestScope = { teardown(fn: () => void): void };

/** A request as it came to a test's server. */
export type Received = { method: string; path: string; headers: IncomingMessage['headers']; body: string };
export type JsonResponse = { status: number; body?: unknown; headers?: Record<string, string> };

/** A server on loopback until the test ends, which answers what the test says, and keeps what it was asked. */
export async function serve(
  t: TestScope,
  reply: (request: Received) => JsonResponse | Promise<JsonResponse>,
) {
  const received: Received[] = [];
  const url = await listen(t, async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const whole = { method, path, headers, body: await text(request) };
    received.push(whole);
    const { status, body, headers: more } = await reply(whole);
    response.writeHead(status, more ?? { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  return { url, received };
}

/** Where a listener answers until the test ends. */
export async function listen(t: TestScope, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Where nobody listens. */
export async function nobody(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

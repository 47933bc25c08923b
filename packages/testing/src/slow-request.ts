import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';

export type SlowResponse = { status: number; headers: IncomingMessage['headers']; text: string };

/** Sends a request whose body stops half-way. `meanwhile` runs after the server has begun to read the body, and before the rest is sent. */
export async function sendSlowly(
  url: string,
  { method = 'POST', headers, body }: { method?: string; headers: Record<string, string>; body: string },
  meanwhile: () => Promise<unknown>,
): Promise<SlowResponse> {
  const half = Math.ceil(body.length / 2);
  const request = http.request(url, {
    method,
    agent: false,
    // A client that expects it is told when a handler has the request (RFC 9110 §10.1.1).
    headers: { ...headers, 'content-length': Buffer.byteLength(body), expect: '100-continue' },
  });
  const responded = once(request, 'response') as Promise<[IncomingMessage]>;
  // The server may answer before it has the whole body.
  const begun = Promise.race([once(request, 'continue'), responded]);
  request.flushHeaders();
  await begun;
  request.write(body.slice(0, half));
  await meanwhile();
  request.on('error', () => {});
  request.end(body.slice(half));
  const [response] = await responded;
  const chunks = await response.toArray();
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

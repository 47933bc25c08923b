import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SERVICE_NAMES, type ServiceName } from '@gatehouse/core/services';
import t from 'tap';
import { createApi } from '../../src/api/api.ts';
import { ApiError } from '../../src/api/api-error.ts';

type JsonResponse = { status: number; body: string };

/** What asking for a token comes to when the token endpoint responds so. */
async function tryWith(reply: JsonResponse): Promise<unknown> {
  const server = createServer((_, response) => response.writeHead(reply.status).end(reply.body));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const serviceUrls = Object.fromEntries(SERVICE_NAMES.map((name) => [name, origin]));
  const connect = createApi({ serviceUrls: serviceUrls as Record<ServiceName, string>, scheme: 'http' });
  const api = connect(async () => 'token', { requestId: 'req', address: '127.0.0.1', userAgent: 'test' });
  try {
    return await api.tokenOf({ clientId: 'app', clientSecret: 'secret' });
  } catch (error) {
    return error instanceof ApiError ? `ApiError ${error.status}: ${error.message}` : error;
  } finally {
    server.close();
  }
}

t.test('only a refused client has a wrong secret', async (t) => {
  const error = (code: string, description: string) =>
    JSON.stringify({ error: code, error_description: description });
  const cases: [reply: JsonResponse, outcome: unknown][] = [
    [{ status: 401, body: error('invalid_client', 'no') }, undefined],
    [{ status: 400, body: error('invalid_request', 'DPoP is missing') }, 'ApiError 400: DPoP is missing'],
    [{ status: 429, body: error('slow_down', 'Too many') }, 'ApiError 429: Too many'],
    [{ status: 503, body: '<html>' }, 'ApiError 503: The API answered 503.'],
    [{ status: 200, body: '<html>' }, 'ApiError 502: The response of this part of Gatehouse cannot be read.'],
  ];
  for (const [reply, outcome] of cases) t.equal(await tryWith(reply), outcome, reply.body);
});

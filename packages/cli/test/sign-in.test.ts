import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createSignIn } from '../src/sign-in.ts';

/** The responses that the server has not ended. */
const open: ServerResponse[] = [];
const server = createServer((request, response) => {
  const bodies: Record<string, object> = {
    '/.well-known/openid-configuration': {
      issuer: url,
      device_authorization_endpoint: `${url}/device`,
      token_endpoint: `${url}/token`,
    },
    '/device': { device_code: 'd', user_code: 'u', verification_uri: url, expires_in: 1, interval: 2 },
  };
  const body = bodies[request.url ?? ''];
  response.setHeader('content-type', body === undefined ? 'text/event-stream' : 'application/json');
  if (body !== undefined) return void response.end(JSON.stringify(body));
  response.write('data: 1\n\n');
  open.push(response);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => server.closeAllConnections());
t.teardown(() => server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const signIn = createSignIn('test');

t.test('a code that expires is named as the reason', async (t) => {
  const { wait } = await signIn.start(url);
  await t.rejects(wait(), { message: /^The code expired before anybody allowed the sign-in/ });
});

t.test('a stream of events outlasts the time limit of other requests', async (t) => {
  const { timeout } = AbortSignal;
  // Thirty seconds take 300 ms.
  t.capture(AbortSignal, 'timeout', (ms: number) => timeout.call(AbortSignal, ms / 100));
  const { privateKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
  ]);
  const key = await crypto.subtle.exportKey('jwk', privateKey);
  const credentials = { accessToken: 'a', refreshToken: 'r', expiresAt: Number.MAX_SAFE_INTEGER, key };
  const get = (accept: string) =>
    signIn.send(url, credentials, new URL(`${url}/stream`), {
      method: 'GET',
      headers: new Headers({ accept }),
    });

  const stream = await get('text/event-stream');
  await t.rejects(
    get('application/json').then((response) => response.text()),
    { name: 'TimeoutError' },
  );
  for (const response of open) response.end('data: 2\n\n');
  t.equal(await stream.text(), 'data: 1\n\ndata: 2\n\n');
});

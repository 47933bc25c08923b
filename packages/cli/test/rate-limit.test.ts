import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createApiClient } from '../src/api-client.ts';
import { createDeployment } from '../src/configuration/deployment.ts';

/** The `Retry-After` of the next responses, which are 429; 200 once there are no more. */
const delays: string[] = [];
const server = createServer((_, response) => {
  const delay = delays.shift();
  if (delay === undefined) response.end('{}');
  else response.writeHead(429, { 'retry-after': delay }).end('{"error":"Too many requests."}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
t.teardown(() => server.close());

const notes: string[] = [];
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const { request } = createDeployment(createApiClient({ url, userAgent: 'test' }), {
  note: (text) => notes.push(text),
});

t.test('requests wait together for as long as the deployment says', async (t) => {
  delays.push('1', '1');
  const responses = await Promise.all([request('GET', '/a'), request('GET', '/b')]);
  t.match(responses, [{ status: 200 }, { status: 200 }]);
  t.strictSame(notes.splice(0), ['Too many requests: waiting 1 s…']);
});

t.test('a pause of more than a minute is an error', async (t) => {
  for (const delay of ['61', '3600', 'Mon, 30 Nov 2026 12:00:00 GMT']) {
    delays.push(delay);
    await t.rejects(request('GET', '/a'), {
      message: 'Too many requests. Run the command again later: an apply continues where it ended.',
    });
  }
  t.strictSame(notes, []);
});

import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { v2Body } from '@gatehouse/api/http/error-bodies';
import { createApp } from '@gatehouse/api/resource/app';
import { type JsonResponse, send, sendStream } from '@gatehouse/api/resource/json-response';
import { until } from '@gatehouse/testing/processes';
import { logger } from '@gatehouse/testing/test-logger';
import t, { type Test } from 'tap';

const PIECE_BYTES = 256 * 1024;

async function sent(t: Test, response: JsonResponse) {
  const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
  t.teardown(() => app.close());
  app.get('/', async (_request, reply) => send(reply, response));
  const { statusCode: status, headers, body } = await app.inject('/');
  return { status, headers, body };
}

t.test('a serialized answer is sent as it is', async (t) => {
  const text = '{"a": "ä"}';
  const { status, headers, body } = await sent(t, { status: 201, headers: { location: '/x' }, text });
  t.equal(status, 201);
  t.match(headers, {
    location: '/x',
    'content-type': 'application/json; charset=utf-8',
    'content-length': '11',
  });
  t.equal(body, text);
});

t.test('some statuses have no body', async (t) => {
  for (const status of [204, 304]) {
    const reply = await sent(t, { status, headers: { etag: '"v1"' }, text: 'not sent' });
    t.equal(reply.status, status);
    t.equal(reply.headers.etag, '"v1"');
    t.equal(reply.body, '');
    t.notOk('content-type' in reply.headers);
  }
});

t.test('a stream waits for its client, and ends with it', async (t) => {
  const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
  t.teardown(() => app.close());
  let read = 0;
  const closed = Promise.withResolvers<void>();
  async function* endless() {
    try {
      for (;;) {
        read += 1;
        yield Buffer.alloc(PIECE_BYTES);
      }
    } finally {
      closed.resolve();
    }
  }
  app.get('/', async (_request, reply) => sendStream(reply.header('content-length', PIECE_BYTES), endless()));
  app.get('/endless', async (_request, reply) => sendStream(reply, endless()));
  const base = await app.listen({ port: 0, host: '127.0.0.1' });

  const head = await fetch(base, { method: 'HEAD' });
  t.equal(head.headers.get('content-length'), `${PIECE_BYTES}`);
  t.equal(read, 0, 'nothing is read for HEAD');

  const request = get(`${base}/endless`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => {});
  let before = -1;
  // Until the buffers of the system are full.
  await until(async () => {
    const isStill = read === before;
    before = read;
    await sleep(200);
    return isStill;
  }, 20_000);
  t.ok(read * PIECE_BYTES < 32e6, `${read} pieces`);
  response.destroy();
  await closed.promise;
});

import { v2Body } from '@gatehouse/http/error-bodies';
import { createLogger } from '@gatehouse/kit/logger';
import { type Answer, send } from '@gatehouse/resource/answer';
import { createApp } from '@gatehouse/resource/app';
import t, { type Test } from 'tap';

async function sent(t: Test, answer: Answer) {
  const logger = createLogger({ name: 'test', level: 'silent', readable: false });
  const app = createApp({ logger, errorBodyFor: () => v2Body, translate: () => undefined });
  t.teardown(() => app.close());
  app.get('/', async (_request, reply) => send(reply, answer));
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
    const answer = await sent(t, { status, headers: { etag: '"v1"' }, text: 'not sent' });
    t.equal(answer.status, status);
    t.equal(answer.headers.etag, '"v1"');
    t.equal(answer.body, '');
    t.notOk('content-type' in answer.headers);
  }
});

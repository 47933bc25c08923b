import { newId } from '@gatehouse/core/ids';
import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { ANN, BOB, build, SCOPES } from './build.ts';

const { call, issuer, publish, order, base, create, at, ann } = await build(t);

type Sent = { id: string; event: string; data: { type: string; test?: boolean } };

/** A stream of events, as the holder of a token reads it. */
async function follow(token: string, query = '', headers: Record<string, string> = {}) {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const response = await fetch(`${base}/api/v1/events${query}`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  });
  const stream = { status: response.status, headers: response.headers, sent: [] as Sent[], isEnded: false };
  void (async () => {
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (id !== '') stream.sent.push({ id, event, data: JSON.parse(data) });
      }
    }
    stream.isEnded = true;
  })().catch(() => {});
  return stream;
}
const typesOf = ({ sent }: { sent: Sent[] }) => sent.map(({ event }) => event);
const test = (type: string, token = ann) =>
  call('POST', '/api/v1/events/test', token, { type }) as unknown as Promise<{
    status: number;
    text: string;
    body: { id: string };
  }>;

const bob = await issuer.person(BOB, 'user', SCOPES);
const admin = await issuer.person('usr_admin', 'admin', `${SCOPES} read:all manage:apps`);
const busy = await issuer.person('usr_06f2k1c8w0h3v5n7q9t1x3z5b9', 'user', `${SCOPES} manage:apps`);

t.test('a stream has the events that its reader may read, from now on or after a given one', async (t) => {
  await publish('commerce.order.created', order('ord_before', ANN));
  await until(async () => (await call('GET', '/api/v1/events', admin)).body.data.length >= 2, 5000);
  const stream = await follow(ann);
  t.equal(stream.status, 200);
  t.equal(stream.headers.get('content-type'), 'text/event-stream');
  const filtered = await follow(ann, '?filter[type]=stock.changed');
  const other = await follow(bob);
  const all = await follow(admin);
  await publish('commerce.order.created', order('ord_ann', ANN));
  await publish('commerce.order.created', order('ord_bob', BOB));
  await until(() => all.sent.length >= 4 && other.sent.length >= 3, 5000);
  t.same(typesOf(all).sort(), ['order.created', 'order.created', 'stock.changed', 'stock.changed']);
  await until(() => stream.sent.length >= 3 && filtered.sent.length >= 2, 5000);
  t.same(typesOf(stream).sort(), ['order.created', 'stock.changed', 'stock.changed']);
  t.same(typesOf(filtered), ['stock.changed', 'stock.changed']);
  t.same(typesOf(other).sort(), ['order.created', 'stock.changed', 'stock.changed']);
  const [first] = stream.sent;
  const resumed = await follow(ann, '', { 'last-event-id': first?.id ?? '' });
  await until(() => resumed.sent.length >= 2, 5000);
  t.same(resumed.sent, stream.sent.slice(1));
});

t.test('a test event goes to its sender alone: to streams, and to webhooks of its type', async (t) => {
  await create('/orders');
  await create('/users', { events: ['user.*'] });
  const [own, admins, others] = [await follow(ann), await follow(admin), await follow(bob)];
  const { status, body } = await test('order.created');
  t.equal(status, 202);
  await until(() => own.sent.length >= 1 && at('/orders').length >= 1, 5000);
  t.match(own.sent, [{ id: body.id, event: 'order.created', data: { type: 'order.created', test: true } }]);
  t.match(JSON.parse(at('/orders')[0]?.body ?? ''), { type: 'order.created', test: true });
  t.equal(at('/orders')[0]?.headers['webhook-id'], body.id);
  t.equal((await call('GET', `/api/v1/events/${body.id}`, bob)).status, 404);
  t.equal((await call('GET', `/api/v1/events/${body.id}`, admin)).status, 404);
  await test('order.created', admin);
  await until(() => admins.sent.length >= 1, 5000);
  t.equal(admins.sent.length, 1, 'an admin gets their own alone');
  t.same([own.sent.length, others.sent.length, at('/users').length, at('/orders').length], [1, 0, 0, 1]);
});

t.test('refusals', async (t) => {
  const reader = await issuer.person(ANN, 'user', 'read:data manage:apps');
  const ofApplication = await issuer.sign({ sub: ANN, client_id: 'app_x', roles: ['user'], scope: SCOPES });
  const cases: [name: string, response: Promise<{ status: number; text?: string }>, status: number][] = [
    ['by the consent of a person', test('order.created', ofApplication), 403],
    ['no such type', test('order.creatd'), 400],
    ['the type of tests of webhooks', test('webhook.test'), 400],
    ['a type that needs another scope', test('user.created', reader), 403],
    ['no scope', test('order.created', await issuer.person(ANN, 'user', 'write:data')), 403],
    ['a stream without a scope', follow(await issuer.person(ANN, 'user', 'write:data')), 403],
    ['a position that is no id', follow(ann, '', { 'last-event-id': 'x' }), 400],
    ['a filter that there is not', follow(ann, '?filter[colour]=red'), 400],
  ];
  for (const [name, response, status] of cases) t.equal((await response).status, status, name);
  t.match((await test('order.creatd')).text, /The nearest is order\.created/);
  const sent = await Promise.all(Array.from({ length: 61 }, () => test('order.created', busy)));
  t.equal(sent.filter(({ status }) => status === 429).length, 1, 'after 60 in a minute');
  const head = await fetch(`${base}/api/v1/events`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${ann}`, accept: 'text/event-stream' },
  });
  t.equal(head.headers.get('content-type'), 'application/json; charset=utf-8');
});

t.test('a stream ends within a second of its token, and a person has 20', async (t) => {
  const token = await issuer.person(BOB, 'user', SCOPES);
  const other = await issuer.sign({ sub: BOB, client_id: 'app_other', roles: ['user'], scope: SCOPES });
  const streams = await Promise.all(Array.from({ length: 22 }, () => follow(token)));
  t.equal((await follow(other)).status, 429, 'by whatever applications');
  t.equal(streams.filter(({ status }) => status === 429).length, 4, 'with the two of before');
  const begun = performance.now();
  issuer.revoke({ kind: 'token', id: JSON.parse(atob(token.split('.')[1] ?? '')).jti });
  await until(() => streams.every(({ isEnded }) => isEnded), 5000);
  t.ok(performance.now() - begun < 1000);
  const expiring = await issuer.sign({
    trusted: true,
    scope: SCOPES,
    exp: Math.floor(Date.now() / 1000) + 2,
  });
  const stream = await follow(expiring);
  t.equal(stream.status, 200);
  await until(() => stream.isEnded, 5000);
  await publish('commerce.order.created', order(newId('ord'), ANN));
  t.same(stream.sent, []);
});

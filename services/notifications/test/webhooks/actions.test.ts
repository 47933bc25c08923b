import { randomBytes } from 'node:crypto';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { until } from '@gatehouse/testing/processes';
import { Webhook as Verifier } from 'standardwebhooks';
import t from 'tap';
import { createWebhookSecrets } from '../../src/webhooks/secrets.ts';
import { ANN, BOB, build, type Delivery, type Webhook } from './build.ts';

const { hooks, create, delivered, deliveries, publish, order, at, behave, call, ann, issuer } =
  await build(t);

t.test('a test is delivered, also where no event would be', async (t) => {
  const hook = await create('/tested', { events: ['report.*'] });
  const { status, body } = await hooks<Delivery>('POST', `/${hook.id}/test`);
  t.equal(status, 202);
  t.match(body, { type: 'webhook.test', status: 'pending' });
  await delivered(hook.id, 1);
  const [request] = at('/tested');
  t.match(new Verifier(hook.secret).verify(request?.body ?? '', request?.headers ?? {}), {
    type: 'webhook.test',
    data: { webhook_id: hook.id },
  });
  const admin = await issuer.person('usr_admin', 'admin', 'read:data read:all');
  t.equal((await call('GET', `/api/v1/events/${body.event_id}`, admin)).status, 404, 'it is nobody else’s');
});

t.test('two secrets sign while one is replaced, and never three', async (t) => {
  const hook = await create('/rotated');
  const first = hook.secret;
  const rotate = async (seconds: number) =>
    (await hooks<Webhook>('POST', `/${hook.id}/rotate`, { overlap_seconds: seconds })).body.secret;
  const second = await rotate(3600);
  const third = await rotate(3600);
  t.equal(new Set([first, second, third]).size, 3);
  await hooks('POST', `/${hook.id}/test`);
  await delivered(hook.id, 1);
  const verifies = (secret: string) => {
    const { body = '', headers = {} } = at('/rotated').at(-1) ?? {};
    try {
      return new Verifier(secret).verify(body, headers) !== undefined;
    } catch {
      return false;
    }
  };
  t.same([first, second, third].map(verifies), [false, true, true]);
  const last = await rotate(0);
  await until(async () => {
    await hooks('POST', `/${hook.id}/test`);
    return verifies(last) && !verifies(third);
  }, 10_000);
  t.equal((await hooks('POST', `/${hook.id}/rotate`, { overlap_seconds: 1e9 })).status, 400);
});

t.test('sent again, and replayed', async (t) => {
  behave('/again', (_request, response) => response.writeHead(200).end());
  const hook = await create('/again', { events: ['order.created'] });
  await publish('commerce.order.created', order('ord_a', ANN));
  await publish('commerce.order.created', order('ord_b', BOB));
  const [delivery] = await delivered(hook.id, 1);
  const resent = await hooks<Delivery>('POST', `/${hook.id}/deliveries/${delivery?.id}/resend`);
  t.match(resent, { status: 202, body: { id: delivery?.id, status: 'pending' } });
  await until(async () => (await deliveries(hook.id))[0]?.attempts.length === 2, 10_000);
  t.equal((await hooks('POST', `/${hook.id}/deliveries/dlv_x/resend`)).status, 404);

  const late = await create('/late', { events: ['order.created'] });
  const from = new Date(Date.now() - 60_000).toISOString();
  let replayed = 0;
  await until(async () => {
    // An event is listed a moment after it was stored.
    replayed = (await hooks<{ replayed: number }>('POST', `/${late.id}/replay`, { from })).body.replayed;
    return replayed === 1;
  }, 10_000);
  await delivered(late.id, 1);
  t.same(
    at('/late')
      .map(({ body }) => JSON.parse(body).data.order_id)
      .filter((id, i, all) => all.indexOf(id) === i),
    ['ord_a'],
    'not what is Bob’s',
  );
  t.equal((await hooks('POST', `/${late.id}/replay`, { from: 'yesterday' })).status, 400);
});

t.test('after days of failures it is paused, and goes on when its owner says so', async (t) => {
  behave('/down', (_request, response) => response.writeHead(500).end());
  const quick = await build(t, { scale: 0.000_005 });
  quick.behave('/down', (_request, response) => response.writeHead(500).end());
  const hook = await quick.create('/down');
  await quick.publish('commerce.order.created', quick.order('ord_c', ANN));
  const [failed] = await quick.delivered(hook.id, 1, 'failed');
  t.equal(failed?.reason, 'The endpoint has failed for three days.');
  t.match((await quick.hooks('GET', `/${hook.id}`)).body, { status: 'paused', pause_reason: 'failing' });
  t.equal((await quick.hooks('POST', `/${hook.id}/test`)).status, 409);
  quick.behave('/down', (_request, response) => response.writeHead(204).end());
  t.match(await quick.hooks('PATCH', `/${hook.id}`, { status: 'active' }), {
    status: 200,
    body: { status: 'active', pause_reason: null },
  });
  await quick.hooks('POST', `/${hook.id}/deliveries/${failed?.id}/resend`);
  await quick.delivered(hook.id, 1);
});

t.test('an endpoint that is gone is paused at once, which identity tells its owner', async (t) => {
  behave('/gone', (_request, response) => response.writeHead(410).end());
  const { id } = await create('/gone', { events: ['*'] });
  await hooks('POST', `/${id}/test`);
  const paused = () =>
    issuer.queueActions.taken.find(
      ({ action, details }) => action === 'webhook.paused' && Object(details).webhook === id,
    );
  await until(() => paused() !== undefined, 15_000);
  t.match(paused(), { details: { reason: 'gone', status: 'paused' }, subject: ANN });
  t.match((await hooks<Webhook>('GET', `/${id}`)).body, { status: 'paused' });
});

t.test('requests of deliveries stay out of private networks, whatever a name leads to', async (t) => {
  // The name leads to this machine by the time of the request, as in DNS rebinding. There is no DNS of ours to ask.
  const { lookup } = dns;
  const rebound = (name: string, options: object, done: (error: null, found: object[]) => void) =>
    name === 'rebound.example.com'
      ? done(null, [{ address: '127.0.0.1', family: 4 }])
      : lookup(name, options as { all: true }, done as never);
  dns.lookup = rebound as never;
  syncBuiltinESMExports();
  t.teardown(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });
  const guarded = await build(t, { networks: [] });
  for (const url of [
    'https://localhost/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://intranet/',
    guarded.origin,
  ]) {
    const { status, body } = await guarded.hooks('POST', '', { url, events: ['*'] });
    t.equal(status, 400, url);
    t.match(body.error, /url must/);
  }
  const { port } = new URL(guarded.origin);
  const url = `https://rebound.example.com:${port}/`;
  const hook = (await guarded.hooks<Webhook>('POST', '', { url, events: ['*'] })).body;
  await guarded.hooks('POST', `/${hook.id}/test`);
  await until(async () => ((await guarded.deliveries(hook.id))[0]?.attempts.length ?? 0) > 0, 10_000);
  const [delivery] = await guarded.deliveries(hook.id);
  t.match(delivery?.attempts[0], { response: null, error: 'The host is not on the public internet.' });
  t.equal(guarded.received.length, 0);
});

t.test('a response without end, and one that comes slowly', async (t) => {
  behave('/endless', (_request, response) => {
    response.writeHead(200);
    const writing = setInterval(() => response.write('x'.repeat(65_536)), 1);
    response.on('close', () => clearInterval(writing));
  });
  behave('/slow', () => {});
  const endless = await create('/endless');
  const slow = await create('/slow');
  await publish('commerce.order.created', order('ord_d', ANN));
  const [delivery] = await delivered(endless.id, 1);
  t.equal(delivery?.attempts[0]?.response?.body?.length, 1024);
  await until(async () => ((await deliveries(slow.id))[0]?.attempts.length ?? 0) > 0, 10_000);
  const [hanging] = await deliveries(slow.id);
  t.match(hanging?.attempts[0], { response: null, error: 'The server did not respond in time.' });
});

t.test('secrets are sealed again under another master key', async (t) => {
  const [former, next] = [randomBytes(32), randomBytes(32)];
  const id = 'whk_1';
  const secrets = createWebhookSecrets([former]).rotated(id);
  const both = createWebhookSecrets([next, former]);
  const resealed = both.resealed({ id, secrets }) ?? [];
  t.equal(
    createWebhookSecrets([next]).reveal({ id, secrets: resealed }),
    createWebhookSecrets([former]).reveal({ id, secrets }),
  );
  t.equal(both.resealed({ id, secrets: resealed }), undefined);
  t.throws(() => createWebhookSecrets([next]).reveal({ id, secrets }));
  t.throws(() => both.reveal({ id: 'whk_2', secrets }), 'of another webhook');
});

t.test('erasing a person removes their webhooks', async (t) => {
  await create('/erased');
  const users = await issuer.internal('users', 'notifications');
  t.equal((await call('POST', '/internal/notifications/erasures', users, { user_id: ANN })).status, 204);
  await until(async () => (await hooks('GET', '')).body.data.length === 0, 10_000);
  t.ok(ann);
});

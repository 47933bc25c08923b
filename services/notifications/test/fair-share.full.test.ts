// Runs alone, as it measures time.
import { skip, startNatsWithPermissions } from '@gatehouse/testing/nats-server';
import { until } from '@gatehouse/testing/processes';
import { atScale } from '@gatehouse/testing/repetitions';
import t, { type Test } from 'tap';
import { ALL, ANN, build, NOTIFICATIONS } from './build.ts';
import { startGateway } from './gateway.ts';

/** What one sender has queued when another begins. */
const COUNT = Math.max(250, atScale(5000));
const SLOTS = 4;
const DELAY_MS = 100;
const LIMIT_MS = 2000;

t.setTimeout(600_000);

async function check(t: Test, natsUrl: string | undefined): Promise<void> {
  const gateway = await startGateway(t);
  gateway.state.delayMs = DELAY_MS;
  const providers = { sms: { url: gateway.url, from: '+15005550006' } };
  const { issuer, call } = await build(
    t,
    { providers, slots: SLOTS, responseTimeoutMs: 20_000 },
    natsUrl === undefined ? {} : { natsUrl },
  );
  const busy = await issuer.person('usr_busy', 'editor', ALL);
  const other = await issuer.person('usr_other', 'editor', ALL);
  async function send(token: string, message: string) {
    const draft = { user_id: ANN, type: 'sms', priority: 'high', message };
    const { status, text } = await call('POST', NOTIFICATIONS, token, draft);
    if (status !== 202) throw new Error(text);
  }
  const placeOf = (message: string) => gateway.received.findIndex(({ body }) => body === message);

  for (let i = 0; i < COUNT; i += 1) await send(busy, `busy ${i}`);
  const begun = performance.now();
  const before = gateway.received.length;
  for (let i = 0; i < 3; i += 1) await send(other, `other ${i}`);
  await until(() => placeOf('other 0') >= 0, LIMIT_MS * 10);
  const tookMs = Math.round(performance.now() - begun);
  t.ok(tookMs < LIMIT_MS, `the other one's first message is sent after ${tookMs} ms`);
  t.ok(COUNT - before > 100, `while ${COUNT - before} wait`);
  await until(() => placeOf('other 2') >= 0, LIMIT_MS);
  t.ok(placeOf('other 0') < placeOf('other 1') && placeOf('other 1') < placeOf('other 2'), 'in their order');

  await until(() => gateway.received.length >= COUNT + 3, (COUNT * DELAY_MS * 3) / SLOTS + 30_000);
  const bodies = gateway.received.map(({ body }) => body);
  t.equal(new Set(bodies).size, bodies.length, 'each is sent once');
  const places = bodies.filter((body) => body.startsWith('busy')).map((body) => Number(body.slice(5)));
  const moved = Math.max(...places.map((n, i) => Math.abs(n - i)));
  t.ok(
    moved <= 2 * SLOTS,
    `those of one sender keep their order, but for ${moved} that are sent at the same time`,
  );
}

t.test('in the queue of one process', (t) => check(t, undefined));

t.test('in JetStream', { skip }, async (t) => {
  const nats = await startNatsWithPermissions(t);
  await check(t, nats.urlOf('notifications'));
});

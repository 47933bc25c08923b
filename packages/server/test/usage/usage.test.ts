import { setTimeout as sleep } from 'node:timers/promises';
import { recordingLogger } from '@gatehouse/testing/test-logger';
import t from 'tap';
import { latencyBucket } from '../../src/metrics/latency.ts';
import { createUsage } from '../../src/usage/usage.ts';
import { type UsageBatch, usageSubject } from '../../src/usage/usage-batch.ts';
import { createUsageRecorder } from '../../src/usage/usage-recorder.ts';

const MINUTE = 60_000;
const request = (over: object = {}) => ({
  ...{ route: 'GET /items', client: 'app_1', status: 200, ms: 3 },
  ...over,
});
const INFO = { id: 'req', credential: undefined, failure: undefined };
const withKey = (keyId: string, over: object = {}) => request({ info: { ...INFO, keyId }, ...over });
const sum = (batches: Pick<UsageBatch, 'requests'>[]) =>
  batches.flatMap(({ requests }) => requests.flatMap(({ statuses }) => statuses)).reduce((a, b) => a + b, 0);

t.test('requests are counted by minute, route, client and status, with their latency', async (t) => {
  let now = 100 * MINUTE;
  const recorder = createUsageRecorder({ now: () => now });
  for (const ms of [3, 3, 700]) recorder.observe(request({ ms }));
  for (const status of [301, 404, 499, 503]) recorder.observe(request({ status, ms: 1, client: undefined }));
  now += MINUTE;
  recorder.observe(request());
  for (const keyId of ['key1', 'key2', 'key1']) recorder.observe(withKey(keyId));
  recorder.count('logins', 'app_1', 'password');
  recorder.count('logins', 'app_1', 'password');
  recorder.count('logins', 'app_1', 'passkey');
  for (const client of ['app_2', undefined]) recorder.observe(request({ client, status: 429 }));
  recorder.observe(request({ info: { ...INFO, actors: ['app_1', 'app_3'] } }));
  // An admin acts as somebody.
  recorder.observe(request({ client: 'dashboard', info: { ...INFO, actors: ['usr_1'] } }));
  // Not usage: one service asks another.
  recorder.observe(request({ route: 'GET /internal/users/existence/:id', client: undefined }));
  recorder.observe(request({ client: 'commerce' }));
  recorder.count('tokens_issued', 'commerce');
  // A person signed in to the dashboard.
  recorder.count('logins', 'dashboard');
  t.strictSame(recorder.take(), {
    requests: [
      {
        ...{ minute: 100, route: 'GET /items', client: 'app_1', statuses: [3, 0, 0, 0] },
        latency: [latencyBucket(3), 2, latencyBucket(700), 1],
      },
      {
        ...{ minute: 100, route: 'GET /items', client: null, statuses: [0, 1, 2, 1] },
        latency: [latencyBucket(1), 4],
      },
      {
        ...{ minute: 101, route: 'GET /items', client: 'app_1', statuses: [5, 0, 0, 0] },
        latency: [latencyBucket(3), 5],
      },
      ...['app_2', null].map((client) => ({
        ...{ minute: 101, route: 'GET /items', client, statuses: [0, 0, 1, 0] },
        latency: [latencyBucket(3), 1],
      })),
      {
        ...{ minute: 101, route: 'GET /items', client: 'dashboard', statuses: [1, 0, 0, 0] },
        latency: [latencyBucket(3), 1],
      },
    ],
    counters: [
      { minute: 101, counter: 'logins', client: 'app_1', method: 'password', count: 2 },
      { minute: 101, counter: 'logins', client: 'app_1', method: 'passkey', count: 1 },
      { minute: 101, counter: 'rate_limited', client: 'app_2', count: 1 },
      { minute: 101, counter: 'rate_limited', client: null, count: 1 },
      ...['app_1', 'app_3'].map((actor) => ({
        ...{ minute: 101, counter: 'agent_requests', client: 'app_1', actor, count: 1 },
      })),
      { minute: 101, counter: 'agent_requests', client: 'dashboard', actor: 'usr_1', count: 1 },
      { minute: 101, counter: 'logins', client: 'dashboard', count: 1 },
    ],
    keys: [
      { minute: 101, client: 'app_1', key: 'key1', count: 2 },
      { minute: 101, client: 'app_1', key: 'key2', count: 1 },
    ],
    dropped: 0,
    isAll: true,
  });
  t.strictSame(recorder.take(), { requests: [], counters: [], keys: [], dropped: 0, isAll: true });
});

t.test('many clients, routes and hours without a receiver: bounded, and nothing uncounted', async (t) => {
  let now = 0;
  const recorder = createUsageRecorder({ now: () => now });
  for (let i = 0; i < 3000; i += 1) recorder.observe(request({ client: `app_${i}` }));
  for (let i = 0; i < 30_000; i += 1) recorder.observe(withKey(`k${i}`, { route: `GET /${i}` }));
  const batches: ReturnType<typeof recorder.take>[] = [];
  for (let isAll = false; !isAll; ) {
    const batch = recorder.take();
    batches.push(batch);
    isAll = batch.isAll;
    t.ok(batch.requests.length <= 1500 && JSON.stringify(batch).length < 1_000_000);
  }
  t.equal(sum(batches), 33_000);
  t.equal(batches.flatMap(({ keys }) => keys).length, 20_000);
  const requests = batches.flatMap((batch) => batch.requests);
  t.ok(requests.length <= 20_001, `${requests.length} series`);
  t.equal(new Set(requests.map(({ client }) => client)).size, 1001, '1,000 and other');
  const other = requests.filter(({ client }) => client === 'other');
  t.ok(other.length === 2 && sum([{ requests: other }]) > 12_000);

  for (let minute = 1; minute <= 1000; minute += 1) {
    now = minute * MINUTE;
    for (let i = 0; i < 40; i += 1) recorder.observe(request({ client: `app_${i}` }));
  }
  const later: ReturnType<typeof recorder.take>[] = [];
  do later.push(recorder.take());
  while (later.at(-1)?.isAll === false);
  const dropped = later.reduce((n, batch) => n + batch.dropped, 0);
  t.equal(sum(later) + dropped, 40_000);
  t.equal(dropped, 40 * (1000 - 361), 'those of more than six hours ago');
});

function setUp(t: { teardown(fn: () => unknown): void }, everyMs = 5, isAnnounced = false) {
  const sent: UsageBatch[] = [];
  const receiver: { fails: 'no' | 'before' | 'after' } = { fails: 'no' };
  const { logger, lines } = recordingLogger();
  const usage = createUsage({
    service: 'items',
    async send(batch) {
      if (receiver.fails === 'before') throw new Error('away');
      sent.push(batch);
      if (receiver.fails === 'after') throw new Error('no acknowledgement');
    },
    logger,
    everyMs,
    isAnnounced,
  });
  t.teardown(() => usage.stop());
  return { usage, sent, receiver, lines };
}

t.test('batches are sent again with the same id until they are taken', async (t) => {
  const { usage, sent, receiver, lines } = setUp(t);
  let counted = 0;
  usage.start();
  for (const fails of ['no', 'before', 'after', 'no', 'after', 'before', 'no'] as const) {
    receiver.fails = fails;
    for (let i = 0; i < 50; i += 1) {
      usage.observe(request());
      counted += 1;
      if (i % 10 === 0) await sleep(3);
    }
  }
  await usage.flush();
  const distinct = new Map(sent.map((batch) => [batch.id, batch]));
  t.equal(sum([...distinct.values()]), counted);
  t.ok(sent.length > distinct.size, 'some came twice');
  for (const batch of sent) t.strictSame(batch, distinct.get(batch.id), 'and unchanged');
  t.match(sent.at(-1), { service: 'items', final: true, until: String });
  t.equal(lines.filter(({ msg }) => String(msg).includes('cannot be sent')).length, 2);
  t.equal(usageSubject('items'), 'analytics.usage.items');
});

t.test('a process that starts is announced before it has counted anything', async (t) => {
  const { usage, sent } = setUp(t, 60_000, true);
  usage.start();
  await sleep(20);
  usage.observe(request());
  t.match(sent, [{ requests: [], until: String }]);
});

t.test('a process with nothing to count says so, but not all the time', async (t) => {
  const { usage, sent } = setUp(t);
  usage.start();
  await sleep(100);
  t.match(sent, [{ requests: [], final: false, until: String }]);
  t.equal(sent.length, 1);
});

t.test('the end is not held up by a receiver that is away', async (t) => {
  const { usage, sent, receiver } = setUp(t, 60_000);
  receiver.fails = 'before';
  usage.observe(request());
  usage.start();
  await usage.flush();
  t.strictSame(sent, []);
});

t.test('counting a request costs little', async (t) => {
  const recorder = createUsageRecorder();
  const requests = Array.from({ length: 1000 }, (_, i) =>
    request({ client: `app_${i % 40}`, route: `GET /${i % 25}`, ms: (i % 90) / 3 }),
  );
  for (let i = 0; i < 20_000; i += 1) recorder.observe(requests[i % 1000] as ReturnType<typeof request>);
  const begun = process.cpuUsage();
  for (let i = 0; i < 200_000; i += 1) recorder.observe(requests[i % 1000] as ReturnType<typeof request>);
  const { user, system } = process.cpuUsage(begun);
  const micros = (user + system) / 200_000;
  t.comment(`${micros.toFixed(2)} µs for each`);
  t.ok(micros < 10, `${micros} µs`);
});

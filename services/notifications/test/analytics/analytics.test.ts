import { LATENCY_BUCKETS } from '@gatehouse/server/metrics/latency';
import { minuteOf } from '@gatehouse/server/usage/usage-batch';
import t from 'tap';
import { INTERVALS } from '../../src/analytics/bucket.ts';
import { batchOf, build, PATH, requestsOf, SCOPE } from './build.ts';

const { ask, call, machine, send, order, settled, issuer, publish } = await build(t);
const HOUR = 3_600_000;
const now = minuteOf(Date.now());
const isoOf = (minute: number) => new Date(minute * 60_000).toISOString();

t.test('counts of services are returned by minute, hour and day', async (t) => {
  await send(
    batchOf({
      requests: [
        requestsOf({ minute: now - 3, statuses: [10, 1, 2, 3], latency: [20, 8, 30, 8] }),
        requestsOf({ minute: now - 2, statuses: [5, 0, 0, 0], latency: [20, 5] }),
        requestsOf({ minute: now - 2, client: null, statuses: [0, 0, 7, 0], latency: [0, 7] }),
        requestsOf({ minute: now - 2, client: 'app_b', route: 'POST /items', statuses: [4, 0, 0, 0] }),
      ],
      keys: [
        { minute: now - 3, client: 'app_a', key: 'k1', count: 2 },
        { minute: now - 2, client: 'app_a', key: 'k1', count: 3 },
        { minute: now - 2, client: 'app_a', key: 'k2', count: 4 },
        { minute: now - 2, client: 'app_b', key: 'k3', count: 1 },
      ],
    }),
  );
  await send(
    batchOf({
      service: 'identity',
      requests: [requestsOf({ minute: now - 2, route: 'POST /oauth2/token', statuses: [6, 0, 0, 0] })],
      counters: [
        { minute: now - 2, counter: 'tokens_issued', client: 'app_a', count: 6 },
        { minute: now - 2, counter: 'rate_limited', client: 'app_a', count: 5 },
        { minute: now - 2, counter: 'agent_requests', client: 'app_a', actor: 'app_a', count: 7 },
        { minute: now - 2, counter: 'agent_requests', client: 'app_a', actor: 'app_b', count: 2 },
        { minute: now - 2, counter: 'agent_requests', client: 'app_b', actor: 'app_b', count: 9 },
        { minute: now - 2, counter: 'logins', client: null, count: 2 },
        { minute: now - 2, counter: 'logins', client: 'app_a', method: 'password+code', count: 3 },
        { minute: now - 2, counter: 'logins', client: 'app_b', method: 'passkey', count: 4 },
      ],
    }),
  );
  for (const interval of INTERVALS) {
    await settled();
    const range = `interval=${interval}&from=${isoOf(now - 10)}`;
    for (const [query, total] of [
      ['metric=requests', 38],
      ['metric=errors', 3],
      ['metric=client_errors', 9],
      ['metric=tokens_issued', 6],
      ['metric=logins', 9],
      ['metric=rate_limited', 5],
      ['metric=api_key_requests', 10],
      ['metric=api_key_requests&client_id=app_a', 9],
      ['metric=requests&client_id=app_a', 27],
      ['metric=requests&client_id=app_none', 0],
      ['metric=orders', 0],
      ['metric=revenue', 0],
    ]) {
      t.match(await ask(`${query}&${range}`), { status: 200, total }, `${query} ${interval}`);
    }
    t.match((await ask(`metric=requests&group_by=service&${range}`)).totals, [
      { service: 'items', value: 32 },
      { service: 'identity', value: 6 },
    ]);
    t.match((await ask(`metric=rate_limited&group_by=service&${range}`)).totals, [
      { service: 'identity', value: 5 },
    ]);
    t.match((await ask(`metric=requests&group_by=route&${range}`)).totals, [
      { route: 'GET /items', value: 28 },
      { route: 'POST /oauth2/token', value: 6 },
      { route: 'POST /items', value: 4 },
    ]);
    t.match((await ask(`metric=requests&group_by=client_id&${range}`)).totals, [
      { client_id: 'app_a', value: 27 },
      { client_id: null, value: 7 },
      { client_id: 'app_b', value: 4 },
    ]);
    t.match((await ask(`metric=logins&group_by=method&${range}`)).totals, [
      { method: 'passkey', value: 4 },
      { method: 'password+code', value: 3 },
      { method: null, value: 2 },
    ]);
    t.strictSame((await ask(`metric=api_key_requests&client_id=app_a&group_by=api_key&${range}`)).totals, [
      { api_key: 'k1', value: 5 },
      { api_key: 'k2', value: 4 },
    ]);
    for (const [query, a, b] of [
      ['', 7, 11],
      ['&client_id=app_b', undefined, 9],
    ] as const) {
      const values = [
        ...(a === undefined ? [] : [{ actor: 'app_a', value: a }]),
        { actor: 'app_b', value: b },
      ];
      t.match(await ask(`metric=agent_requests${query}&${range}`), {
        // A request of a chain counts for each actor, so that there is no sum.
        total: a === undefined ? b : null,
        totals: values.toSorted((one, other) => other.value - one.value),
      });
    }
    t.match((await ask(`metric=requests&group_by=status&${range}`)).totals, [
      { status: '2xx', value: 25 },
      { status: '4xx', value: 9 },
      { status: '5xx', value: 3 },
      { status: '3xx', value: 1 },
    ]);
    const latencyOf = async (q: string) =>
      (await ask(`metric=latency_${q}&client_id=app_a&${range}`)).total ?? 0;
    const [fast, slow] = [await latencyOf('p50'), await latencyOf('p99')];
    // Buckets 20 and 30 end at 10 and 100 ms.
    t.ok(fast > 8 && fast <= 10 && slow > 80 && slow <= 100, `${fast} ${slow}`);
  }
  const { data } = await ask(`metric=requests&interval=minute&from=${isoOf(now - 4)}&to=${isoOf(now)}`);
  t.match(data, [
    { at: isoOf(now - 4), value: 0 },
    { at: isoOf(now - 3), value: 16 },
    { at: isoOf(now - 2), value: 22 },
    { at: isoOf(now - 1), value: 0 },
  ]);
  const latencies = await ask(
    `metric=latency_p95&interval=minute&from=${isoOf(now - 4)}&to=${isoOf(now - 2)}`,
  );
  t.match(latencies.data, [{ value: null }, { value: Number }], 'no latency where nothing was asked');
});

t.test('the total of the period before comes with that of a period, if its values are kept', async (t) => {
  const period = (from: number, to: number) =>
    `metric=requests&interval=minute&from=${isoOf(from)}&to=${isoOf(to)}`;
  for (const [query, total, previous] of [
    [`${period(now - 2, now - 1)}&compare=previous`, 22, 16],
    [`${period(now - 3, now)}&compare=previous&client_id=app_a`, 27, 0],
    [period(now - 2, now - 1), 22, undefined],
    [`${period(now - 7 * 1440 + 10, now - 7 * 1440 + 900)}&compare=previous`, 0, undefined],
  ] as const) {
    const { status, total: sum, previous_total: before } = await ask(query);
    t.strictSame({ status, sum, before }, { status: 200, sum: total, before: previous }, query);
  }
  t.equal((await ask('metric=requests&compare=next')).status, 400);
});

t.test('a batch counts once, however often and by however many it is sent', async (t) => {
  const batch = batchOf({ service: 'commerce', requests: [requestsOf({ client: 'app_once' })] });
  await Promise.all(Array.from({ length: 10 }, () => send(batch)));
  await settled();
  await send(batch);
  await settled();
  t.match(await ask('metric=requests&client_id=app_once&interval=day'), { total: 1 });
});

t.test('bad batches are dropped and do not come again', async (t) => {
  const requests = [requestsOf({ client: 'app_bad' })];
  await publish('analytics.usage.items', { nonsense: true });
  await publish('analytics.usage.items', batchOf({ service: 'users', requests }));
  await send(batchOf({ requests: [requestsOf({ client: 'app_bad', minute: now - 400 })] }));
  await send(batchOf({ requests: [requestsOf({ client: 'app_bad', minute: now + 10 })] }));
  for (const over of [
    { statuses: [-1, 0, 0, 0] },
    { statuses: [Number.MAX_SAFE_INTEGER + 1, 0, 0, 0] },
    { latency: [LATENCY_BUCKETS, 1] },
    { latency: [20] },
  ]) {
    await send(batchOf({ requests: [requestsOf({ client: 'app_bad', ...over })] }));
  }
  await send(batchOf({ requests, until: '2026-02-31T25:00:00.000Z' }));
  // It stands for all clients together.
  await send(batchOf({ requests: [...requests, requestsOf({ client: '*' })] }));
  await send(batchOf({ requests, keys: [{ minute: now, client: '*', key: 'k1', count: 1 }] }));
  await send(batchOf({ requests, keys: [{ minute: now, client: 'app_bad', key: 'k.1$', count: 1 }] }));
  await settled();
  t.match(await ask('metric=requests&client_id=app_bad&interval=day'), { total: 0 });
});

t.test('orders and revenue follow the events of orders, whatever their sequence', async (t) => {
  const created_at = new Date(Date.now() - HOUR).toISOString();
  const orderOf = (version: number, status: string, over: object = {}) => ({
    ...{ id: 'ord_1', version, status, currency: 'USD', total_amount: 12.5, created_at, ...over },
  });
  const range = `interval=hour&from=${created_at}`;
  await order(orderOf(1, 'pending'), 'created');
  await order(orderOf(3, 'processing'));
  await order(orderOf(2, 'confirmed'));
  await order(orderOf(3, 'processing'));
  await order(orderOf(1, 'pending', { id: 'ord_2', total_amount: 0.1 }), 'created');
  await order(orderOf(1, 'pending', { id: 'ord_3', total_amount: 0.2 }), 'created');
  await order(orderOf(1, 'pending', { id: 'ord_4', currency: 'KWD', total_amount: 1.125 }), 'created');
  await order(orderOf(1, 'pending', { id: 'ord_5', currency: 'JPY', total_amount: 999_999_999_999_999 }));
  await order({ id: 'ord_6' });
  await settled();
  t.match(await ask(`metric=orders&${range}`), { total: 5 });
  t.match((await ask(`metric=orders&group_by=status&${range}`)).totals, [
    { status: 'pending', value: 4 },
    { status: 'processing', value: 1 },
  ]);
  t.match(await ask(`metric=revenue&${range}`), {
    total: null,
    totals: [
      { currency: 'JPY', value: 999_999_999_999_999 },
      { currency: 'USD', value: 12.8 },
      { currency: 'KWD', value: 1.125 },
    ],
  });
  await order(orderOf(4, 'cancelled'));
  await settled();
  t.match((await ask(`metric=revenue&${range}`)).totals[1], { currency: 'KWD', value: 1.125 });
  t.match(await ask(`metric=orders&${range}`), { total: 5 }, 'it was placed all the same');
});

t.test('the newer of two concurrent events of a new order counts', async (t) => {
  const created_at = new Date(Date.now() - 3 * HOUR).toISOString();
  const common = { currency: 'USD', total_amount: 1, created_at };
  const ids = Array.from({ length: 100 }, (_, i) => `ord_twice${i}`);
  await Promise.all(
    ids.flatMap((id) => [
      order({ ...common, id, version: 2, status: 'confirmed' }),
      order({ ...common, id, version: 1, status: 'pending' }, 'created'),
    ]),
  );
  await settled();
  const to = new Date(Date.now() - 2 * HOUR).toISOString();
  const { totals } = await ask(`metric=orders&group_by=status&interval=hour&from=${created_at}&to=${to}`);
  t.same(totals, [{ status: 'confirmed', value: 100 }]);
});

t.test('people see what their own applications did', async (t) => {
  for (const client of ['app_mine', 'app_mine_too', 'app_theirs']) {
    await send(batchOf({ requests: [requestsOf({ client, statuses: [3, 0, 0, 0] })] }));
  }
  await settled();
  const owner = 'usr_owner';
  issuer.own(owner, 'app_mine');
  issuer.own(owner, 'app_mine_too');
  const token = await issuer.person(owner, 'user', `${SCOPE} manage:apps`);
  t.match(await ask('metric=requests', token), { status: 200, total: 6 });
  t.match(await ask('metric=requests&client_id=app_mine', token), { status: 200, total: 3 });
  t.match((await ask('metric=requests&group_by=client_id', token)).totals, [
    { client_id: 'app_mine', value: 3 },
    { client_id: 'app_mine_too', value: 3 },
  ]);
  for (const client of ['app_theirs', 'app_none', '*', 'other'])
    t.match(await ask(`metric=requests&client_id=${client}`, token), { status: 403 }, client);
  for (const metric of ['orders', 'revenue', 'notifications'])
    t.match(await ask(`metric=${metric}`, token), { status: 403 }, metric);
  const claims = { sub: 'app_mine', client_id: 'app_mine', owner, roles: ['user'], scope: SCOPE };
  for (const given of [{}, { given_by: 'usr_member' }]) {
    const application = await issuer.sign({ ...claims, ...given });
    t.match(await ask('metric=requests', application), { status: 200, total: 3 });
    t.match(await ask('metric=requests&client_id=app_mine', application), { status: 200, total: 3 });
    t.match(await ask('metric=requests&client_id=app_mine_too', application), { status: 403 });
  }
  const nobody = await issuer.person('usr_nobody', 'user', SCOPE);
  t.match(await ask('metric=requests&group_by=client_id', nobody), {
    status: 200,
    total: 0,
    totals: [],
    data: [],
  });
  for (const role of ['editor', 'admin'] as const) {
    const staff = await issuer.person('usr_staff', role, SCOPE);
    t.match(await ask('metric=requests&client_id=app_theirs', staff), { status: 200, total: 3 }, role);
  }
  t.match(await ask('metric=requests', await issuer.machine('write:data')), { status: 403 });
});

t.test('the applications that are near the rate limit, the nearest first', async (t) => {
  const requests = [
    requestsOf({ minute: now - 40, client: 'app_busy', statuses: [30, 0, 5, 0] }),
    requestsOf({ minute: now - 40, client: 'app_busy', route: 'POST /items', statuses: [20, 0, 0, 0] }),
    requestsOf({ minute: now - 39, client: 'app_busy', statuses: [54, 0, 0, 0] }),
    requestsOf({ minute: now - 90, client: 'app_busy', statuses: [900, 0, 0, 0] }),
    requestsOf({ minute: now - 5, client: 'app_calm', statuses: [50, 0, 0, 0] }),
    requestsOf({ minute: now - 5, client: null, statuses: [5000, 0, 0, 0] }),
  ];
  const counter = 'rate_limited';
  await send(
    batchOf({
      requests,
      counters: [
        { minute: now - 300, counter, client: 'app_refused', count: 7 },
        { minute: now - 30 * 60, counter, client: 'app_refused', count: 70 },
        { minute: now - 40, counter, client: 'app_busy', count: 2 },
      ],
    }),
  );
  const calm = requestsOf({ minute: now - 5, client: 'app_calm', statuses: [51, 0, 0, 0] });
  await send(batchOf({ service: 'identity', requests: [calm] }));
  const usesOf = async (token: string) => {
    const { status, body } = await call('GET', `${PATH}/rate-limits`, token);
    const names = new Set(['app_busy', 'app_calm', 'app_refused']);
    t.match({ status, body }, { status: 200, body: { limit: 6000, as_of: String } });
    return body.data.filter(({ client_id: id }) => names.has(String(id)));
  };
  const busy = { client_id: 'app_busy', busiest_minute: 55, service: 'items', rate_limited: 2 };
  t.strictSame(await usesOf(machine), [
    busy,
    { client_id: 'app_calm', busiest_minute: 51, service: 'identity', rate_limited: 0 },
    { client_id: 'app_refused', busiest_minute: 0, service: null, rate_limited: 7 },
  ]);
  issuer.own('usr_busy', 'app_busy');
  t.strictSame(
    await usesOf(await issuer.person('usr_busy', 'user', `${SCOPE} manage:apps`)),
    [busy],
    'owners see their own',
  );
  t.strictSame(await usesOf(await issuer.person('usr_nobody', 'user', SCOPE)), []);
  const writer = await issuer.machine('write:data');
  t.equal((await call('GET', `${PATH}/rate-limits`, writer)).status, 403);
});

t.test('a plus that was not escaped is hinted at', async (t) => {
  const wrong = await ask('metric=requests&from=2026-01-31T12:00:00+02:00');
  t.match(wrong, { status: 400, error: /such as 2026-01-31T12:00:00Z, and its \+ is written as %2B\.$/ });
});

t.test('the day to which values are asked for is included, a time is not', async (t) => {
  const days = async (from: string, to: string) =>
    (await ask(`metric=requests&interval=day&from=${from}&to=${to}`)).data;
  const [from, to] = [0, 1].map((n) =>
    new Date(Date.now() - (3 - n) * 86_400_000).toISOString().slice(0, 10),
  );
  t.equal((await days(`${from}`, `${to}`)).length, 2);
  t.equal((await days(`${from}`, `${to}T00:00:00Z`)).length, 1);
});

t.test('the largest groups one by one, and the rest together', async (t) => {
  const requests = Array.from({ length: 60 }, (_, i) =>
    requestsOf({ client: 'app_many', route: `GET /${i}`, statuses: [100 - i, 0, 0, 0] }),
  );
  await send(batchOf({ requests }));
  await settled();
  const { total, totals, data } = await ask('metric=requests&group_by=route&client_id=app_many');
  t.equal(total, 60 * 100 - (59 * 60) / 2);
  t.equal(totals.length, 21);
  t.same(totals.at(-1), { route: 'other', value: (40 * (80 + 41)) / 2 });
  t.equal(data.length, 21 * 24);
});

import t from 'tap';
import { MAX_UNFINISHED } from '../../src/reports/report.ts';
import { ADMIN, ALL, build } from './service.ts';

const { call, base, elsewhere, issuer, token, generate, ended, download } = await build(t);
const editor = await issuer.person('usr_editor', 'editor', ALL);

/** Names that spreadsheets would calculate with, among others. */
const NAMES = [
  'Tea',
  '=HYPERLINK("https://example.org")',
  '+1',
  '@SUM(A1)',
  '-2',
  'Größe "L", blau',
  'Кофе 茶',
  '|x',
];
const products: string[] = [];
for (const [i, name] of NAMES.entries()) {
  const category = i === 4 ? 'odd, even' : i % 2 ? 'odd' : 'even';
  const body = { name, price: 12.5, currency: 'EUR', stock: 100, category };
  products.push((await elsewhere('POST', '/v2/products', body)).id);
}
for (const quantity of [1, 2, 3]) {
  const items = [{ product_id: products[0], quantity }];
  await elsewhere('POST', '/v2/orders', { items, currency: 'EUR' });
}
const cancelled = await elsewhere('POST', '/v2/orders', {
  ...{ items: [{ product_id: products[1], quantity: 50 }], currency: 'EUR' },
});
await elsewhere('PUT', `/v2/orders/${cancelled.id}`, { status: 'cancelled' });

t.test('the types of reports', async (t) => {
  const { status, body } = await call('GET', '/v2/reports', token);
  t.equal(status, 200);
  t.same(
    body.data.map(({ type }) => type),
    ['sales', 'orders', 'products', 'users', 'notifications', 'usage'],
  );
  t.match(body.data[1], {
    formats: ['csv', 'json', 'pdf'],
    parameters: {
      filters: {
        status: ['pending', 'confirmed', 'processing', 'shipped', 'delivered', 'cancelled', 'refunded'],
      },
    },
  });
  t.same((await call('GET', '/reports', token)).body, body, 'also without a version');
});

t.test('a report from its request to its download', async (t) => {
  const asked = await call('POST', '/v2/reports/generate', token, { type: 'orders', format: 'json' });
  t.match(asked, {
    status: 202,
    body: { type: 'orders', format: 'json', status: 'queued', progress: 0, rows: 0 },
  });
  t.equal(asked.headers.get('location'), `/v2/reports/${asked.body.id}`);
  const report = await ended(asked.body.id);
  t.match(report, { status: 'completed', progress: 100, rows: 4, error: null });
  t.ok(report.bytes > 0);
  const response = await download(report.id);
  t.match(
    response.headers.get('content-disposition'),
    /^attachment; filename="orders-\d{4}-\d\d-\d\d\.json"$/,
  );
  t.equal(Number(response.headers.get('content-length')), report.bytes);
  // What the pages of other origins need, to name the file and to resume the download.
  for (const name of ['Content-Disposition', 'Content-Range', 'Accept-Ranges', 'ETag']) {
    t.match(response.headers.get('access-control-expose-headers'), new RegExp(`\\b${name}\\b`));
  }
  const { rows, ...about } = JSON.parse(await response.text());
  t.match(about, { type: 'orders', from: null, filters: {} });
  t.match(rows[2], { user_id: ADMIN, status: 'pending', items: 3, currency: 'EUR', total_amount: 37.5 });
  t.equal(rows.length, 4);
});

t.test('CSV that no spreadsheet calculates with', async (t) => {
  const { id } = await generate({ type: 'products', format: 'csv' });
  const response = await download(id);
  t.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  const [head, ...lines] = (await response.text()).trim().split('\r\n');
  t.equal(head, 'Product,SKU,Name,Category,Price,Currency,Stock,Status,Created');
  t.equal(lines.length, NAMES.length);
  t.match(lines[0], /^prd_\w+,,Tea,even,12\.50,EUR,94,/);
  for (const line of lines) t.notMatch(line, /,"?[=+@\t-]/, line);
  t.match(lines[5], /,"Größe ""L"", blau",/);
});

t.test('the JSON file says which titles the columns have in CSV', async (t) => {
  const { data } = (await call('GET', '/v2/reports', token)).body as unknown as {
    data: { type: string; columns: string[] }[];
  };
  for (const { type, columns: names } of data.filter(({ type }) => type === 'orders' || type === 'sales')) {
    const textOf = async (format: string) => (await download((await generate({ type, format })).id)).text();
    const [csv, json] = [await textOf('csv'), await textOf('json')];
    const { columns, rows } = JSON.parse(json);
    t.same(Object.keys(columns), names, type);
    t.equal(csv.split('\r\n')[0], Object.values(columns).join(','), type);
    for (const row of rows) t.same(Object.keys(row), names, type);
  }
});

t.test('filters and periods', async (t) => {
  const odd = await generate({ type: 'products', format: 'json', filters: { category: 'odd' } });
  t.equal(odd.rows, 4);
  const category = await generate({ type: 'products', format: 'json', filters: { category: 'odd, even' } });
  t.equal(category.rows, 1, 'a comma is part of the value');
  const before = await generate({ type: 'orders', format: 'json', to: '2020-01-01' });
  t.match(before, { status: 'completed', rows: 0 });
  const after = await generate({
    type: 'orders',
    format: 'csv',
    from: '2020-01-01T00:00:00+02:00',
    filters: { status: 'cancelled' },
  });
  t.equal(after.rows, 1);
});

t.test('the last day of a period is part of it, by the days of a time zone', async (t) => {
  const january = { type: 'orders', format: 'json', from: '2026-01-01', to: '2026-01-31' };
  for (const [more, expected] of [
    [{}, { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z', timezone: 'UTC' }],
    [{ timezone: 'Asia/Tokyo' }, { from: '2025-12-31T15:00:00.000Z', to: '2026-01-31T15:00:00.000Z' }],
    [{ to: '2026-01-31T12:00:00Z' }, { to: '2026-01-31T12:00:00.000Z' }],
  ] as const) {
    const { body } = await call('POST', '/v2/reports/generate', token, { ...january, ...more });
    t.match(body, expected);
    t.match(await ended(body.id), { status: 'completed' });
  }
  const timezone = 'Pacific/Kiritimati';
  const [sales, orders] = await Promise.all(
    ['sales', 'orders'].map(async (type) => {
      const { id } = await generate({ type, format: 'json', timezone });
      return JSON.parse(await (await download(id)).text());
    }),
  );
  t.equal(sales.timezone, timezone);
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' });
  const days = orders.rows.map((row: { created_at: string }) => format.format(new Date(row.created_at)));
  t.equal(sales.rows.at(-1).day, days.at(-1));
});

t.test('a report of usage says which days it covers', async (t) => {
  const today = new Date().toISOString().slice(0, 10);
  const day = (n: number) => new Date(Date.parse(today) + n * 86_400_000).toISOString();
  const covered = { from: day(-29), to: day(1) };
  const report = await generate({ type: 'usage', format: 'json' });
  t.match(report, { status: 'completed', ...covered });
  const response = await download(report.id);
  t.match(JSON.parse(await response.text()), covered);
  t.match(
    response.headers.get('content-disposition'),
    `filename="usage-${covered.from.slice(0, 10)}-to-${today}.json"`,
  );
  const future = await call('POST', '/v2/reports/generate', token, {
    ...{ type: 'usage', format: 'csv', from: day(2) },
  });
  t.match(future, { status: 400, body: { error: { details: [{ field: 'from' }] } } });
});

t.test('sales are added up exactly', async (t) => {
  const { id } = await generate({ type: 'sales', format: 'json' });
  const { rows } = JSON.parse(await (await download(id)).text());
  t.match(rows, [{ currency: 'EUR', orders: 3, items: 6, revenue: 75 }], 'without what was cancelled');
});

t.test('users', async (t) => {
  const { id } = await generate({ type: 'users', format: 'json', filters: { role: 'admin' } });
  const { rows } = JSON.parse(await (await download(id)).text());
  t.match(rows, [{ id: ADMIN, username: 'admin', role: 'admin', created_at: String }]);
});

t.test('PDF', async (t) => {
  const { id, rows } = await generate({ type: 'products', format: 'pdf' });
  t.equal(rows, NAMES.length);
  const response = await download(id);
  t.equal(response.headers.get('content-type'), 'application/pdf');
  const bytes = Buffer.from(await response.arrayBuffer());
  t.equal(bytes.subarray(0, 5).toString(), '%PDF-');
  t.match(bytes.subarray(-8).toString(), '%%EOF');
});

t.test('ranges and entity tags (RFC 9110 §13, §14)', async (t) => {
  const { id, bytes } = await generate({ type: 'orders', format: 'csv' });
  const whole = await download(id);
  const etag = whole.headers.get('etag') ?? '';
  const content = Buffer.from(await whole.arrayBuffer());
  t.same(
    [...content.subarray(0, 4)],
    [0xef, 0xbb, 0xbf, ...Buffer.from('O')],
    'a byte order mark, for Excel',
  );
  const cases: [headers: Record<string, string>, status: number, part?: Buffer][] = [
    [{ range: 'bytes=0-9' }, 206, content.subarray(0, 10)],
    [{ range: 'bytes=10-' }, 206, content.subarray(10)],
    [{ range: 'bytes=-5' }, 206, content.subarray(-5)],
    [{ range: `bytes=5-${bytes + 100}` }, 206, content.subarray(5)],
    [{ range: `bytes=-${bytes + 100}` }, 206, content],
    [{ range: `bytes=${bytes}-` }, 416, Buffer.alloc(0)],
    [{ range: 'bytes=9-5' }, 416, Buffer.alloc(0)],
    [{ range: 'lines=0-1' }, 200, content],
    [{ range: 'bytes=0-1,4-5' }, 200, content],
    [{ range: 'bytes=0-9', 'if-range': etag }, 206, content.subarray(0, 10)],
    [{ range: 'bytes=0-9', 'if-range': '"another"' }, 200, content],
    [{ 'if-none-match': etag }, 304, Buffer.alloc(0)],
  ];
  for (const [headers, status, part] of cases) {
    const response = await download(id, headers);
    t.equal(response.status, status, JSON.stringify(headers));
    t.same(Buffer.from(await response.arrayBuffer()), part, JSON.stringify(headers));
    if (status === 206) t.match(response.headers.get('content-range'), `/${bytes}`);
    if (status === 416) t.equal(response.headers.get('content-range'), `bytes */${bytes}`);
  }
});

t.test('only who asked, and admins', async (t) => {
  const { id } = await generate({ type: 'orders', format: 'csv' }, editor);
  t.equal((await download(id, {}, editor)).status, 200);
  t.equal((await download(id)).status, 200, 'an admin');
  const other = await issuer.person('usr_other', 'editor', ALL);
  const machine = await issuer.machine(ALL);
  for (const stranger of [other, machine]) {
    t.equal((await call('GET', `/v2/reports/${id}`, stranger)).status, 404);
    t.equal((await download(id, {}, stranger)).status, 404);
    t.equal((await call('DELETE', `/v2/reports/${id}`, stranger)).status, 404);
    t.equal((await call('GET', '/v2/reports?view=mine', stranger)).body.meta.total, 0);
  }
  t.equal((await call('GET', '/v2/reports?view=mine', editor)).body.meta.total, 1);
  t.match((await call('GET', '/v2/reports?view=mine&cursor=&filter[status]=completed', editor)).body.data, [
    { id },
  ]);
  const person = await issuer.person('usr_ann', 'user', ALL);
  for (const path of ['/v2/reports', '/v2/reports?view=mine', `/v2/reports/${id}`]) {
    t.equal((await call('GET', path, person)).status, 403, path);
  }
  t.equal(
    (await call('POST', '/v2/reports/generate', person, { type: 'orders', format: 'csv' })).status,
    403,
  );
});

t.test('a report needs the scope for what it shows', async (t) => {
  const data = await issuer.person(ADMIN, 'admin', 'read:data write:data');
  const refused = await call('POST', '/v2/reports/generate', data, { type: 'users', format: 'csv' });
  t.match(refused, { status: 403, body: { error: { message: /read:users or read:all/ } } });
  t.match(await generate({ type: 'orders', format: 'csv' }, data), { status: 'completed' });
  const read = await issuer.person(ADMIN, 'admin', 'read:data');
  t.equal((await call('POST', '/v2/reports/generate', read, { type: 'orders', format: 'csv' })).status, 403);
});

t.test('downloading a report needs what asking for it does', async (t) => {
  const { id } = await generate({ type: 'users', format: 'csv' });
  const [data, demoted] = [
    await issuer.person(ADMIN, 'admin', 'read:data write:data'),
    await issuer.person(ADMIN, 'editor', ALL),
  ];
  t.equal((await call('GET', `/v2/reports/${id}`, data)).status, 200, 'that there is one is no secret');
  t.match(await call('GET', `/v2/reports/${id}/download`, data), {
    status: 403,
    body: { error: { message: /read:users or read:all/ } },
  });
  t.match(await call('GET', `/v2/reports/${id}/download`, demoted), {
    status: 403,
    body: { error: { message: /only the role admin/ } },
  });
  t.equal((await download(id)).status, 200);
});

t.test('no more concurrent requests are accepted than the limit', async (t) => {
  const lane = '/api/v1/queues/reports/all';
  const asker = await issuer.person('usr_busy', 'editor', ALL);
  t.equal((await call('PUT', lane, token, { paused: true })).status, 200);
  const body = { type: 'products', format: 'csv' };
  const ask = () => call('POST', '/v2/reports/generate', asker, body);
  const responses = await Promise.all(Array.from({ length: MAX_UNFINISHED + 5 }, ask));
  const accepted = responses.filter(({ status }) => status === 202);
  t.equal(accepted.length, MAX_UNFINISHED);
  t.match(responses.find(({ status }) => status === 409)?.body.error, { message: /not finished/ });
  const [first] = accepted;
  t.equal((await call('DELETE', `/v2/reports/${first?.body.id}`, asker)).status, 204);
  t.equal((await ask()).status, 202, 'one that is cancelled makes room');
  t.equal((await ask()).status, 409);
  const claims = { sub: 'app_busy', client_id: 'app_busy', owner: 'usr_busy', roles: ['editor'], scope: ALL };
  const member = await issuer.sign({ ...claims, given_by: 'usr_member' });
  const ofMember = Array.from({ length: MAX_UNFINISHED + 1 }, () =>
    call('POST', '/v2/reports/generate', member, body),
  );
  const made = (await Promise.all(ofMember)).filter(({ status }) => status === 202);
  t.equal(made.length, MAX_UNFINISHED, 'those of a member count apart');
  accepted.push(...made);
  for (const { body } of accepted) await call('DELETE', `/v2/reports/${body.id}`, asker);
  t.equal((await call('PUT', lane, token, { paused: false })).status, 200);
});

t.test('reports of one requester are made one after the other', async (t) => {
  const body = { type: 'products', format: 'csv' };
  const asked = [1, 2, 3].map(() => call('POST', '/v2/reports/generate', token, body));
  for (const { body } of await Promise.all(asked)) t.match(await ended(body.id), { status: 'completed' });
});

t.test('data is not read after a revocation', async (t) => {
  const asked = await call('POST', '/v2/reports/generate', token, { type: 'orders', format: 'csv' });
  issuer.delegations.clear();
  const report = await ended(asked.body.id);
  if (report.status === 'completed') t.comment('it was faster');
  else t.match(report, { status: 'failed', error: /not valid any more/ });
  const demoted = await issuer.person(ADMIN, 'admin', ALL);
  const later = await call('POST', '/v2/reports/generate', demoted, { type: 'users', format: 'csv' });
  t.equal(later.status, 202);
});

t.test('an Idempotency-Key', async (t) => {
  const key = { 'idempotency-key': 'report-1' };
  const body = { type: 'orders', format: 'csv' };
  const first = await call('POST', '/v2/reports/generate', token, body, key);
  const again = await call('POST', '/v2/reports/generate', token, body, key);
  t.equal(again.body.id, first.body.id);
  t.equal((await call('POST', '/v2/reports/generate', token, { ...body, format: 'pdf' }, key)).status, 422);
});

t.test('removing', async (t) => {
  const { id } = await generate({ type: 'orders', format: 'csv' });
  t.equal((await call('DELETE', `/v2/reports/${id}`, token)).status, 204);
  t.match((await call('GET', `/v2/reports/${id}`, token)).body, { status: 'expired', download_url: null });
  t.equal((await download(id)).status, 409);
  t.equal((await call('DELETE', `/v2/reports/${id}`, token)).status, 204, 'again');
});

t.test('bad requests name the field', async (t) => {
  const valid = { type: 'orders', format: 'csv' };
  for (const [field, body] of [
    ['type', { ...valid, type: 'weather' }],
    ['type', { format: 'csv' }],
    ['format', { ...valid, format: 'xlsx' }],
    ['from', { ...valid, from: 'yesterday' }],
    ['filters.status', { ...valid, type: 'products', filters: { status: 'sold' } }],
    ['to', { ...valid, to: '2026-02-30' }],
    ['to', { ...valid, from: '2026-03-02', to: '2026-03-01' }],
    ['from', { ...valid, from: '1990-01-01', to: '2026-03-01' }],
    ['timezone', { ...valid, timezone: 'Mars/Olympus' }],
    ['timezone', { ...valid, timezone: '+02:00' }],
    ['timezone', { ...valid, type: 'usage', timezone: 'Europe/Berlin' }],
    ['filters.colour', { ...valid, filters: { colour: 'red' } }],
    ['filters.constructor', { ...valid, filters: { constructor: 'x' } }],
    ['filters.status', { ...valid, filters: { status: 'lost' } }],
    ['filters.user_id', { ...valid, filters: { user_id: '' } }],
    ['filters.status', { ...valid, filters: { status: 7 } }],
  ] as const) {
    const { status, body: error } = await call('POST', '/v2/reports/generate', token, body);
    t.equal(status, 400, field);
    t.match(error, { error: { code: 'invalid_parameter', details: [{ field }] } }, field);
  }
  for (const query of ['view=all', 'view=mine&filter[colour]=red', 'sort=colour']) {
    t.match(await call('GET', `/v2/reports?${query}`, token), { status: 400 }, query);
  }
  const filters = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, '']));
  const many = await call('POST', '/v2/reports/generate', token, { ...valid, filters });
  t.equal(many.status, 400);
  t.ok(many.text.length < 10_000, `an answer of ${many.text.length} characters`);
  t.equal((await call('GET', '/v2/reports/rpt_nothing', token)).status, 404);
  t.equal((await fetch(`${base}/v2/reports`)).status, 401);
});

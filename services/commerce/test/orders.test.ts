import { repetitions } from '@gatehouse/testing/repetitions';
import t from 'tap';
import { ALL, ANN, build, ORDERS, PRODUCTS } from './build.ts';

const { base, call, issuer, machine, ann, newProduct, stockOf, order } = await build(t);
const bob = await issuer.person('usr_bob', 'user', ALL);

t.test('an order is at the prices of its time; cancelling returns the stock', async (t) => {
  const [tea, cup] = [await newProduct(10), await newProduct(3, { price: 0.1 })];
  const placed = await order(ann, [
    [cup, 2],
    [tea, 1],
    [cup, 1],
  ]);
  t.match(placed, {
    status: 201,
    body: {
      user_id: ANN,
      status: 'pending',
      currency: 'USD',
      total_amount: 12.8,
      items: [
        { product_id: tea, quantity: 1, unit_price: 12.5, line_total: 12.5 },
        { product_id: cup, quantity: 3, unit_price: 0.1, line_total: 0.3 },
      ],
      status_history: [{ status: 'pending', note: null }],
    },
  });
  t.same([await stockOf(tea), await stockOf(cup)], [9, 0]);
  await call('PUT', `${PRODUCTS}/${tea}`, machine, { price: 99 });
  const path = `${ORDERS}/${placed.body.id}`;
  t.equal((await call('GET', path, ann)).body.total_amount, 12.8);
  t.match(await order(ann, [[cup, 1]]), {
    status: 409,
    body: { error: { message: /not enough stock of Green tea/ } },
  });
  t.match(await call('PATCH', `${path}/status`, ann, { status: 'cancelled', note: 'Too much.' }), {
    status: 200,
    body: { status: 'cancelled', status_history: [{}, { status: 'cancelled', note: 'Too much.' }] },
  });
  t.same([await stockOf(tea), await stockOf(cup)], [10, 3]);
});

t.test('errors name the field', async (t) => {
  const tea = await newProduct(5);
  const yen = await newProduct(5, { currency: 'JPY', price: 100 });
  const off = await newProduct(5, { status: 'inactive' });
  const dear = await newProduct(1e9, { price: 9e9 });
  const tons = await newProduct(1e9);
  const many = Array.from({ length: 201 }, () => [tea, 1] as [string, number]);
  const cases: [label: string, items: [string, number][], more: object, field: string][] = [
    ['no items', [], {}, 'items'],
    ['201 items', many, {}, 'items'],
    ['zero', [[tea, 0]], {}, 'items.0.quantity'],
    ['negative', [[tea, -1]], {}, 'items.0.quantity'],
    ['a fraction', [[tea, 1.5]], {}, 'items.0.quantity'],
    ['too many', [[tea, 1e9]], {}, 'items.0.quantity'],
    [
      'too many together',
      [
        [tons, 1e6],
        [tons, 1],
      ],
      {},
      'items',
    ],
    [
      'an unknown product',
      [
        [tea, 1],
        ['prd_x', 1],
      ],
      {},
      'items.1.product_id',
    ],
    ['an inactive product', [[off, 1]], {}, 'items.0.product_id'],
    ['another currency', [[yen, 1]], {}, 'currency'],
    ['no currency', [[tea, 1]], { currency: 'XXX' }, 'currency'],
    ['an unknown user', [[tea, 1]], { user_id: 'usr_nobody' }, 'user_id'],
    ['no user', [[tea, 1]], {}, 'user_id'],
    ['more than an order can cost', [[dear, 1_000_000]], {}, 'items'],
  ];
  for (const [label, items, more, field] of cases) {
    const who = label === 'no user' ? {} : { user_id: ANN };
    const body = {
      items: items.map(([product_id, quantity]) => ({ product_id, quantity })),
      currency: 'USD',
    };
    const response = await call('POST', ORDERS, machine, JSON.stringify({ ...body, ...who, ...more }));
    t.equal(response.status, 400, label);
    t.match(response.body.error.details?.[0], { field }, label);
  }
  t.equal(await stockOf(tea), 5);
});

t.test('who sees, places and changes which orders', async (t) => {
  const tea = await newProduct(100);
  const editor = await issuer.person('usr_editor', 'editor', ALL);
  const admin = await issuer.person('usr_admin', 'admin', ALL);
  const { id } = (await order(ann, [[tea, 1]])).body;
  const path = `${ORDERS}/${id}`;
  for (const [who, token, status] of [
    ['the customer', ann, 200],
    ['another', bob, 404],
    ['an editor', editor, 200],
    ['an admin', admin, 200],
    ['a machine', machine, 200],
  ] as const) {
    t.equal((await call('GET', path, token)).status, status, `${who} reads`);
    const found = (await call('GET', `${ORDERS}?filter[id]=${id}`, token)).body.data;
    t.equal(found.length, status === 200 ? 1 : 0, `${who}: list`);
  }
  // A filter on the customer does not lead out of one's own orders.
  for (const query of [
    `user_id=${ANN}`,
    `filter[user_id][ne]=usr_x`,
    'filter[user_id][gt]=a',
    'filter[user_id][lt]=z',
  ])
    t.same((await call('GET', `${ORDERS}?${query}`, bob)).body.data, [], query);
  t.equal((await order(bob, [[tea, 1]], { user_id: ANN })).status, 403);
  t.equal((await order(editor, [[tea, 1]], { user_id: ANN })).status, 403);
  t.equal((await order(admin, [[tea, 1]], { user_id: ANN })).status, 201);
  t.equal((await order(await issuer.machine('read:data'), [[tea, 1]], { user_id: ANN })).status, 403);

  const change = (token: string, status: string, headers = {}) =>
    call('PUT', path, token, { status }, headers);
  t.equal((await change(bob, 'cancelled')).status, 404);
  t.equal((await change(bob, 'cancelled', { 'if-match': '"v9"' })).status, 404);
  t.equal((await change(ann, 'confirmed')).status, 403);
  for (const status of ['confirmed', 'processing'])
    t.equal((await change(editor, status)).status, 200, status);
  t.equal((await change(ann, 'cancelled')).status, 403, 'it is being processed');
  t.equal((await change(editor, 'pending')).status, 409);
  for (const status of ['shipped', 'delivered', 'refunded'])
    t.equal((await change(machine, status)).status, 200, status);
  t.match(await change(machine, 'cancelled'), { status: 409, body: { error: { message: /it is final/ } } });
  const history = (await call('GET', path, ann)).body as unknown as { status_history: { status: string }[] };
  t.same(
    history.status_history.map(({ status }) => status),
    ['pending', 'confirmed', 'processing', 'shipped', 'delivered', 'refunded'],
  );
});

t.test('two changes at once: one wins', async (t) => {
  const tea = await newProduct(10);
  for (let round = 0; round < 5; round += 1) {
    const { id } = (await order(ann, [[tea, 1]])).body;
    const responses = await Promise.all(
      ['confirmed', 'cancelled', 'confirmed', 'cancelled'].map((status) =>
        call('POST', `${ORDERS}/${id}/status`, machine, { status }),
      ),
    );
    const { body } = await call('GET', `${ORDERS}/${id}`, machine);
    const { status, status_history: history } = body as unknown as {
      status: string;
      status_history: object[];
    };
    // Confirmed first, then cancelled, is possible, too.
    t.equal(responses.filter((response) => response.status === 200).length, history.length - 1);
    t.ok(responses.every((response) => [200, 409].includes(response.status)));
    if (status === 'confirmed') await call('PUT', `${ORDERS}/${id}`, machine, { status: 'cancelled' });
  }
  t.equal(await stockOf(tea), 10, 'each was returned once');
});

t.test('many orders at once never sell more than there is', async (t) => {
  const stock = repetitions(100, 1 / 10);
  const orders = stock * 10;
  const tea = await newProduct(stock);
  const responses = await Promise.all(Array.from({ length: orders }, () => order(ann, [[tea, 1]])));
  const count = (status: number) => responses.filter((response) => response.status === status).length;
  t.same([count(201), count(409)], [stock, orders - stock]);
  t.equal(await stockOf(tea), 0);
});

t.test('many orders of the same products, in any order', async (t) => {
  const stock = repetitions(100, 1 / 10);
  const orders = stock * 10;
  const products = await Promise.all(Array.from({ length: 5 }, () => newProduct(stock)));
  const begin = performance.now();
  const responses = await Promise.all(
    Array.from({ length: orders }, (_, i) =>
      order(
        ann,
        products.map((_, n) => [products[(n * (1 + (i % 4)) + i) % 5] as string, 1] as [string, number]),
      ),
    ),
  );
  t.comment(`${orders} orders of five products in ${(performance.now() - begin).toFixed(0)} ms`);
  const placed = responses.filter(({ status }) => status === 201).length;
  t.ok(responses.every(({ status }) => status === 201 || status === 409));
  t.equal(placed, stock);
  for (const id of products) t.equal(await stockOf(id), 0);
});

t.test('a change of the product and orders at once lose nothing of each other', async (t) => {
  const tea = await newProduct(40);
  const responses = await Promise.all([
    ...Array.from({ length: 20 }, () => order(ann, [[tea, 1]])),
    ...Array.from({ length: 20 }, (_, i) => call('PUT', `${PRODUCTS}/${tea}`, machine, { name: `Tea ${i}` })),
  ]);
  t.ok(responses.every(({ status }) => status === 201 || status === 200));
  t.equal(await stockOf(tea), 20);
});

t.test('while users cannot be asked, one can order for oneself and read, and not for others', async (t) => {
  const { call, machine, ann, newProduct, order } = await build(t, { usersUrl: 'http://127.0.0.1:1' });
  const id = await newProduct(5);
  const refused = await order(machine, [[id, 1]], { user_id: ANN });
  t.equal(refused.status, 503);
  t.ok(refused.headers.get('retry-after'));
  t.equal((await order(ann, [[id, 1]])).status, 201);
  const [found] = (await call('GET', ORDERS, machine)).body.data;
  t.match(await call('GET', `${ORDERS}/${found?.id}`, machine), { status: 200, body: { user_id: ANN } });
});

t.test('the orders of a user who was deleted stay, and staff read them', async (t) => {
  const authorization = `Bearer ${await issuer.machine('read:users write:users')}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const account = { username: 'carol', email: 'carol@example.com', password: 'correct horse battery' };
  const created = { method: 'POST', headers, body: JSON.stringify(account) };
  const { id: carol } = (await (await fetch(`${base}/v2/users`, created)).json()) as { id: string };
  const tea = await newProduct(5);
  const placed = await order(machine, [[tea, 1]], { user_id: carol });
  t.equal(placed.status, 201);
  const deleted = await fetch(`${base}/v2/users/${carol}`, {
    method: 'DELETE',
    headers: { authorization },
  });
  t.equal(deleted.status, 204);
  for (const role of ['editor', 'admin'] as const) {
    const staff = await issuer.person(`usr_${role}`, role, ALL);
    t.match(await call('GET', `${ORDERS}/${placed.body.id}`, staff), {
      status: 200,
      body: { user_id: carol, total_amount: 12.5 },
    });
    t.match((await call('GET', `${ORDERS}?filter[user_id]=${carol}`, staff)).body, {
      data: [{ id: placed.body.id }],
      meta: { total: 1 },
    });
    const status = role === 'editor' ? 'confirmed' : 'cancelled';
    t.equal((await call('PUT', `${ORDERS}/${placed.body.id}`, staff, { status })).status, 200);
  }
  t.equal(await stockOf(tea), 5);
});

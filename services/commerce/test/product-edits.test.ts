import t from 'tap';
import { build, PRODUCTS } from './build.ts';

const { call, machine, ann, order: place } = await build(t);
const STOCK = 1000;

async function createProduct() {
  const created = { name: 'Tea', price: 1, currency: 'EUR', stock: STOCK };
  const { body, headers } = await call('POST', PRODUCTS, machine, created);
  return { path: `${PRODUCTS}/${body.id}`, id: body.id, etag: headers.get('etag') ?? '' };
}

const order = (productId: string) => place(ann, [[productId, 1]], { currency: 'EUR' });

t.test('a product can be edited while many order it, and each piece is counted', async (t) => {
  const { path, id } = await createProduct();
  let isOver = false;
  let sold = 0;
  const customers = Array.from({ length: 30 }, async () => {
    for (; !isOver; sold += 1) t.match(await order(id), { status: 201 });
  });
  for (let i = 0; i < 5; i += 1) {
    const { headers } = await call('GET', path, machine);
    const ifMatch = { 'if-match': headers.get('etag') ?? '' };
    const edited = await call('PUT', path, machine, { name: `Tea ${i}`, price: i }, i % 2 ? ifMatch : {});
    t.match([edited.status, edited.body.name], [200, `Tea ${i}`]);
  }
  isOver = true;
  await Promise.all(customers);
  t.match((await call('GET', path, machine)).body, { name: 'Tea 4', price: 4, stock: STOCK - sold });
});

t.test('a tag changes with the stock; what If-Match guards is what the body changes', async (t) => {
  const { path, id, etag } = await createProduct();
  await order(id);
  const read = await call('GET', path, machine, undefined, { 'if-none-match': etag });
  t.match([read.status, read.body.stock], [200, STOCK - 1], 'a cached product is not out of date');
  const current = read.headers.get('etag') ?? '';
  t.not(current, etag);
  const cases: [tag: string, body: object, status: number][] = [
    [etag, { stock: STOCK }, 412],
    [etag, { name: 'Green tea', stock: STOCK - 1 }, 200],
    [current, { name: 'Late' }, 412],
  ];
  for (const [tag, body, status] of cases) {
    const response = await call('PUT', path, machine, body, { 'if-match': tag });
    t.equal(response.status, status, JSON.stringify(body));
  }
  const { headers } = await call('GET', path, machine);
  const restocked = await call('PUT', path, machine, { stock: 5 }, { 'if-match': headers.get('etag') ?? '' });
  t.match([restocked.status, restocked.body.stock], [200, 5]);
  t.equal((await call('PUT', path, machine, { stock: 7 })).body.stock, 7, 'without a condition');
});

t.test(
  'what cancelled orders return beyond the most that can be set is kept, and hinders no edit',
  async (t) => {
    const { path, id } = await createProduct();
    const { body: placed } = await order(id);
    const most = 1_000_000_000;
    await call('PUT', path, machine, { stock: most });
    await call('PUT', `/v2/orders/${placed.id}`, machine, { status: 'cancelled' });
    const { body } = await call('GET', path, machine);
    t.equal(body.stock, most + 1);
    const { name, stock } = body;
    t.match(await call('PUT', path, machine, { name, stock, price: 2 }), {
      status: 200,
      body: { stock: most + 1 },
    });
    const beyond = await call('PUT', path, machine, { stock: most + 2 });
    t.match([beyond.status, beyond.body.error.details?.[0]?.field], [400, 'stock']);
  },
);

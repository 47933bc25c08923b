import t from 'tap';
import { ALL, ANN, build, PRODUCTS } from './build.ts';

const { call, issuer } = await build(t);
const machine = await issuer.machine(ALL);
const ann = await issuer.person(ANN, 'user', ALL);
const ids: string[] = [];
for (const name of ['Green tea', 'Black tea', 'White tea']) {
  const product = { name, price: 12.5, currency: 'USD', stock: 10, category: 'Tea' };
  const { id } = (await call('POST', PRODUCTS, machine, product)).body;
  ids.push(id);
  await call('POST', '/v2/orders', ann, { items: [{ product_id: id, quantity: 1 }], currency: 'USD' });
}

/** Lists of three, each with a filter that they all match. */
const LISTS = [
  [PRODUCTS, 'filter[category]=Tea'],
  [`${PRODUCTS}/search?q=tea`, 'filter[currency]=USD'],
  ['/v2/orders', 'filter[status]=pending'],
] as const;

t.test('what a list cannot answer is refused, and named', async (t) => {
  for (const [list, filter] of LISTS) {
    const get = (query: string) => call('GET', `${list}${list.includes('?') ? '&' : '?'}${query}`, ann);
    const next = new URL((await get(`${filter}&limit=1&cursor=`)).body.links.next ?? '', 'http://x')
      .searchParams;
    const cursor = next.get('cursor') ?? '';
    t.equal((await get(`${filter}&limit=1&cursor=${cursor}`)).body.data.length, 1, list);
    for (const [label, query, field, message] of [
      ['an unknown filter', 'filter[colour]=red', 'filter[colour]', /./],
      ['a value of another type', 'filter[created_at][gt]=soon', 'filter[created_at][gt]', /./],
      ['an unknown sort', 'sort=colour', 'sort', /./],
      ['a bad cursor', 'cursor=x', 'cursor', /./],
      ['a cursor that was changed', `${filter}&cursor=${cursor.slice(0, -2)}AA`, 'cursor', /./],
      ['a cursor of another filter', `cursor=${cursor}`, 'cursor', /./],
      ['a cursor of another sort', `${filter}&sort=created_at&order=asc&cursor=${cursor}`, 'cursor', /./],
      ['a page too far away', 'page=102&limit=100', 'page', /cursor/],
      ['a page before the first', 'page=0', 'page', /./],
      ['too large a page', 'limit=101', 'limit', /./],
    ] as const) {
      const { status, body } = await get(query);
      t.equal(status, 400, `${list}: ${label}`);
      t.match(body.error, { code: 'invalid_parameter', details: [{ field, message }] }, `${list}: ${label}`);
    }
    t.match(
      await get('page=2&limit=3'),
      { status: 200, body: { data: [], meta: { total: 3 } } },
      'beyond the end',
    );
  }
});

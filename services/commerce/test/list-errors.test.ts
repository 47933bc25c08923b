import t from 'tap';
import { build, PRODUCTS } from './build.ts';

const { call, ann, newProduct, order } = await build(t);
for (const name of ['Green tea', 'Black tea', 'White tea'])
  await order(ann, [[await newProduct(10, { name, category: 'Tea' }), 1]]);

/** Lists of three, each with a filter that they all match. */
const LISTS = [
  [PRODUCTS, 'filter[category]=Tea'],
  [`${PRODUCTS}/search?q=tea`, 'filter[currency]=USD'],
  ['/v2/orders', 'filter[status]=pending'],
] as const;

t.test('unsupported queries of a list are refused by name', async (t) => {
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

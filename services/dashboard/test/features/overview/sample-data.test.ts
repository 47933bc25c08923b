import t from 'tap';
import { build } from '../../build.ts';

t.test('an admin fills an empty deployment with samples, once', async (t) => {
  const built = await build(t, { sampleData: true });
  const { browser, page } = await built.signedIn('admin');
  t.match(page.html, 'Create sample data');
  const [filled, again] = await Promise.all([
    browser.submit(page, {}, '/sample-data'),
    browser.submit(page, {}, '/sample-data'),
  ]);
  for (const { status, html } of [filled, again]) {
    t.equal(status, 200);
    t.match(html, 'The sample data is created.');
    t.notMatch(html, 'Create sample data', 'there are products now');
  }
  const totalOf = async (path: string) => {
    const { body } = await built.call<{ meta: { totalItems: number } }>('GET', `${path}?cursor=`);
    return body.meta.totalItems;
  };
  t.same(
    [await totalOf('/v2/products'), await totalOf('/api/v1/items'), await totalOf('/v2/orders')],
    [3, 2, 3],
  );

  const { html } = await browser.get('/dashboard/orders');
  const [, id = ''] = /href="\/dashboard\/orders\/(ord_\w+)"/.exec(html) ?? [];
  const order = await browser.get(`/dashboard/orders/${id}`);
  t.match(order.html, `<title>Order …${id.slice(-8)} – Orders – Gatehouse</title>`);
  const { body } = await built.call<{ client_id: string }>('POST', '/api/v1/applications', 'admin', {
    ...{ name: 'Job', type: 'machine', scopes: ['read:data'] },
  });
  const titleOf = async (path: string) => {
    const page = await browser.get(`/dashboard/applications/${body.client_id}${path}`);
    return /<title>(.*?)<\/title>/.exec(page.html)?.[1];
  };
  t.equal(await titleOf(''), 'Settings – Job – Applications – Gatehouse');
  t.equal(await titleOf('/credentials'), 'Credentials – Job – Applications – Gatehouse');
  t.match(order.html, /<button[^>]*>Confirm order<\/button>/);
});

t.test('samples are offered only where they are allowed, and only to admins', async (t) => {
  const built = await build(t);
  const { page } = await built.signedIn('admin');
  t.notMatch(page.html, 'Create sample data');
});

import { createOpenApiCheck } from '@gatehouse/testing/openapi-check';
import { until } from '@gatehouse/testing/processes';
import mongoose from 'mongoose';
import t from 'tap';
import { ALL, build, PRODUCTS } from './build.ts';
import { beginImport, type ImportedLine, importAll } from './import-client.ts';

const { call, issuer, base, mongodbUri, document, machine } = await build(t);
const client = await new mongoose.mongo.MongoClient(mongodbUri).connect();
t.teardown(() => client.close());
const products = client.db().collection('products');
const TEA = { name: 'Green tea', price: 12.5, currency: 'USD' };

t.test('each line is answered as soon as it is read', async (t) => {
  const { outgoing, response, responses } = beginImport(base, machine);
  const send = async (line: string) => {
    outgoing.write(`${line}\n`);
    return (await responses.next()).value as ImportedLine;
  };
  const created = await send(JSON.stringify({ ...TEA, sku: 'TEA-1', stock: 4 }));
  t.match(created, { line: 1, status: 'created' });
  const path = `${PRODUCTS}/${created.id}`;
  t.match((await call('GET', path, machine)).body, { ...TEA, sku: 'TEA-1', stock: 4 });
  t.match((await response).headers, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });

  t.same(await send(JSON.stringify({ ...TEA, sku: 'tea-1', price: 13 })), {
    line: 2,
    status: 'updated',
    id: created.id,
  });
  t.match(
    (await call('GET', path, machine)).body,
    { price: 13, sku: 'tea-1', stock: 4 },
    'what is left out stays',
  );

  const cases: [line: string, problem: object][] = [
    ['{"name":"Tea"', { code: 'invalid_parameter', message: /not valid JSON/ }],
    [
      JSON.stringify({ ...TEA, price: 1.005 }),
      { details: [{ field: 'price', message: /at most 2 decimals/ }] },
    ],
    [JSON.stringify({ ...TEA, sku: 'TEA-1', stock: -1 }), { details: [{ field: 'stock' }] }],
    [JSON.stringify({ name: 'Tea', price: 1 }), { details: [{ field: 'currency', message: 'is required' }] }],
    ['[]', { code: 'invalid_parameter' }],
    ['{"__proto__": {}}', { code: 'invalid_parameter' }],
    ['{"name": "\\u0000"}', { code: 'invalid_parameter' }],
    ['x'.repeat(70_000), { code: 'payload_too_large', message: /65536 bytes/ }],
  ];
  for (const [i, [line, error]] of cases.entries())
    t.match(await send(line), { line: i + 3, status: 'refused', error }, line.slice(0, 40));
  t.match(await send(`\n  \n${JSON.stringify(TEA)}`), { line: 13, status: 'created' });
  outgoing.end(JSON.stringify(TEA));
  t.match((await responses.next()).value, { line: 14, status: 'created' }, 'without an end of the line');
  t.same(await responses.next(), { value: undefined, done: true });
});

t.test('the document describes it', async (t) => {
  const problemsOf = createOpenApiCheck(document);
  const lines = [{ ...TEA, sku: 'doc' }, { ...TEA, sku: 'doc' }, {}];
  const { responses } = await importAll(base, machine, lines);
  t.same(
    responses.map(({ status }) => status),
    ['created', 'updated', 'refused'],
  );
  const headers = {
    'content-type': 'application/x-ndjson',
    'x-request-id': 'r',
    'ratelimit-policy': '',
    ratelimit: '',
  };
  for (const body of responses)
    t.same(problemsOf({ method: 'POST', path: PRODUCTS, status: 200, headers, body }), []);
});

t.test('who may import, and as what', async (t) => {
  const admin = await issuer.person('usr_admin', 'admin', ALL);
  const cases: [who: string, token: string, status: number, options?: Parameters<typeof importAll>[3]][] = [
    ['a machine', machine, 200],
    ['an admin', admin, 200],
    ['without a version', admin, 200, { path: '/products' }],
    ['an editor', await issuer.person('usr_editor', 'editor', ALL), 403],
    ['a user', await issuer.person('usr_ann', 'user', ALL), 403],
    ['without the scope', await issuer.machine('read:data'), 403],
    ['without a credential', 'x', 401],
    ['a path that creates nothing', machine, 405, { path: '/api/v1/products' }],
    ['orders', machine, 415, { path: '/v2/orders' }],
    ['with a key', machine, 400, { headers: { 'idempotency-key': 'k' } }],
    ['compressed', machine, 415, { headers: { 'content-encoding': 'gzip' } }],
    [
      'with a parameter',
      machine,
      200,
      { headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } },
    ],
  ];
  for (const [who, token, status, options] of cases) {
    const before = await products.countDocuments();
    const { outgoing, response } = beginImport(base, token, options);
    outgoing.end(JSON.stringify(TEA));
    const reply = await response;
    await reply.toArray();
    t.equal(reply.statusCode, status, who);
    t.equal(await products.countDocuments(), before + (status === 200 ? 1 : 0), who);
  }
});

t.test('the last of several lines with the same sku counts, and responses come in order', async (t) => {
  const lines = Array.from({ length: 120 }, (_, i) => ({
    ...TEA,
    name: `n${i}`,
    sku: i % 2 === 0 ? `Same-${i % 3}` : `same-${i % 3}`,
  }));
  const { responses } = await importAll(base, machine, lines);
  t.same(
    responses.map(({ line, status }) => [line, status]),
    lines.map((_, i) => [i + 1, i < 3 ? 'created' : 'updated']),
  );
  const { body } = await call('GET', `${PRODUCTS}?filter[sku]=same-0,same-1,same-2`, machine);
  t.same(body.data.map(({ name }) => name).sort(), ['n117', 'n118', 'n119']);
});

t.test('two imports of the same skus at once: each line is written', async (t) => {
  const lines = Array.from({ length: 40 }, (_, i) => ({ ...TEA, sku: `both-${i}` }));
  const all = await Promise.all([importAll(base, machine, lines), importAll(base, machine, lines)]);
  const statuses = all.flatMap(({ responses }) => responses.map(({ status }) => status));
  t.same(
    [statuses.filter((it) => it === 'created').length, statuses.filter((it) => it === 'updated').length],
    [40, 40],
  );
  t.equal(await products.countDocuments({ sku: /^both-/ }), 40);
});

t.test('a credential that is revoked meanwhile ends it', async (t) => {
  const jti = 'jti_import';
  const token = await issuer.sign({ trusted: true, scope: ALL, jti });
  const { outgoing, responses } = beginImport(base, token);
  outgoing.write(`${JSON.stringify({ ...TEA, sku: 'before' })}\n`);
  t.match((await responses.next()).value, { line: 1, status: 'created' });
  issuer.revoke({ kind: 'token', id: jti });
  await until(async () => (await call('GET', PRODUCTS, token)).status === 401, 5000);
  outgoing.write(`${JSON.stringify({ ...TEA, sku: 'after' })}\n`);
  t.match((await responses.next()).value, { line: 2, status: 'stopped', error: { code: 'unauthorized' } });
  t.same(await responses.next(), { value: undefined, done: true });
  t.equal(await products.countDocuments({ sku: 'after' }), 0);
  outgoing.destroy();
});

t.test('a client that goes away ends it', async (t) => {
  const { outgoing, responses, response } = beginImport(base, machine);
  outgoing.on('error', () => {});
  const lines = Array.from({ length: 3000 }, (_, i) => `${JSON.stringify({ ...TEA, sku: `gone-${i}` })}\n`);
  outgoing.end(lines.join(''));
  await responses.next();
  (await response).destroy();
  const count = () => products.countDocuments({ sku: /^gone-/ });
  let before = -1;
  await until(async () => {
    const now = await count();
    const isStill = now === before;
    before = now;
    if (!isStill) await new Promise((resolve) => setTimeout(resolve, 100));
    return isStill;
  }, 10_000);
  t.ok(before < 1000, `${before} of 3000 were written`);
});

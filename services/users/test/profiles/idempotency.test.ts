import { IDEMPOTENCY_KEYS } from '@gatehouse/data/idempotency-store';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { build, PASSWORD as password } from '../build.ts';

const { call, machine, mongodbUri } = await build(t);
const { connection } = await startTestDatabase(t, { uri: mongodbUri });
const CREATES: [string, (n: number) => object][] = [
  ['/v1/users', (n) => ({ username: `idem-a${n}`, email: `idem-a${n}@example.org`, password })],
  ['/v1/users', (n) => ({ name: `Idem E${n}`, email: `idem-e${n}@example.org`, password })],
  ['/v2/users', (n) => ({ username: `idem-b${n}`, email: `idem-b${n}@example.org`, password })],
  ['/api/v1/users', (n) => ({ username: `idem-c${n}`, email: `idem-c${n}@example.org`, password })],
  ['/users', (n) => ({ name: `Idem D${n}` })],
  ['/kb/api/v1/users', (n) => ({ username: `idem-f${n}`, email: `idem-f${n}@example.org`, password })],
];
const key = (text: string) => ({ 'idempotency-key': text });
const countOf = async () => (await call('GET', '/v1/users?limit=1', machine)).body.pagination.total;

t.test('the same request with the same key creates once and gets the same answer', async (t) => {
  for (const [i, [path, draft]] of CREATES.entries()) {
    const before = await countOf();
    const first = await call('POST', path, machine, draft(1), key(`once-${i}`));
    t.equal(first.status, 201, path);
    t.notOk(first.headers.has('idempotency-replayed'));
    const again = await call('POST', path, machine, draft(1), key(`once-${i}`));
    t.equal(again.status, 201);
    t.same(again.body, first.body);
    t.equal(again.headers.get('location'), first.headers.get('location'));
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    const other = await call('POST', path, machine, draft(2), key(`once-${i}`));
    t.equal(other.status, 422, `${path}: the key of another body`);
    t.equal(await countOf(), before + 1);
  }
});

/** Leaves all keys as a process does that ends before it has kept its response, a while ago. */
const endWithoutResponse = () =>
  connection
    .collection(IDEMPOTENCY_KEYS)
    .updateMany({}, { $unset: { answer: '' }, $set: { lease_until: new Date(0) } });

t.test('a retry finds the resource of an attempt that failed to answer', async (t) => {
  for (const [i, [path, draft]] of CREATES.entries()) {
    const first = await call('POST', path, machine, draft(3), key(`died-${i}`));
    t.equal(first.status, 201, path);
    const before = await countOf();
    await endWithoutResponse();
    const again = await call('POST', path, machine, draft(3), key(`died-${i}`));
    t.equal(again.status, 201, path);
    t.same(again.body, first.body);
    for (const name of ['location', 'etag']) t.equal(again.headers.get(name), first.headers.get(name));
    t.equal(await countOf(), before);
  }
});

t.test('a retry conflicts with a resource that another request has created', async (t) => {
  const draft = { username: 'idem-lost', email: 'idem-lost@example.org', password };
  const { body } = await call('POST', '/v1/users', machine, draft, key('lost'));
  await call('DELETE', `/v1/users/${body.id}`, machine);
  const { body: other } = await call('POST', '/v1/users', machine, draft);
  await endWithoutResponse();
  const { status, body: refused } = await call('POST', '/v1/users', machine, draft, key('lost'));
  t.equal(status, 409);
  t.match(refused, { error: { code: 'CONFLICT', message: /already taken/ } });
  t.notMatch(JSON.stringify(refused), other.id);
});

import { IDEMPOTENCY_KEYS } from '@gatehouse/data/idempotency-store';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import t from 'tap';
import { ALL, build, PASSWORD as password } from '../build.ts';

const { issuer, call, machine, mongodbUri } = await build(t);
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
    t.equal(await countOf(), before + 1);
  }
});

t.test('another body with the same key is rejected', async (t) => {
  for (const [i, [path, draft]] of CREATES.entries()) {
    const before = await countOf();
    const { status, body } = await call('POST', path, machine, draft(2), key(`once-${i}`));
    t.equal(status, 422, path);
    t.match(JSON.stringify(body), /key/i);
    t.equal(await countOf(), before);
  }
});

t.test('a rejected request releases the key', async (t) => {
  const refused = await call('POST', '/v1/users', machine, { username: 'x' }, key('free'));
  t.equal(refused.status, 400);
  const draft = { username: 'idem-free', email: 'idem-free@example.org', password };
  t.equal((await call('POST', '/v1/users', machine, draft, key('free'))).status, 201);
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

t.test(
  'of thirty at the same time one creates; the others are told to wait, or the same answer',
  async (t) => {
    const draft = { name: 'Idem Parallel' };
    const before = await countOf();
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => call('POST', '/users', machine, draft, key('parallel'))),
    );
    for (const { status, headers } of responses) {
      t.ok(status === 201 || (status === 409 && headers.has('retry-after')), String(status));
    }
    t.equal(new Set(responses.flatMap(({ status, body }) => (status === 201 ? [body.id] : []))).size, 1);
    t.equal(await countOf(), before + 1);
  },
);

t.test('a key belongs to the caller, even with a new token', async (t) => {
  const draft = { name: 'Idem Owner' };
  const first = await call('POST', '/users', machine, draft, key('owned'));
  const fresh = await issuer.machine(ALL);
  t.same((await call('POST', '/users', fresh, draft, key('owned'))).body, first.body, 'a fresh token');
  const other = await issuer.sign({ trusted: true, scope: ALL, client_id: 'app_other', sub: 'app_other' });
  const theirs = await call('POST', '/users', other, draft, key('owned'));
  t.equal(theirs.status, 201);
  t.not(theirs.body.id, first.body.id, 'another application has keys of its own');
  const unread = await issuer.machine('openid');
  t.equal((await call('POST', '/users', unread, draft, key('owned'))).status, 403, 'scopes come first');
});

t.test('a malformed key is a bad request', async (t) => {
  for (const bad of ['x'.repeat(256), 'a\tb'.replace('\t', ' ').padEnd(300)]) {
    t.equal((await call('POST', '/users', machine, { name: 'Idem Bad' }, key(bad))).status, 400);
  }
});

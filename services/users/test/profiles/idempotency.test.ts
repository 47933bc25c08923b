import t from 'tap';
import { build } from '../build.ts';

const { issuer, call } = await build(t);
const ALL = 'read:users write:users';
const machine = await issuer.machine(ALL);
const password = 'correct horse';
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

t.test('the same request with the same key creates once, and is answered alike', async (t) => {
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

t.test('another body with the same key is refused', async (t) => {
  for (const [i, [path, draft]] of CREATES.entries()) {
    const before = await countOf();
    const { status, body } = await call('POST', path, machine, draft(2), key(`once-${i}`));
    t.equal(status, 422, path);
    t.match(JSON.stringify(body), /key/i);
    t.equal(await countOf(), before);
  }
});

t.test('a refused request leaves the key free', async (t) => {
  const refused = await call('POST', '/v1/users', machine, { username: 'x' }, key('free'));
  t.equal(refused.status, 400);
  const draft = { username: 'idem-free', email: 'idem-free@example.org', password };
  t.equal((await call('POST', '/v1/users', machine, draft, key('free'))).status, 201);
});

t.test(
  'of thirty at the same time one creates; the others are told to wait, or the same answer',
  async (t) => {
    const draft = { name: 'Idem Parallel' };
    const before = await countOf();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => call('POST', '/users', machine, draft, key('parallel'))),
    );
    for (const { status, headers } of answers) {
      t.ok(status === 201 || (status === 409 && headers.has('retry-after')), String(status));
    }
    t.equal(new Set(answers.flatMap(({ status, body }) => (status === 201 ? [body.id] : []))).size, 1);
    t.equal(await countOf(), before + 1);
  },
);

t.test('a key belongs to who uses it, with a new token, too', async (t) => {
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

t.test('a key that is none is a bad request', async (t) => {
  for (const bad of ['x'.repeat(256), 'a\tb'.replace('\t', ' ').padEnd(300)]) {
    t.equal((await call('POST', '/users', machine, { name: 'Idem Bad' }, key(bad))).status, 400);
  }
});

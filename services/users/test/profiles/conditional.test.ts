import t from 'tap';
import { build } from '../build.ts';

const { issuer, call, base, machine, created: person } = await build(t);
const READERS = ['/v1/users', '/v2/users', '/api/v1/users', '/users'];

t.test('a read has an ETag, and is 304 with If-None-Match (RFC 9110 §13.1.2)', async (t) => {
  const { id, etag } = await person();
  t.match(etag, /^"[\x21\x23-\x7e]+"$/, 'strong');
  for (const prefix of READERS) {
    const path = `${prefix}/${id}`;
    const read = await call('GET', path, machine);
    t.equal(read.headers.get('etag'), etag, prefix);
    t.equal(read.headers.get('cache-control'), 'private, no-cache');
    for (const header of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await call('GET', path, machine, undefined, { 'if-none-match': header });
      t.equal(again.status, 304, header);
      t.equal(again.body, undefined);
      t.equal(again.headers.get('etag'), etag);
      t.equal(again.headers.get('cache-control'), 'private, no-cache', 'as a 200 would say (§15.4.5)');
    }
    for (const header of ['"other"', 'nonsense']) {
      t.equal((await call('GET', path, machine, undefined, { 'if-none-match': header })).status, 200, header);
    }
  }
  const stranger = await issuer.person('usr_x', 'user', 'read:users');
  const refused = await call('GET', `/v1/users/${id}`, stranger, undefined, { 'if-none-match': etag });
  t.equal(refused.status, 403, 'nobody learns of a version who may not read');
  const head = await fetch(`${base}/v1/users/${id}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${machine}`, 'if-none-match': etag },
  });
  t.equal(head.status, 304);
});

t.test('every change has a new ETag', async (t) => {
  const { id, etag } = await person();
  const seen = new Set([etag]);
  const changes: [string, string, object][] = [
    ['PUT', `/v1/users/${id}`, { email: 'cond-new@example.org' }],
    ['PATCH', `/v1/users/${id}`, { name: 'New Name' }],
    ['PUT', `/v2/users/${id}`, { status: 'inactive' }],
    ['PUT', `/v1/users/${id}/status`, { status: 'active' }],
    ['PUT', `/v1/users/${id}/role`, { role: 'editor' }],
    ['PUT', `/v1/users/${id}/password`, { new_password: 'another horse' }],
  ];
  for (const [method, path, body] of changes) {
    const { status, headers } = await call(method, path, machine, body);
    t.ok(status < 300, `${method} ${path} ${status}`);
    const now = (await call('GET', `/v1/users/${id}`, machine)).headers.get('etag') ?? '';
    if (status === 200) t.equal(headers.get('etag'), now, 'the answer of the change has it already');
    t.notOk(seen.has(now), `${path}: ${now}`);
    seen.add(now);
  }
});

t.test('a change with If-Match needs the current version (RFC 9110 §13.1.1)', async (t) => {
  const writes: [string, string, object | undefined][] = [
    ['PUT', '/v1/users', { username: 'lost-update' }],
    ['PATCH', '/v1/users', { name: 'Lost Update' }],
    ['PUT', '/v2/users', { profile: { first_name: 'Lost' } }],
    ['PUT', '/users', { profile: { first_name: 'Lost' } }],
    ['PUT', '/v1/users/:id/role', { role: 'editor' }],
    ['PUT', '/v2/users/:id/status', { status: 'inactive' }],
    ['PUT', '/users/:id/status', { status: 'inactive' }],
    ['PUT', '/v2/users/:id/password', { new_password: 'another horse' }],
    ['DELETE', '/v1/users', undefined],
    ['DELETE', '/v2/users', undefined],
    ['DELETE', '/users', undefined],
  ];
  for (const [method, prefix, body] of writes) {
    const { id, etag } = await person();
    const path = prefix.includes(':id') ? prefix.replace(':id', id) : `${prefix}/${id}`;
    await call('PATCH', `/v1/users/${id}`, machine, { name: 'Somebody was faster' });
    const what = `${method} ${prefix}`;
    const before = await call('GET', `/v2/users/${id}`, machine);
    for (const old of [etag, `W/${before.headers.get('etag')}`, '"of-somebody-else"']) {
      const refused = await call(method, path, machine, body, { 'if-match': old });
      t.equal(refused.status, 412, `${what} ${old}`);
      t.match(refused.body.error.code, /^precondition_failed$/i);
    }
    t.same((await call('GET', `/v2/users/${id}`, machine)).body, before.body, 'nothing has changed');
    t.equal((await call(method, path, machine, body, { 'if-match': 'nonsense' })).status, 400, what);
    const both = `${etag}, ${before.headers.get('etag')}`;
    const done = await call(method, path, machine, body, { 'if-match': both });
    t.ok(done.status < 300, `${what} ${done.status}`);
  }
  const { id } = await person();
  const same = { role: 'user' };
  const stale = await call('PUT', `/v1/users/${id}/role`, machine, same, { 'if-match': '"v9"' });
  t.equal(stale.status, 412, 'what is so already is refused, too, to who has not seen it');
  t.equal((await call('PUT', `/v1/users/${id}/role`, machine, same, { 'if-match': '"v1"' })).status, 204);
  const missing = await call('PUT', '/v1/users/usr_missing', machine, {}, { 'if-match': '*' });
  t.equal(missing.status, 404);
});

t.test('one of twenty concurrent changes with If-Match succeeds', async (t) => {
  const { id, etag } = await person();
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      call('PATCH', `/v1/users/${id}`, machine, { name: `Racer ${i}` }, { 'if-match': etag }),
    ),
  );
  const statuses = responses.map(({ status }) => status);
  t.equal(statuses.filter((status) => status === 200).length, 1);
  t.equal(statuses.filter((status) => status === 412).length, 19);
});

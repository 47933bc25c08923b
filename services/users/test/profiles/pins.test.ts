import t from 'tap';
import { ALL, type Body, build, PASSWORD as password } from '../build.ts';

const { issuer, call, pinned: pin, machine: unpinned } = await build(t);

let count = 0;
const email = () => {
  count += 1;
  return `pin${count}@example.org`;
};
/** The keys of the response, or of the first user in it. */
const keysOf = (body: Body) => Object.keys(Array.isArray(body) ? body[0] : body);
const A = ['id', 'username', 'email', 'createdAt', 'updatedAt'];
const E = ['id', 'email', 'name', 'createdAt'];
const G = ['id', 'name', 'email', 'created_at'];
const B1 = ['id', 'username', 'email', 'status', 'created_at'];
const B2 = ['id', 'email', 'status'];

await call('POST', '/v1/users', unpinned, { username: 'first', email: email(), password });

t.test('an application gets its pinned profile, others the default', async (t) => {
  const ambiguous = { name: 'Pin', password };
  const creating: [string, string[]][] = [
    ['E', E],
    ['G', G],
  ];
  for (const [name, keys] of creating) {
    const pinned = await pin({ v1_users: name });
    const { status, body } = await call('POST', '/v1/users', pinned, { ...ambiguous, email: email() });
    t.equal(status, 201, name);
    t.same(keysOf(body), keys);
  }
  const shaped = await call('POST', '/v1/users', unpinned, { ...ambiguous, email: email() });
  t.same(keysOf(shaped.body), E, 'without a pin a name alone means E');
  const pinnedA = await pin({ v1_users: 'A' });
  const refused = await call('POST', '/v1/users', pinnedA, { ...ambiguous, email: email() });
  t.equal(refused.status, 400, 'pinned to A, a username is missing');
  t.match(refused.body.error, { code: 'INVALID_INPUT', message: /username is required/ });

  const v1: [Record<string, string> | undefined, string, string[], string[]][] = [
    [undefined, '/v1/users', ['data', 'pagination'], A],
    [undefined, '/v1/users?page=1', ['data', 'meta'], G],
    [undefined, '/v1/users?cursor=', ['data', 'links', 'meta'], A],
    [{ v1_users: 'G' }, '/v1/users', ['data', 'meta'], G],
    [{ v1_users: 'G' }, '/v1/users?offset=0', ['data', 'meta'], G],
    [{ v1_users: 'G' }, '/v1/users?cursor=', ['data', 'links', 'meta'], G],
    [{ v1_users: 'A' }, '/v1/users?page=1', ['data', 'pagination'], A],
    [{ v1_users: 'E' }, '/v1/users', ['data', 'pagination'], A],
    [{ v2_users: 'B2' }, '/v1/users', ['data', 'pagination'], A],
    [undefined, '/v2/users', ['data', 'meta'], B2],
    [{ v2_users: 'B2' }, '/v2/users?offset=0', ['data', 'meta'], B2],
    [{ v2_users: 'B1' }, '/v2/users?cursor=', ['data', 'links', 'meta'], B1],
    [undefined, '/v2/users?cursor=', ['data', 'links', 'meta'], B2],
  ];
  for (const [pins, path, envelope, keys] of v1) {
    const what = `${path}, ${pins === undefined ? 'no pin' : JSON.stringify(pins)}`;
    const { status, body } = await call('GET', path, pins === undefined ? unpinned : await pin(pins));
    t.equal(status, 200, what);
    t.same(Object.keys(body), envelope, what);
    t.same(keysOf(body.data as unknown as Body), keys, what);
  }
  const bare: [Record<string, string> | undefined, string][] = [
    [undefined, '/v2/users?offset=0'],
    [{ v2_users: 'B1' }, '/v2/users'],
    [{ v2_users: 'B1' }, '/v2/users?page=1'],
  ];
  for (const [pins, path] of bare) {
    const { body } = await call('GET', path, pins === undefined ? unpinned : await pin(pins));
    t.ok(Array.isArray(body), path);
    t.same(keysOf(body), B1);
  }
});

t.test('an API key carries the pin of its application', async (t) => {
  const { key } = issuer.apiKey({ scopes: ['read:users'], profiles: { v1_users: 'G' } });
  t.same(Object.keys((await call('GET', '/v1/users', key)).body), ['data', 'meta']);
  const scheme = { authorization: `ApiKey ${key}` };
  t.same(Object.keys((await call('GET', '/v1/users', undefined, undefined, scheme)).body), ['data', 'meta']);
});

t.test('reading and deleting do not depend on the pin', async (t) => {
  for (const name of ['A', 'E', 'G']) {
    const token = await pin({ v1_users: name });
    const { body } = await call('POST', '/users', unpinned, { name: 'Same' });
    t.same(keysOf((await call('GET', `/v1/users/${body.id}`, token)).body), A, name);
    t.same(keysOf((await call('PUT', `/v1/users/${body.id}`, token, {})).body), A, name);
    t.same(
      keysOf((await call('PATCH', `/v1/users/${body.id}`, token, {})).body),
      ['id', 'email', 'name', 'updatedAt'],
      name,
    );
    t.equal((await call('DELETE', `/v1/users/${body.id}`, token)).status, 204, name);
  }
});

t.test('the deployment sets the default', async (t) => {
  const other = await build(t, { v1Profile: 'G', v2Profile: 'B1' });
  const token = await other.issuer.machine(ALL);
  const created = await other.call('POST', '/v1/users', token, { username: 'one', email: email(), password });
  t.same(keysOf(created.body), A, 'the shape comes first');
  t.match((await other.call('POST', '/v1/users', token, {})).body.error.message, /name is required/, 'G');
  t.same(Object.keys((await other.call('GET', '/v1/users', token)).body), ['data', 'meta']);
  t.same(Object.keys((await other.call('GET', '/v1/users?offset=0', token)).body), ['data', 'pagination']);
  t.ok(Array.isArray((await other.call('GET', '/v2/users', token)).body));
  t.same(Object.keys((await other.call('GET', '/v2/users?page=1', token)).body), ['data', 'meta']);
});

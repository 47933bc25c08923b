import { createRequestCheck } from '@gatehouse/testing/openapi-check';
import t from 'tap';
import { build } from './build.ts';

/** The served document, as developers and client generators read it. */

const { issuer, call, base } = await build(t);
const document = JSON.parse(await (await fetch(`${base}/openapi/users.json`)).text());
const { info, tags, paths, components } = document;
const machine = await issuer.machine('read:users write:users');

type Operation = { summary: string; tags: string[] };
type Parameter = { name: string; description: string; schema: object };

const PATHS = ['/v1/users', '/v2/users', '/api/v1/users', '/users', '/kb/api/v1/users'];

t.test('it states the version and the license', async (t) => {
  t.match(info, {
    version: '2.1.0',
    description: /The version of this document is the version of the interface\./,
    license: { identifier: 'Apache-2.0' },
  });
});

t.test('operations are tagged with their path and name their profiles', async (t) => {
  t.strictSame(
    tags.map(({ name }: { name: string }) => name),
    [...PATHS, 'guides'],
  );
  t.match(tags[0].description, /\*\*A\*\*: .+\n- \*\*E\*\*: .+\n- \*\*G\*\*: ./);
  t.match(tags[3].description, /\*\*B1\*\*: update and delete, .*\n- \*\*D\*\*: ./);
  const summaries: Record<string, string> = {};
  for (const [path, operations] of Object.entries<Record<string, Operation>>(paths)) {
    for (const [method, { summary, tags }] of Object.entries(operations)) {
      summaries[`${method} ${path}`] = summary;
      const home = path.startsWith('/guides') ? 'guides' : path.split('/{')[0];
      t.strictSame(tags, [home], `${method} ${path}`);
    }
  }
  t.match(summaries, {
    'get /v1/users': 'List users (A, G)',
    'post /v1/users': 'Create a user (A, E, G)',
    'get /v1/users/{id}': 'Read a user (A)',
    'put /v1/users/{id}': 'Change a user (A)',
    'patch /v1/users/{id}': 'Change a user (E)',
    'delete /v1/users/{id}': 'Delete a user (A, E)',
    'put /v1/users/{id}/password': 'Change the password',
    'get /v2/users': 'List users (B1, B2)',
    'post /v2/users': 'Create a user (B1)',
    'put /users/{id}': 'Change a user (B1)',
    'get /users': 'List users (D)',
  });
});

t.test('parameters name their profiles', async (t) => {
  const parameters = (path: string): Record<string, Parameter> =>
    Object.fromEntries(paths[path].get.parameters.map((it: Parameter) => [it.name, it]));
  const [v1, v2] = [parameters('/v1/users'), parameters('/v2/users')];
  t.match(v1.offset?.description, /^Profile A: /);
  t.match(v1.page?.description, /^Profile G: /);
  t.match(v1['filter[username]']?.description, /^Profile A: /);
  t.match(v1['filter[created_at]']?.description, /^Profile G: /);
  t.match(v2.offset?.description, /^Profile B1: /);
  t.match(v2.page?.description, /^Profile B2: /);
  for (const both of [v1.limit, v1.cursor, v1['filter[email]'], v2.limit, v2['filter[status]']]) {
    t.match(both?.description, /^(?!Profile)./, String(both?.name));
  }
  for (const counted of [v1.offset, v1.page, v2.offset, v2.page]) {
    t.notOk(counted !== undefined && 'default' in counted.schema, String(counted?.name));
  }
  t.match(parameters('/api/v1/users').offset?.schema, { default: 0 }, 'nobody else to answer');
});

t.test('the example of a cursor page has a next link', async (t) => {
  const { examples } = paths['/v1/users'].get.responses[200].content['application/json'];
  const { links } = examples.UserACursorPage.value;
  t.match(links.next, /^\/v1\/users\?limit=1&cursor=[\w-]+$/);
  t.equal((await call('GET', String(links.next), machine)).status, 200, 'by a cursor of this list');
});

t.test('fields of bodies document their limits, which the aggregate checks', async (t) => {
  const { NewUserA, NewUserE, UserPassword } = components.schemas;
  const { username, email, password } = NewUserA.properties;
  t.match(username, { description: /3 to 64 letters, digits/, examples: ['ann'] });
  t.match(email.description, /at most 254 characters/);
  t.match(password.description, /8 to 256 characters/);
  t.match(NewUserE.properties.name.description, /1 to 200 characters/);
  t.match(UserPassword.properties.new_password.description, /8 to 256 characters/);
  const body = { username: 'x', email: 'x', password: 'x' };
  const { message } = (await call('POST', '/v1/users', machine, body)).body.error;
  t.match(message, 'username must have 3 to 64 characters; email must be a valid email address');
  const keywords = ['description', 'examples', 'maxLength', 'minLength', 'pattern', 'type'];
  t.strictSame(Object.keys(username).sort(), keywords);
  t.match(email, { format: 'email', maxLength: 254, pattern: String });
  t.match(password, { minLength: 8, maxLength: 256 });
  t.match(NewUserE.properties.name, { minLength: 1, maxLength: 200, pattern: String });
  t.match(UserPassword.properties.new_password, { minLength: 8, maxLength: 256 });
});

t.test('accepted bodies are the documented ones', async (t) => {
  const problemsOf = createRequestCheck(document);
  const all = { username: 'bodies', name: 'Bodies', email: 'bodies@example.org', password: 'long enough' };
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));
  const bodies = [
    all,
    without('name'),
    without('username'),
    { ...without('username'), more: 1 },
    without('username', 'name'),
    without('email'),
    without('name', 'password'),
    { ...without('username'), name: 1 },
    [],
  ];
  for (const body of bodies) {
    const { status, body: user } = await call('POST', '/v1/users', machine, body);
    const problems = problemsOf({ method: 'POST', path: '/v1/users', body });
    t.equal(problems.length === 0, status === 201, JSON.stringify(body));
    if (status === 201) await call('DELETE', `/v1/users/${user.id}`, machine);
  }
});

t.test('examples of errors are actual answers', async (t) => {
  const { body: ann } = await call('POST', '/v2/users', machine, {
    username: 'ann',
    email: 'ann@example.org',
    password: 'long enough',
  });
  const one = `/v2/users/${ann.id}`;
  const reader = await issuer.machine('openid');
  const cases: [status: number, method: string, path: string, response: ReturnType<typeof call>][] = [
    [400, 'put', '/v2/users/{id}', call('PUT', one, machine, { email: 'x' })],
    [401, 'get', '/v2/users', call('GET', '/v2/users', undefined)],
    [403, 'get', '/v2/users', call('GET', '/v2/users', reader)],
    [403, 'post', '/v2/users', call('POST', '/v2/users', reader, {})],
    [403, 'get', '/v2/users/{id}', call('GET', one, await issuer.person(ann.id, 'user', 'openid'))],
    [404, 'get', '/v2/users/{id}', call('GET', '/v2/users/usr_nobody', machine)],
    [
      409,
      'post',
      '/v2/users',
      call('POST', '/v2/users', machine, {
        ...{ username: ann.username, email: 'b@example.org', password: 'long enough' },
      }),
    ],
    [412, 'delete', '/v2/users/{id}', call('DELETE', one, machine, undefined, { 'if-match': '"v99"' })],
    [413, 'put', '/v2/users/{id}', call('PUT', one, machine, { email: 'x'.repeat(300_000) })],
    [415, 'put', '/v2/users/{id}', call('PUT', one, machine, 'x', { 'content-type': 'text/plain' })],
  ];
  for (const [status, method, path, response] of cases) {
    const [name = ''] = paths[path][method].responses[status].$ref.split('/').slice(-1);
    const { body, status: responded } = await response;
    t.equal(responded, status);
    const { example } = components.responses[name].content['application/json'];
    t.strictSame(example, body, `${method} ${path} ${status}`);
  }
});

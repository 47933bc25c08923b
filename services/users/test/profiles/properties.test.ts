import t from 'tap';
import { USER_PATHS } from '../../src/profiles/paths.ts';
import { USER_SHAPES } from '../../src/profiles/user-profiles.ts';
import { newUserRecord, userOf } from '../../src/user.ts';
import { CHANGEABLE_FIELDS } from '../../src/user-fields.ts';
import { build } from '../build.ts';

const { call, machine } = await build(t);
const profiles = USER_PATHS.flatMap(({ prefix, profiles: all }) => all.map((it) => ({ ...it, prefix })));
const SECRET = ['password', 'currentPassword'];
const inOrder = (names: Iterable<string>) => [...new Set(names)].toSorted();
const exampleOf = (body: { example: unknown }) => body.example as object;

t.test('each property that a body takes is created, and shown by a profile', async (t) => {
  const views = profiles.flatMap(({ list, create, read, update }) =>
    [list?.item, create?.response, read, update?.response].filter((it) => it !== undefined),
  );
  const shown = new Set(views.flatMap(({ properties = [] }) => properties));
  const taken = Object.entries(USER_SHAPES).flatMap(([name, shape]) => ('input' in shape ? [name] : []));
  t.same(
    taken.filter((name) => !shown.has(name)),
    SECRET,
  );
  const created: string[] = [];
  for (const { create, name } of profiles) {
    if (create === undefined) continue;
    const draft = create.body.read(exampleOf(create.body));
    const user = userOf(newUserRecord(draft, { id: 'usr_1', username: draft.username ?? 'derived' }));
    const { password: _, ...stored } = draft;
    t.match(user, stored, name);
    created.push(...Object.keys(stored));
  }
  t.same(inOrder(created), inOrder(CHANGEABLE_FIELDS.filter((it) => it !== 'picture')));
});

for (const { prefix, name, create, update } of profiles) {
  for (const [method, body] of [
    ['POST', create?.body],
    [update?.method ?? 'PUT', update?.body],
  ] as const) {
    if (body === undefined) continue;
    t.test(`${method} ${prefix}, profile ${name}: what is sent can be read`, async (t) => {
      const unique = { username: `u${Date.now()}${prefix.length}`, email: `${Date.now()}@example.org` };
      const isCreation = method === 'POST';
      const person = await call('POST', '/v2/users', machine, { ...unique, password: 'correct horse' });
      const sent = isCreation
        ? {
            ...exampleOf(body),
            ...('username' in exampleOf(body) ? { username: `${unique.username}x` } : {}),
          }
        : exampleOf(body);
      const own = 'email' in sent ? { email: `x${unique.email}` } : {};
      const written = await call(method, isCreation ? prefix : `${prefix}/${person.body.id}`, machine, {
        ...sent,
        ...own,
      });
      t.ok(written.status < 300, JSON.stringify(written.body));
      const { id } = isCreation ? written.body : person.body;
      const all = await Promise.all(
        ['/v2/users', '/users'].map(async (path) => (await call('GET', `${path}/${id}`, machine)).body),
      );
      const roles = await call('GET', `/kb/api/v1/users?cursor=&filter[id]=${id}`, machine);
      const { password: _, ...readable } = { ...sent, ...own } as Record<string, unknown>;
      t.match(Object.assign({}, ...all, roles.body.data[0]), readable);
    });
  }
}

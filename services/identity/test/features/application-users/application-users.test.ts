import t from 'tap';
import { build, SPA, WEB } from '../../build.ts';
import { tokensFor, untilDead } from '../../tokens.ts';

const built = await build(t);
const { call } = built;
const admin = await built.login('admin');
const WEB_USERS = `/api/v1/applications/${WEB.client_id}/users`;
type User = { user_id: string; name: string | null; email: string | null; scopes: string[] };
const usersAt = async (path: string, token = admin) => (await call('GET', path, token)).body.data as User[];

const ids: string[] = [];
for (const username of ['ada', 'ben', 'cid', 'dan', 'eve']) ids.push(await built.createPerson(username));
const scopes = ['openid profile email', 'openid', 'openid profile', 'openid email', 'openid read:data'];
for (const [i, username] of ['ada', 'ben', 'cid', 'dan', 'eve'].entries()) {
  await tokensFor(built, { username, more: { scope: scopes[i] ?? '' } });
}
const inOrder = ids.toSorted();

t.test('an owner sees as much of a person as the application may read', async (t) => {
  const users = await usersAt(WEB_USERS);
  t.same(
    users.map(({ user_id }) => user_id),
    inOrder,
  );
  const expected: [name: string | null, email: string | null][] = [
    ['ada', 'ada@example.org'],
    [null, null],
    ['cid', null],
    [null, 'dan@example.org'],
    [null, null],
  ];
  for (const [i, id] of ids.entries()) {
    const [name, email] = expected[i] ?? [];
    const own = { name, email, scopes: scopes[i]?.split(' ').toSorted() };
    t.match(
      users.find(({ user_id }) => user_id === id),
      { ...own, allowed_since: /^\d{4}-/ },
      String(scopes[i]),
    );
  }
});

t.test('pages lead there and back, with each person once', async (t) => {
  // Another grant of the same person, in another browser.
  await tokensFor(built, { username: 'cid', more: { scope: 'openid email' } });
  const cid = (await usersAt(WEB_USERS)).find(({ user_id }) => user_id === ids[2]);
  t.same(cid?.scopes, ['email', 'openid', 'profile']);
  const seen: string[][] = [];
  let last = '';
  for (let next: string | undefined = `${WEB_USERS}?limit=2`; next !== undefined; ) {
    const { body } = await call('GET', next, admin);
    const { data, links, meta } = body as {
      data: User[];
      links: { next?: string; prev?: string };
      meta: { totalItems: number };
    };
    t.equal(meta.totalItems, 5);
    seen.push(data.map(({ user_id }) => user_id));
    next = links.next;
    last = links.prev ?? last;
  }
  t.same(seen, [inOrder.slice(0, 2), inOrder.slice(2, 4), inOrder.slice(4)]);
  const before = await usersAt(last);
  t.same(
    before.map(({ user_id }) => user_id),
    inOrder.slice(2, 4),
  );
});

t.test('only who may: the owner, members by their role, and admins', async (t) => {
  const owner = await built.login('ann');
  const stranger = await built.login('eve');
  const { client_id: id } = await built.createApplication(owner, {
    ...{ name: 'Of Ann', type: 'web', scopes: ['openid'], redirect_uris: ['https://ann.example/cb'] },
  });
  const path = `/api/v1/applications/${id}`;
  await call('POST', `${path}/members`, owner, { user: 'ben', role: 'viewer' });
  const viewer = await built.login('ben');
  await call('POST', `/api/v1/memberships/${id}/accept`, viewer);
  for (const [name, token, list, end] of [
    ['the owner', owner, 200, 404],
    ['a viewer', viewer, 200, 403],
    ['a stranger', stranger, 404, 404],
    ['an admin', admin, 200, 404],
  ] as const) {
    t.equal((await call('GET', `${path}/users`, token)).status, list, name);
    t.equal((await call('DELETE', `${path}/users/${ids[0]}`, token)).status, end, `${name} ends`);
  }
  t.equal((await call('GET', WEB_USERS, owner)).status, 404, 'another application');
  t.equal((await call('DELETE', `${WEB_USERS}/${ids[0]}`, owner)).status, 404);
  t.equal((await usersAt(WEB_USERS)).length, 5, 'nobody has lost anything');
});

t.test('access is ended for one person at one application', async (t) => {
  const ended = await tokensFor(built, { username: 'ada', more: { scope: 'openid profile read:data' } });
  const elsewhere = await tokensFor(built, { username: 'ada', client: SPA });
  const other = await tokensFor(built, { username: 'dan', more: { scope: 'openid read:data' } });
  t.equal((await call('DELETE', `${WEB_USERS}/${ids[0]}`, admin)).status, 204);
  await untilDead(built, ended.access_token);
  t.equal((await call('GET', '/userinfo', elsewhere.access_token)).status, 200);
  t.equal((await call('GET', '/userinfo', other.access_token)).status, 200);
  t.notOk((await usersAt(WEB_USERS)).some(({ user_id }) => user_id === ids[0]));
  t.equal((await call('DELETE', `${WEB_USERS}/${ids[0]}`, admin)).status, 404);
  const { body } = await call(
    'GET',
    `/api/v1/audit?filter[subject]=${ids[0]}&filter[action]=grant.revoked`,
    admin,
  );
  t.match(body.data, [{ actor: built.people.admin.id, client: WEB.client_id }]);
});

t.test('an application that may read less shows less of those who allowed more', async (t) => {
  const owner = await built.login('ann');
  const { client_id, client_secret } = await built.createApplication(owner, {
    ...{ name: 'Narrowed', type: 'web', redirect_uris: [WEB.redirect_uri] },
    scopes: ['openid', 'profile', 'email'],
  });
  const client = { ...WEB, client_id: String(client_id), client_secret: String(client_secret) };
  await tokensFor(built, { username: 'ada', client, more: { scope: 'openid profile email' } });
  const path = `/api/v1/applications/${client_id}`;
  t.match(await usersAt(`${path}/users`, owner), [{ name: 'ada', email: 'ada@example.org' }]);
  t.equal((await call('PATCH', path, owner, { scopes: ['openid'] })).status, 200);
  t.match(await usersAt(`${path}/users`, owner), [{ name: null, email: null, scopes: ['openid'] }]);
});

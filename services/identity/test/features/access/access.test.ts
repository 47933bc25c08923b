import { decodeJwt } from 'jose';
import t from 'tap';
import { build } from '../../build.ts';

const built = await build(t, { checkResponses: true });
const { call, people } = built;
const ann = await built.login('ann');
let admin = await built.login('admin');
await built.createPerson('eve');
let eve = await built.login('eve');
const { sub: eveId } = decodeJwt(eve);

type Row = { id: string; kind: string; effect: string; can_be_kept: boolean; made_by: string | null };
const rowsFor = async (token: string, query = '') =>
  (await call('GET', `/api/v1/access${query}`, token)).body.data as Row[];
const works = async (key: unknown) =>
  (await call('GET', '/api/v1/auth/permissions', String(key))).status === 200;

/** An application of Ann's with two keys, a secret and a member. */
async function everything() {
  const { client_id: id } = await built.createApplication(ann, {
    ...{ name: 'App', type: 'machine', scopes: ['read:data'] },
  });
  const path = `/api/v1/applications/${id}`;
  const key = async (name: string) =>
    (await call('POST', `${path}/api-keys`, ann, { name, scopes: ['read:data'] })).body;
  const [kept, ended] = [await key('kept'), await key('ended')];
  await call('POST', `${path}/members`, ann, { user: 'eve', role: 'viewer' });
  await call('POST', `/api/v1/memberships/${id}/accept`, eve);
  const draft = { name: 'Token', scopes: ['openid'] };
  const token = (await call('POST', '/api/v1/registration-tokens', ann, draft)).body;
  return { path, kept, ended, token };
}

/** An application of the admin with a key that a developer made. */
async function shared() {
  const { client_id: id } = await built.createApplication(admin, {
    ...{ name: 'Shared', type: 'machine', scopes: ['read:users'] },
  });
  const path = `/api/v1/applications/${id}`;
  await call('POST', `${path}/members`, admin, { user: 'eve', role: 'developer' });
  await call('POST', `/api/v1/memberships/${id}/accept`, eve);
  const key = (await call('POST', `${path}/api-keys`, eve, { name: 'k', scopes: ['read:users'] })).body;
  return { path, key };
}

t.test('a key of a member that is kept stays the member’s', async (t) => {
  const { path, key } = await shared();
  const rows = await rowsFor(admin);
  t.match(
    rows.find(({ id }) => id === key.id),
    { made_by: eveId, can_be_kept: true },
  );
  const except = [String(key.id), ...rows.filter(({ kind }) => kind === 'member').map((it) => it.id)];
  const revocations = `/api/v1/users/${people.admin.id}/revocations`;
  const refused = await call('POST', revocations, admin, { except: [String(key.id)] });
  t.equal(refused.status, 400, 'it would end with the member');
  t.match(refused.body.error, /^except: Keep the member who made \S+ as well, or take it over first\.$/);
  t.ok(await works(key.api_key), 'nothing has ended by that');
  t.equal((await call('POST', revocations, admin, { except })).status, 204);
  const permissions = await call('GET', '/api/v1/auth/permissions', String(key.api_key));
  t.match(permissions.body, { roles: ['user'] });
  admin = await built.login('admin');
  const { body } = await call('GET', `${path}/members`, admin);
  const [member] = body.data as { user_id: string; credentials: object[] }[];
  t.match(member?.credentials, [{ id: key.id }]);
  t.equal((await call('DELETE', `${path}/members/${member?.user_id}`, admin)).status, 204);
  t.notOk(await works(key.api_key));
});

t.test('a credential that is kept or taken over keeps the role that its giver had', async (t) => {
  const rolesOf = async (key: unknown) =>
    (await call('GET', '/api/v1/auth/permissions', String(key))).body.roles;
  const id = await built.createPerson('rising');
  const before = await built.login('rising');
  const draft = { name: 'Old', type: 'machine', scopes: ['read:data'] };
  const own = await built.createApplication(before, draft);
  const kept = (
    await call('POST', `/api/v1/applications/${own.client_id}/api-keys`, before, {
      ...{ name: 'k', scopes: ['read:data'] },
    })
  ).body;
  await call('PUT', `/v2/users/${id}/role`, admin, { role: 'admin' });
  const { status } = await call('POST', `/api/v1/users/${id}/revocations`, await built.login('rising'), {
    except: [String(kept.id)],
  });
  t.same([status, await rolesOf(kept.api_key)], [204, ['user']], 'kept');
  const { path, key } = await shared();
  t.equal((await call('DELETE', `${path}/members/${eveId}?take_over=${key.id}`, admin)).status, 204);
  t.same(await rolesOf(key.api_key), ['user'], 'taken over');
});

t.test('a taken-over credential is as little trusted as when the member had it, who knows it', async (t) => {
  const { path, key } = await shared();
  const secret = (await call('POST', `${path}/secrets`, eve, {})).body;
  t.equal((await call('PATCH', path, admin, { trusted: true })).status, 200);
  const client = { client_id: path.split('/').at(-1) ?? '', client_secret: String(secret.client_secret) };
  const tokens = async () => [
    key.api_key,
    (await built.form({ grant_type: 'client_credentials', ...client })).body.access_token,
  ];
  const statuses = async () =>
    Promise.all(
      (await tokens()).flatMap((token) =>
        ['/v2/users', `/v2/users/${people.admin.id}`].map(
          async (at) => (await call('GET', at, String(token))).status,
        ),
      ),
    );
  const before = await statuses();
  t.same(before, [403, 403, 403, 403]);
  const taken = `${path}/members/${eveId}?take_over=${key.id},${secret.id}`;
  t.equal((await call('DELETE', taken, admin)).status, 204);
  t.same(await statuses(), before);
});

t.test('what somebody made in an application of others ends, and cannot be kept', async (t) => {
  const { path, key } = await shared();
  const secret = (await call('POST', `${path}/secrets`, eve, {})).body;
  const admins = (await call('POST', `${path}/api-keys`, admin, { name: 'other', scopes: ['read:users'] }))
    .body;
  const rows = (await rowsFor(eve)).filter(({ kind }) => kind !== 'login');
  t.same(rows.map(({ id }) => id).toSorted(), [String(key.id), String(secret.id)].toSorted());
  for (const row of rows) t.match(row, { effect: 'ends', can_be_kept: false, made_by: eveId });
  const revocations = `/api/v1/users/${eveId}/revocations`;
  t.equal((await call('POST', revocations, eve, { except: [String(key.id)] })).status, 400);
  t.equal((await call('POST', revocations, eve, {})).status, 204);
  t.notOk(await works(key.api_key));
  t.ok(await works(admins.api_key), 'what others made there stays');
  eve = await built.login('eve');
  t.same(
    (await rowsFor(eve)).filter(({ kind }) => kind !== 'login'),
    [],
  );
});

t.test('what acts for a person is listed, and ends but for what is kept', async (t) => {
  const { path, kept, ended, token } = await everything();
  const rows = await rowsFor(ann);
  const kinds = ['api_key', 'client_secret', 'login', 'member', 'registration_token'];
  t.same([...new Set(rows.map(({ kind }) => kind))].toSorted(), kinds);
  t.ok(rows.every(({ effect }) => effect === 'ends'));
  t.equal(rows.find(({ kind }) => kind === 'login')?.can_be_kept, false);
  t.same(
    (await rowsFor(admin, `?user_id=${people.ann.id}`)).map(({ id }) => id),
    rows.map(({ id }) => id),
  );
  t.equal((await call('GET', `/api/v1/access?user_id=${people.ann.id}`, eve)).status, 403);
  t.equal((await call('GET', '/api/v1/access', String(kept.api_key))).status, 403, 'not for programs');

  const revocations = `/api/v1/users/${people.ann.id}/revocations`;
  const memberId = rows.find(({ kind }) => kind === 'member')?.id;
  t.equal((await call('POST', revocations, eve, {})).status, 403);
  t.equal((await call('POST', revocations, ann, { except: ['key_of_somebody_else'] })).status, 400);
  t.ok(await works(ended.api_key), 'nothing has ended by that');
  const except = [kept.id, token.id, memberId];
  t.equal((await call('POST', revocations, ann, { except })).status, 204);
  t.notOk(await works(ann), 'the login');
  t.notOk(await works(ended.api_key));
  t.ok(await works(kept.api_key));
  t.equal((await call('GET', path, eve)).status, 200, 'the member');
  const again = await built.login('ann');
  const left = (await rowsFor(again)).filter(({ kind }) => kind !== 'login').map(({ id }) => id);
  t.same(left.toSorted(), except.toSorted());
  const { body } = await call('GET', `/api/v1/audit?filter[subject]=${people.ann.id}`, admin);
  t.match(
    (body.data as { action: string }[]).find(({ action }) => action === 'account.changed'),
    { actor: people.ann.id, details: { change: 'revoked', scope: 'everything', kept: except } },
  );
  t.equal((await call('POST', revocations, admin, {})).status, 204, 'by an admin');
  t.notOk(await works(kept.api_key));
  t.equal((await call('POST', '/api/v1/users/usr_0/revocations', admin, {})).status, 404);
  t.equal((await call('POST', revocations, admin, { x: 1 })).status, 400);
});

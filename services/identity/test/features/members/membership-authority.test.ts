import { until } from '@gatehouse/testing/processes';
import t from 'tap';
import { build } from '../../build.ts';
import { mailsOf } from '../../pages.ts';

const built = await build(t);
const { call } = built;
for (const name of ['olga', 'dev']) await built.createPerson(name);
const owner = await built.login('olga');
const developer = await built.login('dev');
const admin = await built.login('admin');
const APPLICATIONS = '/api/v1/applications';
const MACHINE = { type: 'machine', scopes: ['read:data'] };

async function accept(id: unknown, token: string): Promise<void> {
  const { status } = await call('POST', `/api/v1/memberships/${id}/accept`, token);
  if (status !== 204) throw new Error(`the invitation was not accepted: ${status}`);
}
/** An application of the owner. */
async function owned(name: string, token = owner) {
  const { client_id: id } = await built.createApplication(token, { name, ...MACHINE });
  return { id, path: `${APPLICATIONS}/${id}` };
}

/** An admin whose role a test lowers. */
async function deputy(name: string) {
  const id = await built.createPerson(name, 'admin');
  const setRole = (role: string) => call('PUT', `/v2/users/${id}/role`, admin, { role });
  return { name, id, token: await built.login(name), setRole };
}
const statusOf = async (path: string, name: string) =>
  (await call('GET', path, await built.login(name))).status;
const invite = (path: string, by: string, user: string, role = 'developer') =>
  call('POST', `${path}/members`, by, { user, role });

t.test(
  'a membership rests on the owner or an admin, and on nobody by way of another membership',
  async (t) => {
    const members = (await built.database()).collection('application_members');
    type Deputy = Awaited<ReturnType<typeof deputy>>;
    const scenes: Record<string, (path: string, id: string, x: Deputy, y: Deputy) => Promise<unknown>> = {
      async themselves(path, id, x) {
        await invite(path, owner, x.name);
        await accept(id, x.token);
        const own = { client_id: id, user_id: x.id };
        await members.updateOne(own, { $set: { 'given.by': x.id } });
      },
      async 'somebody whom they had invited'(path, id, x, y) {
        for (const [by, whom] of [
          [x, y],
          [y, x],
        ] as const) {
          await invite(path, by.token, whom.name);
          await accept(id, whom.token);
        }
      },
    };
    for (const [name, set] of Object.entries(scenes)) {
      const { id, path } = await owned('Circle');
      const prefix = name.split(' ')[0];
      const [x, y] = [await deputy(`x-${prefix}`), await deputy(`y-${prefix}`)];
      await set(path, id, x, y);
      const key = await call('POST', `${path}/api-keys`, x.token, { name: 'k', scopes: ['read:data'] });
      for (const it of [x, y]) await it.setRole('user');
      t.equal(await statusOf(path, x.name), 404, `invited by ${name}`);
      t.equal((await call('GET', '/api/v1/auth/permissions', String(key.body.api_key))).status, 401, name);
      await call('DELETE', path, owner);
    }
    const { path } = await owned('Selfish');
    const x = await deputy('selfish');
    t.match(await invite(path, x.token, 'selfish'), {
      status: 400,
      body: { error: { details: [{ field: 'user' }] } },
    });
    await call('DELETE', path, owner);
  },
);

t.test(
  'a member whose role an admin changes stays when the admin is demoted, unless the admin gave more',
  async (t) => {
    for (const [by, role, changed, status] of [
      ['owner', 'developer', 'developer', 200],
      ['owner', 'developer', 'viewer', 200],
      ['owner', 'viewer', 'developer', 404],
      ['admin', 'developer', 'developer', 404],
    ] as const) {
      const about = `${by}: ${role}, then ${changed}`;
      const { id, path } = await owned('Kept');
      const x = await deputy(`kept-${by}-${role}-${changed}`);
      await invite(path, by === 'owner' ? owner : x.token, 'dev', role);
      await accept(id, developer);
      t.equal((await invite(path, x.token, 'dev', changed)).status, 201, about);
      t.match((await call('GET', `${path}/members`, owner)).body.data, [{ role: changed }], about);
      await x.setRole('user');
      t.equal(await statusOf(path, 'dev'), status, about);
      await call('DELETE', path, owner);
    }
  },
);

t.test('credentials that an admin took over end with the admin’s role, and the owner is told', async (t) => {
  const ann = await built.login('ann');
  const { id, path } = await owned('Taken over', ann);
  await invite(path, ann, 'dev');
  await accept(id, developer);
  const x = await deputy('taker');
  const key = (await call('POST', `${path}/api-keys`, developer, { name: 'k', scopes: ['read:data'] })).body;
  const secret = (await call('POST', `${path}/secrets`, developer, {})).body;
  const [member] = (await call('GET', `${path}/members`, ann)).body.data as { user_id: string }[];
  const remove = `${path}/members/${member?.user_id}?take_over=${key.id},${secret.id}`;
  t.equal((await call('DELETE', remove, x.token)).status, 204);
  const client = { client_id: id, client_secret: String(secret.client_secret) };
  const issued = async () =>
    (await built.form({ grant_type: 'client_credentials', ...client })).body.access_token;
  const works = async (token: unknown) =>
    (await call('GET', '/api/v1/auth/permissions', String(token))).status === 200;
  const token = await issued();
  t.same([await works(key.api_key), await works(token)], [true, true]);
  await x.setRole('user');
  t.same([await works(key.api_key), await works(token)], [false, false]);
  await x.setRole('admin');
  t.same([await works(key.api_key), await issued()], [false, undefined], 'nor later');
  await until(
    async () => (await mailsOf(built)).some((mail) => /took over credentials.*“Taken over”/.test(mail)),
    5000,
  );
});

t.test('a member whose authority has ended has no role until they accept again', async (t) => {
  for (const [name, happen] of Object.entries({
    async deactivated(id: string) {
      for (const status of ['inactive', 'active'])
        await call('PUT', `/v2/users/${id}/status`, admin, { status });
    },
    revoked: (id: string) => call('POST', `/api/v1/users/${id}/revocations`, admin, {}),
  })) {
    const id = await built.createPerson(name);
    const { id: client_id, path } = await owned('Again');
    await invite(path, owner, name);
    await accept(client_id, await built.login(name));
    t.equal(await statusOf(path, name), 200);
    await happen(id);
    const again = await built.login(name);
    const key = { name: 'k', scopes: ['read:data'] };
    t.equal((await call('POST', `${path}/api-keys`, again, key)).status, 404, name);
    t.same((await call('GET', APPLICATIONS, again)).body.data, [], 'nor in lists');
    t.match((await call('GET', '/api/v1/memberships', again)).body.data, [{ status: 'invited' }]);
    t.match((await call('GET', `${path}/members`, owner)).body.data, [{ status: 'invited' }]);
    await accept(client_id, again);
    t.equal((await call('POST', `${path}/api-keys`, again, key)).status, 201);
    await call('DELETE', path, owner);
  }
});

t.test('a member makes 20 credentials an hour for one owner, who gets a mail about each', async (t) => {
  await built.createPerson('mara');
  const [ann, mara] = [await built.login('ann'), await built.login('mara')];
  const [{ id, path }, other] = [await owned('Watched', ann), await owned('Other')];
  for (const [application, by] of [
    [{ id, path }, ann],
    [other, owner],
  ] as const) {
    await invite(application.path, by, 'mara');
    await accept(application.id, mara);
  }
  const makeKey = (by: string, at = path) =>
    call('POST', `${at}/api-keys`, by, { name: 'k', scopes: ['read:data'] });
  const revoke = (key: unknown) => call('DELETE', `${path}/api-keys/${key}`, mara);
  for (let i = 0; i < 9; i += 1) {
    const { status, body } = await makeKey(mara);
    t.equal(status, 201);
    const rotated = await call('POST', `${path}/api-keys/${body.id}/rotate`, mara, { overlap_seconds: 0 });
    t.equal(rotated.status, 201);
    await revoke(rotated.body.id);
  }
  const secret = await call('POST', `${path}/secrets`, mara, {});
  t.equal(secret.status, 201);
  await call('DELETE', `${path}/secrets/${secret.body.id}`, mara);
  const last = await makeKey(mara);
  t.equal(last.status, 201);
  for (const [at, body] of [
    [`${path}/api-keys`, { name: 'k', scopes: ['read:data'] }],
    [`${path}/api-keys/${last.body.id}/rotate`, { overlap_seconds: 0 }],
    [`${path}/secrets`, {}],
  ] as const) {
    const refused = await call('POST', at, mara, body);
    t.match([refused.status, Number(refused.headers.get('retry-after')) > 0], [429, true], at);
  }
  const about = async () =>
    (await mailsOf(built)).filter((it) => it.includes('Your application “Watched” got')).length;
  // Its owner has made the first secret.
  await until(async () => (await about()) === 21, 5000);
  t.equal((await makeKey(ann)).status, 201, 'the owner');
  t.equal((await makeKey(admin)).status, 201, 'somebody else');
  t.equal((await makeKey(mara, other.path)).status, 201, 'for another owner');
});

type Made = { id: string; name: string; token: string };
for (const [ending, end] of Object.entries({
  removed: (path: string, { id }: Made) => call('DELETE', `${path}/members/${id}`, owner),
  lowered: (path: string, { name }: Made) => invite(path, owner, name, 'viewer'),
  gone: (path: string, { token }: Made) => call('DELETE', path.replace('applications', 'memberships'), token),
})) {
  t.test(`the key of a member who is an admin, or becomes one, ends when they are ${ending}`, async (t) => {
    const { id, path } = await owned(`Member ${ending}`);
    const already = await deputy(`already${ending}`);
    const name = `later${ending}`;
    const later = { name, id: await built.createPerson(name), token: await built.login(name) };
    const keys: unknown[] = [];
    for (const { name, token } of [already, later]) {
      await invite(path, owner, name);
      await accept(id, token);
      keys.push(
        (await call('POST', `${path}/api-keys`, token, { name: 'k', scopes: ['read:data'] })).body.api_key,
      );
    }
    await call('PUT', `/v2/users/${later.id}/role`, admin, { role: 'admin' });
    const statuses = () =>
      Promise.all(
        keys.map(async (key) => (await call('GET', '/api/v1/auth/permissions', String(key))).status),
      );
    t.same(await statuses(), [200, 200]);
    later.token = await built.login(name);
    for (const member of [already, later]) t.ok((await end(path, member)).status < 300);
    t.same(await statuses(), [401, 401]);
  });
}

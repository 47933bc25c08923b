import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing/processes';
import { decodeJwt, exportJWK, generateKeyPair } from 'jose';
import t from 'tap';
import { MAX_INVITED, MAX_INVITED_BY_ONE } from '../../../src/core/applications/member.ts';
import { build, PASSWORD } from '../../build.ts';
import { mailsOf } from '../../pages.ts';

const built = await build(t);
const { call } = built;
const [, , devId] = [
  await built.createPerson('olga'),
  await built.createPerson('vic'),
  await built.createPerson('dev'),
  await built.createPerson('eve'),
];
const owner = await built.login('olga');
const viewer = await built.login('vic');
const developer = await built.login('dev');
const stranger = await built.login('eve');
const admin = await built.login('admin');
const APPLICATIONS = '/api/v1/applications';
const SPA = { scopes: ['openid'], redirect_uris: ['https://spa.example.org/callback'] };
const KEYS = { keys: [{ ...(await exportJWK((await generateKeyPair('ES256')).publicKey)), alg: 'ES256' }] };

async function accept(id: string, token: string): Promise<void> {
  const { status } = await call('POST', `/api/v1/memberships/${id}/accept`, token);
  if (status !== 204) throw new Error(`the invitation was not accepted: ${status}`);
}

/** An application of the owner with a viewer and a developer. */
async function shared(name = 'Shared') {
  const { client_id: id } = await built.createApplication(owner, {
    name,
    type: 'machine',
    scopes: ['read:data'],
  });
  const path = `${APPLICATIONS}/${id}`;
  for (const [user, role, token] of [
    ['vic', 'viewer', viewer],
    ['dev', 'developer', developer],
  ]) {
    const { status } = await call('POST', `${path}/members`, admin, { user, role });
    if (status !== 201) throw new Error(`${user} was not added: ${status}`);
    await accept(String(id), String(token));
  }
  return { id: String(id), path };
}

t.test('what each role may do', async (t) => {
  type Act = (path: string) => Promise<[method: string, path: string, body?: object]>;
  const keyOf = async (path: string) => {
    const key = { name: 'k', scopes: ['read:data'] };
    return (await call('POST', `${path}/api-keys`, owner, key)).body.id;
  };
  const acts: Record<string, [viewer: number, developer: number, act: Act]> = {
    read: [200, 200, async (path) => ['GET', path]],
    'list members': [200, 200, async (path) => ['GET', `${path}/members`]],
    'list secrets': [200, 200, async (path) => ['GET', `${path}/secrets`]],
    'list keys': [200, 200, async (path) => ['GET', `${path}/api-keys`]],
    'read a key': [200, 200, async (path) => ['GET', `${path}/api-keys/${await keyOf(path)}`]],
    change: [403, 200, async (path) => ['PATCH', path, { name: 'Renamed' }]],
    'add a secret': [403, 201, async (path) => ['POST', `${path}/secrets`, {}]],
    'create a key': [
      403,
      201,
      async (path) => ['POST', `${path}/api-keys`, { name: 'n', scopes: ['read:data'] }],
    ],
    'revoke a key': [403, 204, async (path) => ['DELETE', `${path}/api-keys/${await keyOf(path)}`]],
    'rotate a key': [
      403,
      201,
      async (path) => ['POST', `${path}/api-keys/${await keyOf(path)}/rotate`, { overlap_seconds: 0 }],
    ],
    'more scopes than the owner may give': [
      403,
      403,
      async (path) => ['PATCH', path, { scopes: ['read:data', 'write:users', 'read:all'] }],
    ],
    'add a scope': [403, 403, async (path) => ['PATCH', path, { scopes: ['read:data', 'write:users'] }]],
    'set public keys': [403, 403, async (path) => ['PATCH', path, { jwks: KEYS }]],
    'bind tokens to a key': [403, 403, async (path) => ['PATCH', path, { dpop_bound_access_tokens: true }]],
    'the whole form, with another name': [
      403,
      200,
      async (path) => ['PATCH', path, { name: 'New', scopes: ['read:data'], redirect_uris: [], jwks: null }],
    ],
    trust: [403, 403, async (path) => ['PATCH', path, { trusted: true }]],
    'add a member': [403, 403, async (path) => ['POST', `${path}/members`, { user: 'eve', role: 'viewer' }]],
    'raise the own role': [
      403,
      403,
      async (path) => ['POST', `${path}/members`, { user: 'vic', role: 'developer' }],
    ],
    transfer: [403, 403, async (path) => ['POST', `${path}/transfer`, { to: 'eve' }]],
    delete: [403, 403, async (path) => ['DELETE', path]],
  };
  for (const [name, [asViewer, asDeveloper, act]] of Object.entries(acts)) {
    const { path } = await shared();
    const [method, at, body] = await act(path);
    t.equal((await call(method, at, stranger, body)).status, 404, `${name}: a stranger`);
    t.equal((await call(method, at, viewer, body)).status, asViewer, `${name}: a viewer`);
    t.equal((await call(method, at, developer, body)).status, asDeveloper, `${name}: a developer`);
    await call('DELETE', path, owner);
  }
});

t.test('lists have the own applications and those of others', async (t) => {
  const { id, path } = await shared('Listed');
  const own = await built.createApplication(viewer, { name: 'Own', type: 'machine', scopes: ['read:data'] });
  const idsFor = async (token: string, query = '') =>
    ((await call('GET', `${APPLICATIONS}${query}`, token)).body.data as { client_id: string }[]).map(
      (it) => it.client_id,
    );
  t.same((await idsFor(viewer)).toSorted(), [id, own.client_id].toSorted());
  t.same(await idsFor(viewer, '?q=listed'), [id]);
  t.same(await idsFor(viewer, `?owner=${(await call('GET', path, owner)).body.owner}`), [id]);
  t.same(await idsFor(stranger), []);
  const { body } = await call('GET', `/api/v1/audit?filter[client]=${id}`, viewer);
  const added = { action: 'member.added', client: id, address: null, details: { role: 'developer' } };
  t.match((body.data as object[])[1], added, 'and the audit log');
  t.same((await call('GET', `/api/v1/audit?filter[client]=${id}`, stranger)).body.data, []);
  await call('DELETE', path, owner);
});

t.test('members leave and are removed; nobody else is', async (t) => {
  const { path } = await shared();
  const { body } = await call('GET', `${path}/members`, viewer);
  t.match(body.data, [
    { username: 'vic', role: 'viewer', status: 'accepted', credentials: [] },
    { username: 'dev', role: 'developer' },
  ]);
  const [vic, dev] = body.data as { user_id: string }[];
  t.equal((await call('DELETE', `${path}/members/${dev?.user_id}`, viewer)).status, 403);
  t.equal((await call('DELETE', `${path}/members/${vic?.user_id}`, viewer)).status, 204, 'leaves');
  t.equal((await call('GET', path, viewer)).status, 404);
  t.equal((await call('DELETE', `${path}/members/${dev?.user_id}`, owner)).status, 204);
  t.equal((await call('DELETE', `${path}/members/${dev?.user_id}`, owner)).status, 404);
  t.equal((await call('POST', `${path}/secrets`, developer, {})).status, 404);
});

t.test('another role takes the place of the first one, and some cannot be added', async (t) => {
  const { path } = await shared();
  const add = (user: string, role = 'viewer', token = owner) =>
    call('POST', `${path}/members`, token, { user, role });
  t.equal((await add('dev')).status, 201);
  t.equal((await call('PATCH', path, developer, { name: 'Again' })).status, 403, 'from now on');
  for (const [user, role] of [
    ['olga', 'viewer'],
    ['nobody', 'viewer'],
    ['eve', 'owner'],
  ]) {
    t.equal((await add(String(user), role)).status, 400, String(user));
  }
  t.equal((await add('eve', 'viewer', admin)).status, 201, 'an admin may');
  await add('ann');
  const isTold = async () =>
    (await mailsOf(built)).some((mail) => /wants to add your .* account ann to the application/.test(mail));
  await until(isTold, 5000);
});

t.test(
  'an invitation is nothing before it is accepted, can be declined, and does not fill what others get',
  async (t) => {
    const { client_id: id } = await built.createApplication(owner, { name: 'Asked', type: 'spa', ...SPA });
    const path = `${APPLICATIONS}/${id}`;
    await call('POST', `${path}/members`, admin, { user: 'eve', role: 'developer' });
    t.equal((await call('GET', path, stranger)).status, 404);
    const waiting = (await call('GET', '/api/v1/memberships', stranger)).body.data as object[];
    t.match(waiting.at(-1), { client_id: id, name: 'Asked', role: 'developer', status: 'invited' });
    t.equal((await call('POST', `/api/v1/memberships/${id}/accept`, viewer)).status, 404, 'of somebody else');
    await accept(String(id), stranger);
    t.equal((await call('GET', path, stranger)).status, 200);
    t.equal((await call('DELETE', `/api/v1/memberships/${id}`, stranger)).status, 204);
    t.equal((await call('DELETE', `/api/v1/memberships/${id}`, stranger)).status, 404);
    t.equal((await call('GET', path, stranger)).status, 404);

    for (let i = 0; i <= MAX_INVITED; i += 1) {
      const made = await built.createApplication(owner, { name: 'Junk', type: 'spa', ...SPA });
      const invited = await call('POST', `${APPLICATIONS}/${made.client_id}/members`, admin, {
        ...{ user: 'eve', role: 'viewer' },
      });
      t.equal(invited.status, i < MAX_INVITED - waiting.length + 1 ? 201 : 409);
    }
  },
);

t.test(
  'credentials of a member are bounded by the member, and end with the membership unless the owner takes them over',
  async (t) => {
    const root = { name: 'Trusted', type: 'machine', scopes: ['read:data', 'read:users'] };
    const { client_id: id } = await built.createApplication(admin, root);
    const path = `${APPLICATIONS}/${id}`;
    await call('PATCH', path, admin, { trusted: true, scopes: ['read:data', 'read:all'] });
    await call('POST', `${path}/members`, admin, { user: 'dev', role: 'developer' });
    await accept(String(id), developer);
    const key = async (by: string, scopes: string[]) =>
      (await call('POST', `${path}/api-keys`, by, { name: 'key', scopes })).body;
    const permissions = async (token: unknown) =>
      (await call('GET', '/api/v1/auth/permissions', String(token))).body;
    const [own, made, lost] = [
      await key(admin, ['read:all']),
      await key(developer, ['read:data']),
      await key(developer, ['read:data']),
    ];
    t.match(await permissions(own.api_key), { roles: [], scopes: ['read:all'] }, 'in its own right');
    t.match(await permissions(made.api_key), { roles: ['user'], scopes: ['read:data'] });
    t.equal(
      (await call('POST', `${path}/api-keys`, developer, { name: 'x', scopes: ['read:all'] })).status,
      400,
    );
    const secret = (await call('POST', `${path}/secrets`, developer, {})).body;
    const client = { client_id: String(id), client_secret: String(secret.client_secret) };
    const { body: issued } = await built.form({ grant_type: 'client_credentials', ...client });
    t.match(await permissions(issued.access_token), { roles: ['user'], scopes: ['read:data'] });
    const asked = { grant_type: 'client_credentials', ...client, resource: `${built.base}/api` };
    for (const { access_token } of [issued, (await built.form(asked)).body]) {
      t.match(decodeJwt(String(access_token)), { given_by: devId }, 'services know who gave it');
    }

    const { body } = await call('GET', `${path}/members`, admin);
    const [member] = body.data as { user_id: string; credentials: { id: string }[] }[];
    t.same(member?.credentials.map((it) => it.id).toSorted(), [made.id, lost.id, secret.id].toSorted());
    const remove = `${path}/members/${member?.user_id}?take_over=${made.id}`;
    t.match(await call('DELETE', `${remove},${own.id}`, admin), {
      status: 400,
      body: { error: { details: [{ field: 'take_over' }] } },
    });
    t.match(await permissions(lost.api_key), { scopes: ['read:data'] }, 'nothing has ended');
    t.equal((await call('DELETE', remove, developer)).status, 403);
    t.equal((await call('DELETE', remove, admin)).status, 204);
    t.match(await permissions(lost.api_key), { error: String });
    t.match(await permissions(issued.access_token), { error: String });
    t.equal((await built.form({ grant_type: 'client_credentials', ...client })).status, 401);
    t.match(await permissions(made.api_key), { roles: [], scopes: ['read:data'] }, 'that of the owner now');
  },
);

t.test('credentials of a developer who becomes a viewer end unless the owner takes them over', async (t) => {
  const { id, path } = await shared();
  const key = async () =>
    (await call('POST', `${path}/api-keys`, developer, { name: 'key', scopes: ['read:data'] })).body;
  const statusOf = async (it: Record<string, unknown>) =>
    (await call('GET', '/api/v1/auth/permissions', String(it.api_key))).status;
  const [kept, lost] = [await key(), await key()];
  const { body: own } = await call('POST', `${path}/secrets`, owner, {});
  const lower = (take_over: unknown[]) =>
    call('POST', `${path}/members`, owner, { user: 'dev', role: 'viewer', take_over });
  t.match(await lower([kept.id, own.id]), {
    status: 400,
    body: { error: { details: [{ field: 'take_over' }] } },
  });
  t.equal(await statusOf(lost), 200, 'nothing has ended');
  t.equal((await lower([kept.id])).status, 201);
  t.same([await statusOf(kept), await statusOf(lost)], [200, 401]);
  const { body } = await call('GET', `/api/v1/audit?filter[client]=${id}`, owner);
  t.match((body.data as object[])[0], { action: 'member.added', details: { taken_over: [kept.id] } });
});

t.test('tokens that a developer got end when the developer is demoted', async (t) => {
  const id = await built.createPerson('deputy', 'admin');
  const deputy = await built.login('deputy');
  const { client_id } = await built.createApplication(admin, {
    ...{ name: 'Of the admin', type: 'machine', scopes: ['read:users', 'write:users'] },
  });
  const path = `${APPLICATIONS}/${client_id}`;
  await call('POST', `${path}/members`, admin, { user: 'deputy', role: 'developer' });
  await accept(String(client_id), deputy);
  const secret = (await call('POST', `${path}/secrets`, deputy, {})).body;
  const client = { client_id: String(client_id), client_secret: String(secret.client_secret) };
  const { body } = await built.form({ grant_type: 'client_credentials', ...client });
  const statusOf = async () =>
    (await call('GET', '/api/v1/auth/permissions', String(body.access_token))).status;
  t.equal(await statusOf(), 200);
  await call('PUT', `/v2/users/${id}/role`, admin, { role: 'user' });
  t.equal(await statusOf(), 401);
  const { body: after } = await built.form({ grant_type: 'client_credentials', ...client });
  t.match((await call('GET', '/api/v1/auth/permissions', String(after.access_token))).body, {
    roles: ['user'],
  });
});

t.test('invitations that wait for somebody are limited, also those that are sent at once', async (t) => {
  const id = await built.createPerson('victim');
  const inviters = ['vic', 'dev', 'eve', 'olga', 'ines'];
  await built.createPerson('ines');
  const invitations = await Promise.all(
    inviters.map(async (name) => {
      const inviter = await built.login(name);
      const made = Array.from({ length: MAX_INVITED_BY_ONE + 3 }, () =>
        built.createApplication(inviter, { name: 'Junk', type: 'spa', ...SPA }),
      );
      return (await Promise.all(made)).map(
        ({ client_id }) =>
          () =>
            call('POST', `${APPLICATIONS}/${client_id}/members`, inviter, { user: 'victim', role: 'viewer' }),
      );
    }),
  );
  const [first = [], ...others] = invitations;
  const late = others.pop() ?? [];
  const accepted = async (sent: (typeof first)[number][]) =>
    (await Promise.all(sent.map((send) => send()))).filter(({ status }) => status === 201).length;
  t.equal(await accepted(first), MAX_INVITED_BY_ONE, 'by one person');
  t.equal(await accepted(others.flat()), MAX_INVITED - MAX_INVITED_BY_ONE, 'by all');
  let replaced = 0;
  for (const send of late) replaced += (await send()).status === 201 ? 1 : 0;
  t.equal(replaced, MAX_INVITED / inviters.length, 'those of whoever has sent the most give way');
  const victim = await built.login('victim');
  const waiting = (await call('GET', '/api/v1/memberships', victim)).body.data as { client_id: string }[];
  t.equal(waiting.length, MAX_INVITED);
  await accept(waiting[0]?.client_id ?? '', victim);
  await call('DELETE', `/api/v1/memberships/${waiting[1]?.client_id}`, victim);
  const { client_id } = await built.createApplication(admin, { name: 'More', type: 'spa', ...SPA });
  const more = await call('POST', `${APPLICATIONS}/${client_id}/members`, admin, {
    user: id,
    role: 'viewer',
  });
  t.equal(more.status, 201, 'what was accepted or declined leaves its place');
});

t.test('a membership that asks again ends with what would end its invitation', async (t) => {
  for (const role of ['viewer', 'developer']) {
    const names = { inviter: `inviter-${role}`, invited: `invited-${role}` };
    const inviterId = await built.createPerson(names.inviter);
    const invitedId = await built.createPerson(names.invited);
    const inviter = await built.login(names.inviter);
    const { client_id } = await built.createApplication(inviter, { name: 'Asks', type: 'spa', ...SPA });
    const path = `${APPLICATIONS}/${client_id}/members`;
    t.equal((await call('POST', path, inviter, { user: invitedId, role })).status, 201);
    const invited = await built.login(names.invited);
    await accept(String(client_id), invited);
    for (let i = 0; i < 25; i += 1)
      t.equal(
        (await call('POST', path, inviter, { user: invitedId, role })).status,
        201,
        'not counted as a name',
      );
    await call('POST', `/api/v1/users/${invitedId}/revocations`, invited, {});
    await accept(String(client_id), await built.login(names.invited));
    await call('POST', `/api/v1/users/${invitedId}/revocations`, await built.login(names.invited), {});
    const passwords = { current_password: PASSWORD, new_password: 'another horse battery' };
    t.equal((await call('PUT', `/v2/users/${inviterId}/password`, inviter, passwords)).status, 204);
    const again = await call(
      'POST',
      `/api/v1/memberships/${client_id}/accept`,
      await built.login(names.invited),
    );
    t.equal(again.status, 404);
  }
});

t.test('a member who is added 16 times at once is one member', async (t) => {
  const { client_id: id } = await built.createApplication(owner, { name: 'Parallel', type: 'spa', ...SPA });
  const path = `${APPLICATIONS}/${id}/members`;
  const statuses = await Promise.all(
    Array.from(
      { length: 16 },
      async () => (await call('POST', path, admin, { user: 'dev', role: 'viewer' })).status,
    ),
  );
  t.same(new Set(statuses), new Set([201]));
  t.match((await call('GET', path, owner)).body.data, { length: 1 });
});

t.test('members end with a transfer, and with their accounts', async (t) => {
  const { path } = await shared();
  await call('POST', `${path}/transfer`, admin, { to: 'admin' });
  t.equal((await call('GET', path, developer)).status, 404);
  t.same((await call('GET', `${path}/members`, admin)).body.data, []);

  const left = await built.createPerson('left');
  const { path: other } = await shared();
  await call('POST', `${other}/members`, owner, { user: 'left', role: 'viewer' });
  await call('POST', '/internal/identity/erasures', await built.serviceToken('users'), { user_id: left });
  await until(
    async () => ((await call('GET', `${other}/members`, owner)).body.data as object[]).length === 2,
    10_000,
  );
  t.pass();
});

t.test('somebody who is added while the application is transferred does not stay', async (t) => {
  for (let ms = 0; ms < 10; ms += 1) {
    const { client_id: id } = await built.createApplication(owner, {
      ...{ name: 'Moving', type: 'machine', scopes: ['read:data'] },
    });
    const path = `${APPLICATIONS}/${id}`;
    const { body: offer } = await call('POST', `${path}/transfer`, owner, { to: 'eve' });
    const [accepted] = await Promise.all([
      call('POST', `/api/v1/transfers/${offer.id}/accept`, stranger),
      sleep(ms).then(() => call('POST', `${path}/members`, owner, { user: 'dev', role: 'developer' })),
    ]);
    t.equal(accepted.status, 200, JSON.stringify(offer));
    t.strictSame((await call('GET', `${path}/members`, stranger)).body.data, [], `added after ${ms} ms`);
    t.equal((await call('GET', path, developer)).status, 404);
  }
});

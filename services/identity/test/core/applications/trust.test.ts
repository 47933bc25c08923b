import t from 'tap';
import { buildApi, MACHINE, WEB } from '../../applications-api.ts';

const api = await buildApi(t);
const { call, make, people, applications, revoked } = api;

t.test('only an admin makes an application trusted, and only a machine', async (t) => {
  const { id } = await make();
  t.equal((await call('PATCH', `/${id}`, { trusted: true })).status, 403);
  t.equal((await call('POST', '', { ...MACHINE, trusted: true })).status, 403);
  t.equal((await call('PATCH', `/${id}`, { trusted: false })).status, 200, 'as it is');
  t.match(await call('PATCH', `/${id}`, { trusted: true, scopes: ['read:data', 'read:all'] }, 'usr_root'), {
    status: 200,
    body: { trusted: true, trusted_by: 'usr_root', owner: 'usr_ann' },
  });
  t.equal((await call('PATCH', `/${id}`, { trusted: false })).status, 403);
  const { trusted_at } = (await call('GET', `/${id}`)).body;
  t.ok(Date.now() - Date.parse(String(trusted_at)) < 5000);
  const change = (scopes: string[], who?: string) => call('PATCH', `/${id}`, { scopes }, who);
  const widened = await change(['read:data', 'read:all', 'write:users']);
  t.match(widened, { status: 400, body: { error: { details: [{ field: 'scopes' }] } } });
  t.equal((await change(['read:all', 'read:data'])).status, 200, 'its owner may leave it as it is');
  const narrowed = { trusted_by: 'usr_root', trusted_at, scopes: ['read:data'] };
  t.match(await change(['read:data']), { status: 200, body: narrowed }, 'or narrow it');
  t.equal((await change(['read:data', 'read:users'])).status, 400, 'even to what its owner may have');
  t.equal((await change(['read:data', 'read:all'])).status, 400, 'or to what it had');
  people.set('usr_second', { role: 'admin', status: 'active', epoch: 1 });
  t.match(await change(['read:data', 'write:users'], 'usr_second'), {
    status: 200,
    body: { trusted_by: 'usr_second' },
  });
  await call('PATCH', `/${id}`, { name: 'Renamed' }, 'usr_root');
  t.match(await call('PATCH', `/${id}`, { trusted: false }, 'usr_root'), {
    body: { trusted: false, trusted_by: null, trusted_at: null },
  });
  t.same(
    api.notified,
    Array(3).fill('application_changed usr_ann'),
    'the owner gets a mail of each change by an admin',
  );
  const web = await make(WEB);
  t.match(await call('PATCH', `/${web.id}`, { trusted: true }, 'usr_root'), { status: 400 });
});

t.test('trust rests on the owner’s role at the grant, and on their account', async (t) => {
  type Person = { role: 'user' | 'editor' | 'admin'; status: 'active' | 'inactive'; epoch: number };
  const active = (role: Person['role']): Person => ({ role, status: 'active', epoch: 1 });
  const CASES: [label: string, before: Person, after: Person | undefined, lasts: boolean][] = [
    ['an admin is demoted', active('admin'), active('editor'), false],
    ['an editor is demoted', active('editor'), active('user'), false],
    ['a user is promoted', active('user'), active('admin'), true],
    ['an editor is promoted', active('editor'), active('admin'), true],
    ['a user is deactivated', active('user'), { ...active('user'), status: 'inactive' }, false],
    ['a user is deleted', active('user'), undefined, false],
  ];
  for (const [index, [label, before, after, lasts]] of CASES.entries()) {
    const owner = `usr_owner${index}`;
    people.set(owner, before);
    const { id } = await make(MACHINE, owner);
    t.equal((await call('PATCH', `/${id}`, { trusted: true }, 'usr_root')).status, 200);
    await call('POST', `/${id}/api-keys`, { name: 'Key', scopes: ['read:data'] }, owner);
    if (after === undefined) people.delete(owner);
    else people.set(owner, after);
    await applications.giverChanged(owner, 9);
    t.match((await call('GET', `/${id}`, undefined, 'usr_root')).body, { trusted: lasts }, label);
    const epochs = (await revoked(id)).map(({ epoch = 0 }) => epoch);
    t.equal(Math.max(...epochs) > 0, !lasts, label);
    const keys = await call('GET', `/${id}/api-keys`, undefined, 'usr_root');
    t.equal(keys.body.data.length, lasts ? 1 : 0, label);
    if (after?.status === 'active') continue;
    const again = await call('PATCH', `/${id}`, { trusted: true }, 'usr_root');
    t.match(again, { status: 400, body: { error: { details: [{ field: 'trusted' }] } } }, label);
  }
});

t.test(
  'trust, secrets and keys end with the admin who gave them; another one can take the trust over',
  async (t) => {
    type Change = { role?: 'editor'; status?: 'inactive'; authority_epoch?: number; admin_epoch?: number };
    const admin = { role: 'admin', status: 'active', epoch: 1, authority_epoch: 3, admin_epoch: 2 } as const;
    const CASES: [label: string, change: Change | undefined, lasts: boolean][] = [
      ['demoted', { role: 'editor' }, false],
      ['demoted and an admin again', { admin_epoch: 3 }, false],
      ['deactivated', { status: 'inactive' }, false],
      ['ends all credentials', { authority_epoch: 4 }, false],
      ['deleted', undefined, false],
      ['unchanged', {}, true],
    ];
    for (const [index, [label, change, lasts]] of CASES.entries()) {
      const grantor = `usr_grantor${index}`;
      for (const isTakenOver of [false, true]) {
        people.set(grantor, admin);
        const { id } = await make(MACHINE);
        for (const by of [grantor, ...(isTakenOver ? ['usr_root'] : [])]) {
          const { body } = await call('PATCH', `/${id}`, { trusted: true }, by);
          t.equal(body.trusted_by, by);
        }
        const key = { name: 'Key', scopes: ['read:data'] };
        t.equal((await call('POST', `/${id}/api-keys`, key, grantor)).status, 201);
        t.equal((await call('POST', `/${id}/secrets`, {}, grantor)).status, 201);
        if (change === undefined) people.delete(grantor);
        else people.set(grantor, { ...admin, ...change });
        await applications.giverChanged(grantor, 9);
        const { trusted } = (await call('GET', `/${id}`, undefined, 'usr_root')).body;
        t.equal(trusted, lasts || isTakenOver, `${label}${isTakenOver ? ', taken over' : ''}`);
        for (const [kind, ofOwner] of [['api-keys', 0] as const, ['secrets', 1] as const]) {
          const { data } = (await call('GET', `/${id}/${kind}`, undefined, 'usr_root')).body;
          t.equal(data.length, lasts ? ofOwner + 1 : ofOwner, `${label}: ${kind}`);
        }
      }
    }
  },
);

t.test('trust that is granted while the owner is demoted does not outlive it', async (t) => {
  for (const [label, grant] of [
    ['create', () => call('POST', '', { ...MACHINE, trusted: true }, 'usr_fast')],
    ['change', async (id: string) => call('PATCH', `/${id}`, { trusted: true }, 'usr_root')],
  ] as const) {
    people.set('usr_fast', { role: 'admin', status: 'active', epoch: 1 });
    const { id } = await make(MACHINE, 'usr_fast');
    // After the owner was looked up, and before the application is trusted.
    api.beforeWrite.next = async () => {
      people.set('usr_fast', { role: 'user', status: 'active', epoch: 2 });
      await applications.giverChanged('usr_fast', 2);
    };
    const granted = await grant(id);
    t.match(granted.body, { trusted: false }, label);
    const now = await call('GET', `/${granted.body.client_id}`, undefined, 'usr_root');
    t.match(now.body, { trusted: false }, label);
  }
});

t.test('a token of somebody who is no admin any more makes nothing trusted', async (t) => {
  people.set('usr_was', { role: 'admin', status: 'active', epoch: 1 });
  const { id } = await make(MACHINE, 'usr_was');
  for (const body of [undefined, { trusted: true }]) {
    api.beforeBody.next = () => people.set('usr_was', { role: 'user', status: 'active', epoch: 2 });
    const response =
      body === undefined
        ? await call('POST', '', { ...MACHINE, trusted: true }, 'usr_was')
        : await call('PATCH', `/${id}`, body, 'usr_was');
    t.equal(response.status, 403);
    people.set('usr_was', { role: 'admin', status: 'active', epoch: 1 });
  }
});

t.test("every reduction of an application's permissions ends its tokens", async (t) => {
  const { id } = await make();
  const epoch = async () => (await revoked(id))[0]?.epoch;
  await call('PATCH', `/${id}`, { scopes: ['read:users', 'read:data', 'write:data'] });
  t.equal(await epoch(), 0, 'more is no loss');
  await call('PATCH', `/${id}`, { scopes: ['read:data', 'write:data'] });
  t.equal(await epoch(), 1);
  await call('PATCH', `/${id}`, { trusted: true }, 'usr_root');
  t.equal(await epoch(), 1);
  await call('PATCH', `/${id}`, { trusted: false }, 'usr_root');
  t.equal(await epoch(), 2);
  await call('PATCH', `/${id}`, { dpop_bound_access_tokens: true });
  t.equal(await epoch(), 3);
  const [revocation] = await revoked(id);
  t.ok(Math.abs((revocation?.expiresAt ?? 0) - Date.now() / 1000 - 3600) < 5);
  await applications.giverChanged('usr_ann', 2);
  t.equal(await epoch(), 4, 'and whatever makes less of its owner');
  await applications.giverChanged('usr_ann', 2);
  t.equal(await epoch(), 4, 'once, although the event may come again');
  await call('PATCH', `/${id}`, { trusted: true }, 'usr_root');
  await applications.giverChanged('usr_ann', 3);
  t.equal(await epoch(), 4, 'unless it stands for itself');
});

t.test('an owner of many applications: changes under way are not started again', async (t) => {
  const { id } = await make(MACHINE, 'usr_ben');
  const collection = api.connection.collection<{ _id: string }>('applications');
  const one = await collection.findOne({ _id: id });
  const many = Array.from({ length: 400 }, (_, i) => ({ ...one, _id: `${id}_${i}`, slot: 1000 + i }));
  await collection.insertMany(many);
  t.teardown(() => collection.deleteMany({ owner: 'usr_ben' }));
  const owned = { owner: 'usr_ben' };
  // Of the batches of 100, the fourth fails.
  api.fault.after = 3;
  await t.rejects(applications.giverChanged('usr_ben', 7), /died here/);
  const left = await collection.countDocuments({ ...owned, revocation_due: 1 });
  t.ok(left > 0 && left < 401, `${left} are left`);
  await applications.giverChanged('usr_ben', 7);
  await applications.giverChanged('usr_ben', 7);
  t.equal(await collection.countDocuments({ ...owned, revocation_due: 1 }), 0);
  t.equal(await collection.countDocuments({ ...owned, epoch: 1 }), 401, 'once each');
  t.match(await revoked(`${id}_399`), [{ kind: 'client', epoch: 1 }]);
});

t.test('a crash before the revocation is made up for', async (t) => {
  const lost = await make();
  api.fault.after = 0;
  t.equal((await call('PATCH', `/${lost.id}`, { scopes: ['read:data'] })).status, 500);
  t.same(await revoked(lost.id), []);
  await applications.resumeRevocations();
  t.match(await revoked(lost.id), [{ kind: 'client', epoch: 1 }]);

  const { id, secret } = await make();
  const [first] = (await call('GET', `/${id}/secrets`)).body.data;
  api.fault.after = 0;
  t.equal((await call('DELETE', `/${id}/secrets/${first?.id}`)).status, 500);
  t.equal(await applications.checkSecret(id, secret), false);
  await applications.resumeRevocations();
  t.match(await revoked(id), [{ kind: 'client', epoch: 0 }], 'by which other replicas forget the secret');

  const gone = await make();
  api.fault.after = 0;
  t.equal((await call('DELETE', `/${gone.id}`)).status, 500);
  t.equal((await call('GET', `/${gone.id}`)).status, 404, 'nobody gets anything from it');
  await applications.resumeRevocations();
  t.match(await revoked(gone.id), [{ kind: 'client' }]);
  t.same(await api.applicationStore.awaitingRevocation(), []);
});

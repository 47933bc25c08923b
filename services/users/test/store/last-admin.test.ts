import type { RequestedBy } from '@gatehouse/server/requests';
import { startTestDatabase } from '@gatehouse/testing/start-test-database';
import { testDatabase } from '@gatehouse/testing/test-mongo';
import t from 'tap';
import { createUserStore } from '../../src/store/user-store.ts';
import type { UserStatus, UserStore } from '../../src/user.ts';
import { userRecord } from './user-record.ts';

const uri = await testDatabase(t);

/** A store as in a process of its own: writes of one process wait for each other. */
async function open() {
  const { store, connection } = await startTestDatabase(t, { uri, define: createUserStore });
  return { store, connection };
}
const [{ store, connection }, ...others] = await Promise.all([open(), open(), open()]);
const stores = [store, ...others.map((it) => it.store)];
const collection = connection.collection('users');
t.beforeEach(async () => void (await collection.deleteMany({})));

const PERSON: RequestedBy = {
  ...{ user_id: 'usr_x', client_id: 'app_x', address: '192.0.2.1', user_agent: null, request_id: 'r' },
};
const CONFLICT = { kind: 'conflict', message: /last active admin/ };

async function admin(status: UserStatus = 'active'): Promise<string> {
  const record = userRecord({ role: 'admin', status, email: null });
  await store.insert(record);
  return record.id;
}
const activeAdmins = () => collection.countDocuments({ role: 'admin', status: 'active' });

type Loss = (by: RequestedBy | undefined, id: string, from?: UserStore) => Promise<unknown>;
/** What takes an admin away. */
const LOSSES: Record<string, Loss> = {
  'another role': (by, id, from = store) =>
    from.changeSecurity(id, { reason: 'role', role: 'editor' }, undefined, by),
  deactivation: (by, id, from = store) =>
    from.changeSecurity(id, { reason: 'status', status: 'inactive' }, undefined, by),
  'an update': (by, id, from = store) => from.update(id, { status: 'inactive', name: 'X' }, undefined, by),
  deletion: (by, id, from = store) => from.remove(id, undefined, by),
};
const losses = Object.values(LOSSES);

for (const [name, lose] of Object.entries(LOSSES)) {
  t.test(`${name}: people leave an active admin`, async (t) => {
    const last = await admin();
    await lose(PERSON, await admin('inactive'));
    await admin('inactive');
    await t.rejects(lose(PERSON, last), CONFLICT);
    t.match(await store.findById(last), { role: 'admin', status: 'active', version: 1 });
    await store.update(last, { name: 'Last' }, undefined, PERSON);
    const other = await admin();
    await lose(PERSON, last);
    t.equal(await activeAdmins(), 1);
    await t.rejects(lose(PERSON, other), CONFLICT);
    await lose({ ...PERSON, user_id: null }, other);
    t.equal(await activeAdmins(), 0, 'trusted applications need none');
  });
}

t.test('one of several admins who remove each other at once is left', async (t) => {
  for (let round = 0; round < 12; round += 1) {
    for (const count of [2, 3]) {
      await collection.deleteMany({});
      const ids = await Promise.all(Array.from({ length: count }, () => admin()));
      const outcomes = await Promise.allSettled(
        ids.map((id, i) => losses[(round + i) % losses.length]?.(PERSON, id, stores[i])),
      );
      const refused = outcomes.filter((it) => it.status === 'rejected');
      t.equal(await activeAdmins(), 1);
      t.equal(refused.length, 1);
      t.match(refused[0]?.reason, CONFLICT);
    }
  }
});

import t from 'tap';
import { createOwnedApplications } from '../../../src/features/internal/owned-applications.ts';

t.test('the owner of many applications is asked for once', async (t) => {
  const owner = {
    ...{ id: 'usr_1', role: 'user' as const, status: 'active' as const },
    ...{ epoch: 0, recovery_epoch: 0, authority_epoch: 0 },
  };
  const applications = Array.from({ length: 100 }, (_, i) => ({
    ...{ id: `app_${i}`, owner: 'usr_1', trusted: false, scopes: ['read:data', 'read:users'] },
  }));
  const asked: string[] = [];
  const owned = createOwnedApplications({
    findOwner: async (id) => {
      asked.push(id);
      return owner;
    },
    findApplication: async () => undefined,
    visibleTo: async () => [],
    ownedBy: async () => applications,
    liveKeys: async () => [],
  });
  const { client_ids: ids, scopes, role } = await owned('usr_1');
  t.match({ length: ids.length, scopes, role }, { length: 100, scopes: ['read:data'], role: 'user' });
  t.strictSame(asked, ['usr_1']);
});

t.test('an application has the owner and the epochs of that person, also when it is trusted', async (t) => {
  const account = { role: 'user' as const, status: 'active' as const, epoch: 0 };
  const epochs = { recovery_epoch: 2, authority_epoch: 1 };
  for (const trusted of [false, true]) {
    const owned = createOwnedApplications({
      findOwner: async () => ({ ...account, ...epochs }),
      findApplication: async () => ({ owner: 'usr_1', trusted, scopes: ['read:data'] }),
      visibleTo: async () => [],
      ownedBy: async () => [],
      liveKeys: async (id) => [`key of ${id}`],
    });
    t.match(await owned('app_1'), {
      ...{ person: trusted ? null : 'usr_1', owner: 'usr_1', key_ids: ['key of app_1'] },
      epochs: { recovery: 2, authority: 1 },
    });
  }
});

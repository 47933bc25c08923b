import t from 'tap';
import { createOwnedApplications } from '../../../src/features/internal/owned-applications.ts';

t.test('the owner of many applications is asked for once', async (t) => {
  const owner = { id: 'usr_1', role: 'user' as const, status: 'active' as const, epoch: 0 };
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
  });
  const { client_ids: ids, scopes, role } = await owned('usr_1');
  t.match({ length: ids.length, scopes, role }, { length: 100, scopes: ['read:data'], role: 'user' });
  t.strictSame(asked, ['usr_1']);
});

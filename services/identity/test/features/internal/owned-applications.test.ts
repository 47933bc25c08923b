import t from 'tap';
import { createAuthority } from '../../../src/core/authority/authority.ts';
import { createOwnedApplications } from '../../../src/features/internal/owned-applications.ts';

const owner = {
  ...{ id: 'usr_1', role: 'user' as const, status: 'active' as const },
  ...{ epoch: 0, sign_in_epoch: 0, recovery_epoch: 2, authority_epoch: 1, admin_epoch: 0 },
};
const { givenBy } = createAuthority({
  findAccount,
  readAccount: findAccount,
  noteGiver: async () => {},
  members: { find: async () => undefined },
});
const credentials = {
  scopes: ['read:data'],
  secrets: [],
  federatedCredentials: [],
  jwks: undefined,
  jwksGiven: undefined,
};
async function findAccount() {
  return owner;
}
const authority = { givenBy, giverOf: findAccount };

t.test('the owner of many applications is asked for once', async (t) => {
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
    keysOf: async () => [],
    isTrusted: async () => true,
    extensions: { publicKeyListeners: [] },
    authority,
  });
  const { client_ids: ids, scopes, role } = await owned('usr_1');
  t.match({ length: ids.length, scopes, role }, { length: 100, scopes: ['read:data'], role: 'user' });
  t.strictSame(asked, ['usr_1']);
});

t.test('an application has the owner and the epochs of that person, also when it is trusted', async (t) => {
  for (const trusted of [false, true]) {
    const owned = createOwnedApplications({
      findOwner: findAccount,
      findApplication: async (id) => ({ id, owner: 'usr_1', trusted, ...credentials }),
      visibleTo: async () => [],
      ownedBy: async () => [],
      keysOf: async (id) => [{ ids: [`key of ${id}`], given: undefined }],
      isTrusted: async () => true,
      extensions: { publicKeyListeners: [] },
      authority,
    });
    t.match(await owned('app_1'), {
      ...{ person: trusted ? null : 'usr_1', owner: 'usr_1' },
      credentials: [{ ids: ['key of app_1'], given_by: 'usr_1', epoch: 3, scopes: ['read:data'] }],
      epochs: { recovery: 2, authority: 1 },
    });
  }
});

t.test('a federated credential counts while its issuer is trusted', async (t) => {
  const rule = { id: 'fed_1', name: 'CI', issuer: 'https://ci.example', subject: 'ci', audience: null };
  const given = { by: 'usr_1', epoch: 0, ownerEpoch: undefined, adminEpoch: undefined };
  const federatedCredentials = [
    {
      ...rule,
      claims: [],
      createdAt: new Date(),
      lastUse: null,
      given: { ...given, role: undefined, madeBy: undefined },
    },
  ];
  for (const isTrusted of [true, false]) {
    const owned = createOwnedApplications({
      findOwner: findAccount,
      findApplication: async (id) => ({
        ...{ id, owner: 'usr_1', trusted: false, ...credentials, federatedCredentials },
      }),
      ...{ visibleTo: async () => [], ownedBy: async () => [], keysOf: async () => [], authority },
      isTrusted: async () => isTrusted,
      extensions: { publicKeyListeners: [] },
    });
    t.equal((await owned('app_1')).credentials.length, isTrusted ? 1 : 0);
  }
});

import { invalidFields } from '@gatehouse/http/schema';
import type { Resource } from '@gatehouse/resource/resource';
import type { Caller } from '@gatehouse/tokens/caller';
import type { User, UserUpdate } from '../user.ts';
import {
  authorizeAdmin,
  authorizeChange,
  authorizeCreate,
  authorizeList,
  authorizeRead,
  hasAdminRights,
  needsCurrentPassword,
} from '../user-access.ts';
import type { UserService } from '../user-service.ts';
import { USER_PATHS } from './paths.ts';
import type { UserTypes } from './user-profile.ts';

const READ = ['read:users', 'read:all'];
const READ_OWN = [...READ, 'read:profile', 'profile'];
const WRITE = ['write:users'];

/** Users as a resource: the rules of access and the use case of each operation. */
export function createUserResource(users: UserService): Resource<UserTypes> {
  return {
    noun: { one: 'a user', many: 'users' },
    idPrefix: 'usr',
    paths: USER_PATHS,
    operations: {
      list: { scopes: READ, authorize: authorizeList, source: () => users.list },
      create: { scopes: WRITE, authorize: authorizeCreate, run: users.create },
      read: {
        scopes: READ_OWN,
        description: 'The scopes read:profile and profile give access to one’s own record only.',
        scopesFor: (caller, id) => (caller.person?.id === id ? READ_OWN : READ),
        authorize: authorizeRead,
        run: users.read,
      },
      update: {
        scopes: WRITE,
        authorize: authorizeChange,
        run: async (id, changes, caller, ifVersion) =>
          users.update(id, await permittedChanges(caller, id, changes, users), ifVersion),
      },
      remove: {
        scopes: WRITE,
        authorize: authorizeChange,
        run: (id, _caller, ifVersion) => users.remove(id, ifVersion),
      },
    },
    example: EXAMPLE_USER,
  };
}

/**
 * The changes that the caller may make. Only admins and machines may change a status; others may send the current one
 * back. A password set here does not need the current one, so it must not be the caller's own.
 */
async function permittedChanges(
  caller: Caller,
  id: string,
  changes: UserUpdate,
  users: UserService,
): Promise<UserUpdate> {
  const { status, password, ...others } = changes;
  if (password !== undefined && needsCurrentPassword(caller, id)) {
    throw invalidFields([{ field: 'password', message: 'is changed at the path of the user and /password' }]);
  }
  if (status === undefined || hasAdminRights(caller)) return changes;
  if ((await users.read(id)).status !== status) authorizeAdmin(caller);
  return others;
}

/** The user in the examples of the OpenAPI document. */
const EXAMPLE_USER: User = {
  id: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  username: 'ann',
  email: 'ann@example.org',
  emailVerified: true,
  name: 'Ann Lee',
  firstName: 'Ann',
  lastName: 'Lee',
  phone: null,
  picture: null,
  role: 'user',
  status: 'active',
  epoch: 0,
  signInEpoch: 0,
  version: 1,
  createdAt: new Date('2026-03-01T09:30:00Z'),
  updatedAt: new Date('2026-03-02T16:45:00Z'),
};

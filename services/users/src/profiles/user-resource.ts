import { invalidFields } from '@gatehouse/http/schema';
import type { Resource } from '@gatehouse/resource/resource';
import { type Caller, requireScope } from '@gatehouse/tokens/caller';
import type { Update, User } from '../user.ts';
import {
  governs,
  mayChange,
  mayCreate,
  mayGovern,
  mayList,
  mayRead,
  needsCurrentPassword,
} from '../user-access.ts';
import type { UserService } from '../user-service.ts';
import { USER_PATHS } from './paths.ts';
import type { UserTypes } from './user-profile.ts';

const READ = ['read:users', 'read:all'];
const READ_OWN = [...READ, 'read:profile', 'profile'];
const WRITE = ['write:users'];

/** Users as a resource: who may do what, and which use case does it. */
export function createUserResource(users: UserService): Resource<UserTypes> {
  return {
    noun: { one: 'a user', many: 'users' },
    idPrefix: 'usr',
    paths: USER_PATHS,
    operations: {
      list: { scopes: READ, authorize: scopedTo(READ, mayList), source: () => users.list },
      create: { scopes: WRITE, authorize: scopedTo(WRITE, mayCreate), run: users.create },
      read: {
        scopes: READ_OWN,
        description: 'read:profile and profile are for one’s own record.',
        authorize(caller, id) {
          requireScope(caller, caller.person?.id === id ? READ_OWN : READ);
          mayRead(caller, id);
        },
        run: users.read,
      },
      update: {
        scopes: WRITE,
        authorize: scopedTo(WRITE, mayChange),
        run: async (id, changes, caller, ifVersion) =>
          users.update(id, await permitted(caller, id, changes, users), ifVersion),
      },
      remove: {
        scopes: WRITE,
        authorize: scopedTo(WRITE, mayChange),
        run: (id, _caller, ifVersion) => users.remove(id, ifVersion),
      },
    },
    example: ANN,
  };
}

function scopedTo(scopes: readonly string[], may: (caller: Caller, id: string) => void) {
  return (caller: Caller, id: string): void => {
    requireScope(caller, scopes);
    may(caller, id);
  };
}

/**
 * The changes that the caller may make. Only those who govern change roles and statuses; others may repeat what they
 * have read. A password that is set in this way does not need the current one, so it is never one's own.
 */
async function permitted(caller: Caller, id: string, changes: Update, users: UserService): Promise<Update> {
  const { status, password, ...others } = changes;
  if (password !== undefined && needsCurrentPassword(caller, id)) {
    throw invalidFields([{ field: 'password', message: 'is changed at the path of the user and /password' }]);
  }
  if (status === undefined || governs(caller)) return changes;
  if ((await users.read(id)).status !== status) mayGovern(caller);
  return others;
}

/** The user that examples in the OpenAPI document show. */
const ANN: User = {
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

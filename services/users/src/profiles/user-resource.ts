import { invalidFields } from '@gatehouse/api/http/schema';
import type { Resource } from '@gatehouse/api/resource/resource';
import { unavailable } from '@gatehouse/core/errors';
import { defaultsOf } from '@gatehouse/domain/fields';
import { MULTI_FACTOR } from '@gatehouse/tokens/acr';
import { type Caller, isFirstParty } from '@gatehouse/tokens/caller';
import type { InternalClient } from '@gatehouse/tokens/internal-client';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import { FRESH, requireSignIn } from '@gatehouse/tokens/step-up';
import { currentPasswordMissing, sourceOf, withWrongPasswordAsField } from '../current-password.ts';
import type { User, UserUpdate } from '../user.ts';
import {
  authorizeAdmin,
  authorizeChange,
  authorizeCreate,
  authorizeList,
  authorizeOwnEmailChange,
  authorizeRead,
  hasAdminRights,
  isOwn,
  needsCurrentPassword,
} from '../user-access.ts';
import { USER } from '../user-fields.ts';
import type { UserService } from '../user-service.ts';
import { USER_PATHS } from './paths.ts';
import type { UserTypes } from './user-profiles.ts';

const READ = ['read:users', 'read:all'];
const READ_OWN = [...READ, 'read:profile', 'profile'];
const WRITE = ['write:users'];

/** Users as a resource: the rules of access and the use case of each operation. */
export function createUserResource(
  users: UserService,
  identity: Pick<InternalClient, 'request'>,
): Resource<UserTypes> {
  return {
    noun: { one: 'a user', many: 'users' },
    idPrefix: 'usr',
    paths: USER_PATHS,
    operations: {
      list: { scopes: READ, authorize: authorizeList, source: () => users.list },
      create: {
        scopes: WRITE,
        authorize: authorizeCreate,
        run: (draft, caller, request) => users.create(draft, requestedBy(caller, request)),
      },
      read: {
        scopes: READ_OWN,
        description: 'The scopes read:profile and profile give access to the record of the person only.',
        scopesFor: (caller, id) => (isOwn(caller, id) ? READ_OWN : READ),
        authorize: authorizeRead,
        run: users.read,
      },
      update: {
        scopes: WRITE,
        description:
          'People change their own email address with the current password and a token from a login: applications get 403. With a second factor, ' +
          'the login must be of the last five minutes, with a code (RFC 9470).',
        authorize: authorizeChange,
        run: async (id, changes, caller, ifVersion, request) => {
          const permitted = await permittedChanges(caller, id, changes, { users, identity });
          const by = {
            ...sourceOf(caller),
            own: isOwn(caller, id),
            changedBy: requestedBy(caller, request),
          };
          return withWrongPasswordAsField(users.update(id, permitted, ifVersion, by));
        },
      },
      remove: {
        scopes: WRITE,
        conflicts: true,
        description: 'People get 409 for the last active admin; trusted applications do not.',
        authorize: authorizeChange,
        run: (id, caller, ifVersion, request) => users.remove(id, ifVersion, requestedBy(caller, request)),
      },
    },
    example: EXAMPLE_USER,
  };
}

/**
 * The changes that the caller may make. A status, and the caller's own email address, may be sent back as they are by a caller who
 * may not change them. A password set here does not need the current one, so it must not be the caller's own.
 */
async function permittedChanges(
  caller: Caller,
  id: string,
  { currentPassword, ...changes }: UserUpdate,
  { users, identity }: { users: UserService; identity: Pick<InternalClient, 'request'> },
): Promise<UserUpdate> {
  const own = needsCurrentPassword(caller, id);
  const { status, email } = changes;
  if (changes.password !== undefined && own) {
    throw invalidFields([{ field: 'password', message: 'is changed at the path of the user and /password' }]);
  }
  const guarded = {
    status: status !== undefined && !hasAdminRights(caller),
    email: email !== undefined && own,
  };
  if (!guarded.status && !guarded.email) return changes;
  const { status: currentStatus, email: currentEmail } = await users.read(id);
  const permitted: UserUpdate = { ...changes };
  if (guarded.status) {
    if (status !== currentStatus) authorizeAdmin(caller);
    delete permitted.status;
  }
  if (guarded.email && email === currentEmail) delete permitted.email;
  else if (guarded.email) {
    authorizeOwnEmailChange({ firstParty: isFirstParty(caller) });
    if (currentPassword === undefined) throw currentPasswordMissing();
    // The password alone does not sign such a person in, and must not move the account to another mailbox.
    if (await hasSecondFactor(identity, id)) requireSignIn(caller, { ...FRESH, acr: MULTI_FACTOR });
    permitted.currentPassword = currentPassword;
  }
  return permitted;
}

async function hasSecondFactor(identity: Pick<InternalClient, 'request'>, id: string): Promise<boolean> {
  const { status, body } = await identity.request('POST', '/second-factors', { user_id: id });
  if (status === 200) return (body as { required: boolean }).required;
  const cause = new Error(`identity responded with ${status}`);
  throw unavailable('The email address cannot be changed at the moment.', cause);
}

/** The user in the examples of the OpenAPI document. */
const EXAMPLE_USER: User = {
  ...defaultsOf(USER),
  id: 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7',
  username: 'ann',
  email: 'ann@example.org',
  emailVerified: true,
  name: 'Ann Lee',
  firstName: 'Ann',
  lastName: 'Lee',
  role: 'user',
  status: 'active',
  version: 1,
  createdAt: new Date('2026-03-01T09:30:00Z'),
  updatedAt: new Date('2026-03-02T16:45:00Z'),
};

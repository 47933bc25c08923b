import { ifMatch } from '@gatehouse/api/http/conditional';
import { type ErrorBody, upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { done, shape } from '@gatehouse/api/openapi/shapes';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { mountEndpoints } from '@gatehouse/api/resource/mount-endpoints';
import { type RequestedBy, requestInfo } from '@gatehouse/server/requests';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { currentPasswordMissing, sourceOf, withWrongPasswordAsField } from './current-password.ts';
import { CurrentPasswordInput, PasswordInput } from './profiles/user-profiles.ts';
import type { UserRole, UserStatus } from './user.ts';
import { authorizeAdmin, authorizeChange, needsCurrentPassword } from './user-access.ts';
import { USER_ROLES, USER_STATUSES } from './user-fields.ts';
import type { UserService } from './user-service.ts';

/** The prefixes of the routes, and their error bodies: an unversioned path has those of the latest version. */
const PREFIXES: readonly { prefix: string; errorBody: ErrorBody }[] = [
  { prefix: '/v1/users', errorBody: upperCaseCodeBody },
  { prefix: '/v2/users', errorBody: v2Body },
  { prefix: '/users', errorBody: v2Body },
];
const LAST_ADMIN = 'People get 409 for the last active admin; trusted applications do not.';

const Password = Type.Object({
  new_password: PasswordInput,
  current_password: Type.Optional(CurrentPasswordInput),
});
const Role = Type.Object({ role: Type.Unsafe<UserRole>({ type: 'string', enum: [...USER_ROLES] }) });
const Status = Type.Object({ status: Type.Unsafe<UserStatus>({ type: 'string', enum: [...USER_STATUSES] }) });

type Dependencies = { users: UserService; authenticate: onRequestAsyncHookHandler };

/**
 * The changes that end a person's tokens: password, role, status. Each has its own path below the user's, and responds
 * with 204. `authenticate` is the hook that sets the caller of a request.
 */
export function mountSecurityRoutes(app: FastifyInstance, dependencies: Dependencies): void {
  for (const path of PREFIXES) mountUnder(app, path, dependencies);
}

function mountUnder(
  app: FastifyInstance,
  { prefix, errorBody }: (typeof PREFIXES)[number],
  { users, authenticate }: Dependencies,
): void {
  const errors = { body: errorBody };
  const api = mountEndpoints(app, authenticate, { prefix, errors, scopes: ['write:users'] });
  const change = { conditional: 'write', responses: done('The change has been made.') } as const;

  api.put('set_password', '/:id/password', {
    ...change,
    summary: 'Change the password',
    description:
      'People need the current password to change their own. The change ends all tokens and sessions of the person.',
    body: shape('UserPassword', Password, {
      current_password: 'correct horse battery',
      new_password: 'a staple that is better',
    }),
    kinds: ['invalid'],
    admit: ({ caller, params }) => authorizeChange(caller, params.id),
    async handle({ caller, request, params: { id }, body }) {
      const { new_password: newPassword, current_password: currentPassword } = body;
      if (currentPassword === undefined && needsCurrentPassword(caller, id)) {
        throw currentPasswordMissing();
      }
      const change = {
        newPassword,
        ...(currentPassword === undefined ? {} : { currentPassword }),
        ...sourceOf(caller),
        changedBy: byOf(request),
      };
      await withWrongPasswordAsField(users.changePassword(id, change, ifMatch(request)));
    },
  });

  api.put('set_role', '/:id/role', {
    ...change,
    summary: 'Change the role',
    description: `Ends the access tokens of the person. ${LAST_ADMIN}`,
    body: shape('UserRole', Role, { role: 'editor' }),
    kinds: ['invalid', 'conflict'],
    admit: ({ caller }) => authorizeAdmin(caller),
    async handle({ request, params, body }) {
      await users.changeRole(params.id, body.role, ifMatch(request), byOf(request));
    },
  });

  api.put('set_status', '/:id/status', {
    ...change,
    summary: 'Activate or deactivate',
    description: `Ends the access tokens of the person. Deactivation also ends their sessions; they can no longer sign in. ${LAST_ADMIN}`,
    body: shape('UserStatus', Status, { status: 'inactive' }),
    kinds: ['invalid', 'conflict'],
    admit: ({ caller }) => authorizeAdmin(caller),
    async handle({ request, params, body }) {
      await users.changeStatus(params.id, body.status, ifMatch(request), byOf(request));
    },
  });
}

function byOf(request: FastifyRequest): RequestedBy {
  return requestedBy(callerOf(request), requestInfo(request.raw));
}

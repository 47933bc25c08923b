import { ifMatch } from '@gatehouse/api/http/conditional';
import { type ErrorBody, upperCaseCodeBody, v2Body } from '@gatehouse/api/http/error-bodies';
import { bodyValidator } from '@gatehouse/api/http/schema';
import { documented } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import type { ErrorKind } from '@gatehouse/core/errors';
import { type RequestedBy, requestInfo } from '@gatehouse/server/requests';
import { requireScope } from '@gatehouse/tokens/caller';
import { requestedBy } from '@gatehouse/tokens/requested-by';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
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
const WRITE = ['write:users'];
const LAST_ADMIN = 'People get 409 for the last active admin; trusted applications do not.';

const Password = Type.Object({
  new_password: PasswordInput,
  current_password: Type.Optional(CurrentPasswordInput),
});
const Role = Type.Object({ role: Type.Unsafe<UserRole>({ type: 'string', enum: [...USER_ROLES] }) });
const Status = Type.Object({ status: Type.Unsafe<UserStatus>({ type: 'string', enum: [...USER_STATUSES] }) });

type OneUser = { Params: { id: string } };
type Dependencies = { users: UserService; authenticate: onRequestAsyncHookHandler };
type Guard = (request: FastifyRequest<OneUser>) => void;

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
  const authorizeUserChange: Guard = (request) => authorizeChange(callerOf(request), request.params.id);
  const authorizeRoleAndStatus: Guard = (request) => authorizeAdmin(callerOf(request));

  function put<S extends TSchema>(
    field: string,
    about: {
      summary: string;
      description?: string;
      body: S;
      example: Static<S>;
      guard: Guard;
      errors?: readonly ErrorKind[];
    },
    change: (request: FastifyRequest<OneUser>, body: Static<S>) => Promise<unknown>,
  ): void {
    const { summary, description, body, example, guard, errors = [] } = about;
    const read = bodyValidator(body);
    app.put<OneUser>(
      `${prefix}/:id/${field}`,
      {
        config: { errorBody },
        schema: documented({
          operationId: ['set', field, ...prefix.split('/').filter(Boolean)].join('_'),
          summary,
          ...(description === undefined ? {} : { description }),
          tag: prefix,
          scopes: WRITE,
          conditional: 'write',
          body: [{ name: `User${field[0]?.toUpperCase()}${field.slice(1)}`, schema: body, example }],
          responses: { 204: { description: 'The change has been made.' } },
          errors: { body: errorBody, kinds: ['invalid', 'not_found', ...errors] },
        }),
        // Hooks that run before the body is read.
        onRequest: [
          authenticate,
          async (request) => {
            requireScope(callerOf(request), WRITE);
            guard(request);
          },
        ],
      },
      async (request, reply) => {
        await change(request, read(request.body));
        return reply.code(204).send();
      },
    );
  }

  const password = {
    summary: 'Change the password',
    description:
      'People need the current password to change their own. The change ends all tokens and sessions of the person.',
    body: Password,
    example: { current_password: 'correct horse battery', new_password: 'a staple that is better' },
    guard: authorizeUserChange,
  };
  put('password', password, async (request, body) => {
    const caller = callerOf(request);
    const { id } = request.params;
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
  });

  const role = {
    summary: 'Change the role',
    description: `Ends the access tokens of the person. ${LAST_ADMIN}`,
    body: Role,
    example: { role: 'editor' as const },
    errors: ['conflict'] as const,
    guard: authorizeRoleAndStatus,
  };
  put('role', role, (request, body) =>
    users.changeRole(request.params.id, body.role, ifMatch(request), byOf(request)),
  );

  const status = {
    summary: 'Activate or deactivate',
    description: `Ends the access tokens of the person. Deactivation also ends their sessions; they can no longer sign in. ${LAST_ADMIN}`,
    body: Status,
    example: { status: 'inactive' as const },
    errors: ['conflict'] as const,
    guard: authorizeRoleAndStatus,
  };
  put('status', status, (request, body) =>
    users.changeStatus(request.params.id, body.status, ifMatch(request), byOf(request)),
  );
}

function byOf(request: FastifyRequest): RequestedBy {
  return requestedBy(callerOf(request), requestInfo(request.raw));
}

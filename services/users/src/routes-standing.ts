import { callerOf } from '@gatehouse/http/auth';
import { bodyValidator, invalidFields } from '@gatehouse/http/schema';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { USER_ROLES, USER_STATUSES, type UserRole, type UserStatus } from './user.ts';
import { mayChange, mayGovern, needsCurrentPassword } from './user-access.ts';
import { type Users, WrongPasswordError } from './users.ts';

const PREFIX = '/v1/users/:id';
const WRITE = ['write:users'];

const readPassword = bodyValidator(
  Type.Object({ new_password: Type.String(), current_password: Type.Optional(Type.String()) }),
);
const readRole = bodyValidator(Type.Object({ role: Type.Unsafe<UserRole>({ enum: USER_ROLES }) }));
const readStatus = bodyValidator(Type.Object({ status: Type.Unsafe<UserStatus>({ enum: USER_STATUSES }) }));

type OneUser = { Params: { id: string } };

/**
 * The changes that end a person's tokens: password, role, status. Each is a path of its own, the same for every
 * profile, and answers 204. `authenticate` is the hook that puts a caller on the request.
 */
export function mountStandingRoutes(
  app: FastifyInstance,
  { users, authenticate }: { users: Users; authenticate: onRequestAsyncHookHandler },
): void {
  // Both run before the body is read.
  const guarded = (guard: (request: FastifyRequest) => void) => ({
    onRequest: [
      authenticate,
      async (request: FastifyRequest) => {
        requireScope(callerOf(request), WRITE);
        guard(request);
      },
    ],
  });

  const mayChangeThis = guarded((request) =>
    mayChange(callerOf(request), (request.params as OneUser['Params']).id),
  );
  app.put<OneUser>(`${PREFIX}/password`, mayChangeThis, async (request, reply) => {
    const caller = callerOf(request);
    const { new_password: newPassword, current_password: currentPassword } = readPassword(request.body);
    if (currentPassword === undefined && needsCurrentPassword(caller, request.params.id)) {
      throw invalidFields([{ field: 'current_password', message: 'is required' }]);
    }
    const change = {
      newPassword,
      ...(currentPassword === undefined ? {} : { currentPassword }),
      through: caller.clientId,
    };
    await users.changePassword(request.params.id, change).catch((error: unknown) => {
      // A field of a form that is to be corrected; 403 would say that no correction helps.
      throw error instanceof WrongPasswordError
        ? invalidFields([{ field: 'current_password', message: 'is not right' }])
        : error;
    });
    return reply.code(204).send();
  });

  const mayGovernAll = guarded((request) => mayGovern(callerOf(request)));
  app.put<OneUser>(`${PREFIX}/role`, mayGovernAll, async (request, reply) => {
    await users.changeRole(request.params.id, readRole(request.body).role);
    return reply.code(204).send();
  });
  app.put<OneUser>(`${PREFIX}/status`, mayGovernAll, async (request, reply) => {
    await users.changeStatus(request.params.id, readStatus(request.body).status);
    return reply.code(204).send();
  });
}

import { callerOf } from '@gatehouse/api/resource/authenticate';
import { internalPrefix } from '@gatehouse/core/services';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { UserService } from '../user-service.ts';

/** Whether a user exists, and nothing else about them, for services that refer to users (see SERVICES in core). */
export function mountExistenceRoutes(
  app: FastifyInstance,
  { users, authenticate }: { users: UserService; authenticate: onRequestAsyncHookHandler },
): void {
  app.get<{ Params: { id: string } }>(
    `${internalPrefix('users')}/existence/:id`,
    {
      onRequest: [
        authenticate,
        async (request: FastifyRequest) =>
          requireInternalAccess(callerOf(request), request.routeOptions.url ?? ''),
      ],
    },
    async (request, reply) =>
      reply.header('cache-control', 'no-store').send({ exists: await users.exists(request.params.id) }),
  );
}

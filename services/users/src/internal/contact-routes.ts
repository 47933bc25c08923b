import { callerOf } from '@gatehouse/api/resource/authenticate';
import { internalPrefix } from '@gatehouse/core/services';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import type { FastifyInstance, FastifyRequest, onRequestAsyncHookHandler } from 'fastify';
import type { UserService } from '../user-service.ts';

/**
 * Where a user can be reached, for the service that sends messages to users (see SERVICES in core). With the epoch: what was
 * registered with a credential of a lower one has ended.
 */
export function mountContactRoutes(
  app: FastifyInstance,
  { users, authenticate }: { users: UserService; authenticate: onRequestAsyncHookHandler },
): void {
  app.get<{ Params: { id: string } }>(
    `${internalPrefix('users')}/contacts/:id`,
    {
      onRequest: [
        authenticate,
        async (request: FastifyRequest) =>
          requireInternalAccess(callerOf(request), request.routeOptions.url ?? ''),
      ],
    },
    async (request, reply) => {
      const { email, phone, epoch } = await users.read(request.params.id);
      return reply.header('cache-control', 'no-store').send({ email, phone, epoch });
    },
  );
}

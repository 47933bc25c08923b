import { internalPrefix } from '@gatehouse/core/services';
import type { Erasures } from '@gatehouse/data/erasures';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { bodyValidator } from '../http/schema.ts';
import { callerOf } from './authenticate.ts';

const readErasure = bodyValidator(Type.Object({ user_id: Type.String({ maxLength: 254 }) }));

/** Where users asks a service to erase what it holds about a person whose account is deleted (see SERVICES in core). */
export function mountErasures(
  app: FastifyInstance,
  options: { service: string; erasures: Erasures; authenticate: onRequestAsyncHookHandler },
): void {
  const { service, erasures, authenticate } = options;
  app.post(
    `${internalPrefix(service)}/erasures`,
    {
      onRequest: [
        authenticate,
        async (request) => requireInternalAccess(callerOf(request), request.routeOptions.url ?? ''),
      ],
    },
    async (request, reply) => {
      await erasures.request(readErasure(request.body).user_id);
      return reply.code(204).send();
    },
  );
}

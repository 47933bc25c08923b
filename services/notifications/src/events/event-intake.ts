import { bodyValidator } from '@gatehouse/api/http/schema';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { requireInternalAccess } from '@gatehouse/tokens/internal-access';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';

const readEvent = bodyValidator(
  Type.Object({
    id: Type.String({ pattern: '^evt_[0-9a-hjkmnp-tv-z]{26}$' }),
    subject: Type.String({ pattern: '^identity\\.' }),
    at: Type.String(),
    data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
  }),
);

type Taken = { id: string; subject: string; at: Date; data: Record<string, unknown> };

/** Where identity, which has no stream of events at NATS, tells of its own; durable when it is answered. */
export function mountEventIntake(
  app: FastifyInstance,
  options: { take: (event: Taken) => Promise<void>; authenticate: onRequestAsyncHookHandler },
): void {
  const { take, authenticate } = options;
  app.post(
    '/internal/notifications/events',
    {
      onRequest: [
        authenticate,
        async (request) => requireInternalAccess(callerOf(request), request.routeOptions.url ?? ''),
      ],
    },
    async (request, reply) => {
      const { at, ...event } = readEvent(request.body);
      await take({ ...event, at: new Date(at) });
      return reply.code(204).send();
    },
  );
}

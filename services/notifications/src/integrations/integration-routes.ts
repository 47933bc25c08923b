import { v2Body } from '@gatehouse/api/http/error-bodies';
import { serializer } from '@gatehouse/api/http/schema';
import { ok, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import { ServiceError } from '@gatehouse/core/errors';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { Type } from 'typebox';
import { INTEGRATION_KINDS, type IntegrationState } from './integration.ts';

const SCOPES = ['read:data', 'read:all'];
const PREFIXES = ['/v2/integrations', '/integrations'];

const words = (list: readonly string[]) => Type.Union(list.map((word) => Type.Literal(word)));
const Integrations = Type.Object({
  data: Type.Array(
    Type.Object({
      id: Type.String(),
      kind: words(INTEGRATION_KINDS),
      name: Type.String(),
      configured: Type.Boolean(),
      status: words(['ok', 'error', 'unconfigured']),
      checked_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
      message: Type.Optional(Type.String({ description: 'The error message.' })),
    }),
  ),
});
const EXAMPLE = {
  data: [
    {
      id: 'email',
      kind: 'email',
      name: 'SMTP',
      configured: true,
      status: 'ok',
      checked_at: '2026-01-31T12:00:00.000Z',
    },
    {
      id: 'sms',
      kind: 'sms',
      name: 'SMS gateway',
      configured: false,
      status: 'unconfigured',
      checked_at: null,
    },
  ],
};
const write = serializer(Integrations) as (value: unknown) => string;

/** Mounts the list of integrations. */
export function mountIntegrations(
  app: FastifyInstance,
  options: { states(): Promise<IntegrationState[]>; authenticate: onRequestAsyncHookHandler },
): void {
  const { states, authenticate } = options;
  for (const prefix of PREFIXES) {
    const api = mountEndpoints(app, authenticate, { prefix, errors: { body: v2Body }, scopes: SCOPES });
    api.get('list', '/', {
      summary: 'List the integrations',
      description:
        'The integrations, which of them are configured, and whether they work, as checked within the last 30 seconds. ' +
        'For editors, admins and trusted applications.',
      responses: ok('The integrations.', shape('Integrations', Integrations, EXAMPLE)),
      admit({ caller }) {
        if (caller.person?.role === 'user') {
          throw new ServiceError(
            'forbidden',
            'Only editors, admins and trusted applications see integrations.',
          );
        }
      },
      async handle({ reply }) {
        const data = (await states()).map(({ checkedAt, ...state }) => ({
          ...state,
          checked_at: checkedAt?.toISOString() ?? null,
        }));
        return uncached(reply, write({ data }));
      },
    });
  }
}

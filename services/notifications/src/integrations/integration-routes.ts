import { v2Body } from '@gatehouse/api/http/error-bodies';
import { serializer } from '@gatehouse/api/http/schema';
import { documented } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { send } from '@gatehouse/api/resource/json-response';
import { ServiceError } from '@gatehouse/core/errors';
import { requireScope } from '@gatehouse/tokens/caller';
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
    app.get(
      prefix,
      {
        config: { errorBody: v2Body },
        schema: documented({
          operationId: ['list', ...prefix.split('/').filter(Boolean)].join('_'),
          summary: 'List the integrations',
          description:
            'The integrations, which of them are configured, and whether they work, as checked within the last 30 seconds. ' +
            'For editors, admins and trusted applications.',
          tag: prefix,
          scopes: SCOPES,
          responses: {
            200: {
              description: 'The integrations.',
              shapes: [{ name: 'Integrations', schema: Integrations, example: EXAMPLE }],
            },
          },
          errors: { body: v2Body },
        }),
        onRequest: [
          authenticate,
          async (request) => {
            const caller = callerOf(request);
            requireScope(caller, SCOPES);
            if (caller.person?.role === 'user') {
              throw new ServiceError(
                'forbidden',
                'Only editors, admins and trusted applications see integrations.',
              );
            }
          },
        ],
      },
      async (_request, reply) => {
        const data = (await states()).map(({ checkedAt, ...state }) => ({
          ...state,
          checked_at: checkedAt?.toISOString() ?? null,
        }));
        return send(reply, { status: 200, headers: { 'cache-control': 'no-store' }, text: write({ data }) });
      },
    );
  }
}

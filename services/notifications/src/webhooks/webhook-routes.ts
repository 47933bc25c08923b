import { plainBody } from '@gatehouse/api/http/error-bodies';
import { serializer } from '@gatehouse/api/http/schema';
import { DATE_PATTERN } from '@gatehouse/api/lists/filter-patterns';
import { ok, response, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import { requestInfo } from '@gatehouse/server/requests';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { WEBHOOK_LIMITS, type Webhook } from './webhook.ts';
import { SECRET_EXAMPLE, show, WEBHOOKS, WithSecret, WRITE } from './webhook-resource.ts';
import type { WebhookService } from './webhook-service.ts';

const Overlap = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: WEBHOOK_LIMITS.overlapSeconds,
      description: 'For how long the secret before signs, too; a day by default.',
    }),
  ),
});
const Replay = Type.Object({
  from: Type.String({
    pattern: DATE_PATTERN,
    description: 'A date or a time.',
  }),
});
const Replayed = Type.Object({
  replayed: Type.Integer({ description: 'The number of events that are delivered again.' }),
  next: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
    description: 'Always null: all events are delivered.',
  }),
});

/** Mounts the other actions on a webhook: a new secret, and a replay. */
export function mountWebhookRoutes(
  app: FastifyInstance,
  options: {
    webhooks: WebhookService;
    reveal: (webhook: Webhook) => string;
    authenticate: MountOptions['authenticate'];
  },
): void {
  const { webhooks } = options;
  const api = mountEndpoints(app, options.authenticate, {
    prefix: WEBHOOKS,
    errors: { body: plainBody },
    scopes: WRITE,
  });

  const writeSecret = serializer(WithSecret);
  api.post('rotate', '/:id/rotate', {
    operationId: 'rotate_webhook_secret',
    summary: 'Make a new secret for a webhook',
    description:
      'Until the one before has ended, both sign each delivery, so that receivers can change over. One before that ends at once.',
    body: shape('WebhookRotation', Overlap, { overlap_seconds: 3600 }),
    responses: ok(
      'The webhook, with its new secret.',
      shape('WebhookWithSecret', WithSecret, SECRET_EXAMPLE),
    ),
    kinds: ['invalid'],
    async handle({ caller, request, reply, params, body: { overlap_seconds: seconds = 86_400 } }) {
      const webhook = await webhooks.rotate(params.id, seconds, caller, requestInfo(request.raw));
      return uncached(reply, writeSecret({ ...show(webhook), secret: options.reveal(webhook) }));
    },
  });

  const writeReplayed = serializer(Replayed);
  api.post('replay', '/:id/replay', {
    operationId: 'replay_webhook',
    summary: 'Deliver the events since a time again',
    description:
      'Those that the webhook subscribes to now, whether they were delivered before or not. They are delivered some at a time; `replay` of ' +
      'the webhook shows how far. A webhook has one replay at a time, which ends when the webhook is paused.',
    body: shape('WebhookReplay', Replay, { from: '2026-03-01T00:00:00Z' }),
    responses: {
      202: response(
        'The number of events.',
        shape('WebhookReplayed', Replayed, { replayed: 12, next: null }),
      ),
    },
    kinds: ['invalid', 'conflict'],
    async handle({ caller, reply, params, body }) {
      const replayed = await webhooks.replay(params.id, new Date(body.from), caller);
      return uncached(reply, writeReplayed({ replayed, next: null }));
    },
  });
}

import { bodyValidator, serializer } from '@gatehouse/api/http/schema';
import { DATE_PATTERN } from '@gatehouse/api/lists/filter-patterns';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import { requestInfo } from '@gatehouse/server/requests';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { WEBHOOK_LIMITS, type Webhook } from './webhook.ts';
import { SECRET_EXAMPLE, show, WithSecret, WRITE } from './webhook-resource.ts';
import { sendFresh, WEBHOOK, webhookRoute } from './webhook-route.ts';
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
  const route = webhookRoute(options.authenticate);

  const writeSecret = serializer(WithSecret);
  const readOverlap = bodyValidator(Overlap);
  app.post<{ Params: { id: string } }>(
    `${WEBHOOK}/rotate`,
    route('rotate_webhook_secret', WRITE, {
      summary: 'Make a new secret for a webhook',
      description:
        'Until the one before has ended, both sign each delivery, so that receivers can change over. One before that ends at once.',
      body: [{ name: 'WebhookRotation', schema: Overlap, example: { overlap_seconds: 3600 } }],
      responses: {
        200: {
          description: 'The webhook, with its new secret.',
          shapes: [{ name: 'WebhookWithSecret', schema: WithSecret, example: SECRET_EXAMPLE }],
        },
      },
      kinds: ['invalid'],
    }),
    async (request, to) => {
      const { overlap_seconds: seconds = 86_400 } = readOverlap(request.body);
      const webhook: Webhook = await webhooks.rotate(
        request.params.id,
        seconds,
        callerOf(request),
        requestInfo(request.raw),
      );
      return sendFresh(to, writeSecret({ ...show(webhook), secret: options.reveal(webhook) }));
    },
  );

  const readReplay = bodyValidator(Replay);
  const writeReplayed = serializer(Replayed);
  app.post<{ Params: { id: string } }>(
    `${WEBHOOK}/replay`,
    route('replay_webhook', WRITE, {
      summary: 'Deliver the events since a time again',
      description:
        'Those that the webhook subscribes to now, whether they were delivered before or not. They are delivered some at a time; `replay` of ' +
        'the webhook shows how far. A webhook has one replay at a time, which ends when the webhook is paused.',
      body: [{ name: 'WebhookReplay', schema: Replay, example: { from: '2026-03-01T00:00:00Z' } }],
      responses: {
        202: {
          description: 'The number of events.',
          shapes: [{ name: 'WebhookReplayed', schema: Replayed, example: { replayed: 12, next: null } }],
        },
      },
      kinds: ['invalid', 'conflict'],
    }),
    async (request, to) => {
      const from = new Date(readReplay(request.body).from);
      const replayed = await webhooks.replay(request.params.id, from, callerOf(request));
      return sendFresh(to, writeReplayed({ replayed, next: null }), 202);
    },
  );
}

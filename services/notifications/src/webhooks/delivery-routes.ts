import { plainBody } from '@gatehouse/api/http/error-bodies';
import { serializer } from '@gatehouse/api/http/schema';
import { createListEndpoint } from '@gatehouse/api/lists/list-endpoint';
import { cursorEnvelope } from '@gatehouse/api/lists/paging';
import { ok, response, shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { MountOptions } from '@gatehouse/api/resource/mount-resource';
import type { ListSource } from '@gatehouse/domain/list-query';
import { DELIVERY_STATUSES } from '@gatehouse/domain/webhook-fields';
import type { Caller } from '@gatehouse/tokens/caller';
import type { FastifyInstance } from 'fastify';
import { type Static, type TSchema, Type } from 'typebox';
import type { EventStore, StoredEvent } from '../events/event.ts';
import { payloadOf } from '../events/event-resource.ts';
import type { Delivery, DeliveryField } from './delivery.ts';
import type { Webhook } from './webhook.ts';
import { READ, WEBHOOKS, WRITE } from './webhook-resource.ts';
import type { WebhookService } from './webhook-service.ts';

const Time = Type.String({ format: 'date-time' });
const OrNull = (schema: TSchema, description: string) => Type.Union([schema, Type.Null()], { description });
const DeliveryView = Type.Object({
  id: Type.String(),
  event_id: Type.String({ description: 'The `webhook-id` of its requests.' }),
  type: Type.String(),
  status: Type.String({ enum: [...DELIVERY_STATUSES] }),
  reason: OrNull(Type.String(), 'Why it failed or was skipped, or the last attempt failed.'),
  response_status: OrNull(
    Type.Integer(),
    'The HTTP status of the last attempt; null if there was none, or no response.',
  ),
  next_attempt_at: OrNull(Time, 'While it is pending.'),
  request: Type.Object({
    headers: Type.Record(Type.String(), Type.String()),
    body: OrNull(Type.String(), 'The payload.'),
    reason: OrNull(Type.String(), 'Why there is no payload.'),
  }),
  attempts: Type.Array(
    Type.Object({
      started_at: Time,
      duration_ms: Type.Integer(),
      url: Type.String(),
      response: OrNull(
        Type.Object({
          status: Type.Integer(),
          body: OrNull(Type.String(), 'The first 1,024 bytes.'),
        }),
        'Null when there was none.',
      ),
      error: OrNull(Type.String(), 'Null for a success.'),
    }),
    { description: 'The last 20.' },
  ),
  created_at: Time,
});

/** A delivery with its event, or why there is none. */
type Shown = {
  delivery: Delivery;
  event: StoredEvent | 'The event is gone.' | 'You may not read this event.';
};

const shownAs = ({ delivery, event }: Shown): Static<typeof DeliveryView> => ({
  id: delivery.id,
  event_id: delivery.event,
  type: delivery.type,
  status: delivery.status,
  reason: delivery.reason,
  response_status: delivery.attempts.at(-1)?.status ?? null,
  next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
  request: {
    headers: { 'content-type': 'application/json', 'webhook-id': delivery.event },
    body: typeof event === 'string' ? null : JSON.stringify(payloadOf(event)),
    reason: typeof event === 'string' ? event : null,
  },
  attempts: delivery.attempts.map(({ url, startedAt, durationMs, status, body, error }) => ({
    started_at: startedAt.toISOString(),
    duration_ms: durationMs,
    url,
    response: status === null ? null : { status, body },
    error,
  })),
  created_at: delivery.createdAt.toISOString(),
});

const DELIVERY_EXAMPLE = {
  id: 'dlv_06f2k1c8w0h3v5n7q9t1x3z5b7',
  event_id: 'evt_06f2k1c8w0h3v5n7q9t1x3z5b7',
  type: 'order.created',
  status: 'succeeded',
  reason: null,
  response_status: 204,
  next_attempt_at: null,
  request: {
    headers: { 'content-type': 'application/json', 'webhook-id': 'evt_06f2k1c8w0h3v5n7q9t1x3z5b7' },
    body: '{"type":"order.created","timestamp":"2026-03-01T09:30:00.000Z","data":{}}',
    reason: null,
  },
  attempts: [
    {
      started_at: '2026-03-01T09:30:00.100Z',
      duration_ms: 42,
      url: 'https://example.com/hooks',
      response: { status: 204, body: null },
      error: null,
    },
  ],
  created_at: '2026-03-01T09:30:00.050Z',
};
const delivery = shape('WebhookDelivery', DeliveryView, DELIVERY_EXAMPLE);

const LIST_EXAMPLE = {
  data: [DELIVERY_EXAMPLE],
  links: {},
  meta: {
    totalItems: 1,
    itemsPerPage: 1,
    currentPage: 1,
    hasNextPage: false,
    hasPrevPage: false,
  },
};

const writeDelivery = serializer(DeliveryView);
const list = createListEndpoint<DeliveryField, Shown>({
  rules: {
    path: WEBHOOKS,
    paging: 'cursor',
    order: { field: 'createdAt', descending: true },
    filters: {
      status: { field: 'status', type: 'string', values: DELIVERY_STATUSES },
    },
    plain: ['status'],
  },
  envelope: cursorEnvelope,
  item: { schema: DeliveryView, write: (row) => writeDelivery(shownAs(row)) },
});

/** Mounts the deliveries of a webhook: a list, a test, and sending again. */
export function mountDeliveryRoutes(
  app: FastifyInstance,
  options: {
    webhooks: WebhookService;
    deliveriesOf: (webhookId: string) => ListSource<DeliveryField, Delivery>;
    events: Pick<EventStore, 'findByIds'>;
    mountOptions: Pick<MountOptions, 'authenticate' | 'concurrency'>;
  },
): void {
  const { webhooks, events, mountOptions } = options;
  const { authenticate, concurrency } = mountOptions;
  const api = mountEndpoints(app, authenticate, {
    prefix: WEBHOOKS,
    errors: { body: plainBody },
    scopes: WRITE,
  });

  async function withEvents(
    deliveries: readonly Delivery[],
    webhook: Webhook,
    caller: Caller,
  ): Promise<Shown[]> {
    const found = await events.findByIds(deliveries.map(({ event }) => event));
    const show = await webhooks.show(webhook, caller);
    return deliveries.map((it) => {
      const event = found.get(it.event);
      const shown = event && show(event);
      const reason = event === undefined ? 'The event is gone.' : 'You may not read this event.';
      return { delivery: it, event: shown ?? reason };
    });
  }
  const written = async (one: Delivery, caller: Caller) => {
    const [first] = await withEvents([one], await webhooks.find(one.webhook, caller), caller);
    return writeDelivery(shownAs(first as Shown));
  };

  api.post('test', '/:id/test', {
    operationId: 'test_webhook',
    summary: 'Send a test to a webhook',
    description: 'An event of the type webhook.test is delivered to it, as any other.',
    responses: { 202: response('The delivery.', delivery) },
    kinds: ['conflict'],
    handle: async ({ caller, reply, params }) =>
      uncached(reply, await written(await webhooks.test(params.id, caller), caller)),
  });

  api.get('list', '/:id/deliveries', {
    operationId: 'list_webhook_deliveries',
    summary: 'List the deliveries of a webhook',
    description:
      'The deliveries of the last 30 days, the latest first, each with its request, and the responses to its attempts.',
    scopes: READ,
    documentedQuery: list.query,
    responses: ok('A page of the list.', {
      ...shape('WebhookDeliveries', cursorEnvelope.schema(DeliveryView), LIST_EXAMPLE),
      parts: [delivery],
    }),
    kinds: ['invalid'],
    async handle({ caller, request, reply, params }) {
      const webhook = await webhooks.find(params.id, caller);
      const { id } = webhook;
      const source = options.deliveriesOf(id);
      const shown: ListSource<DeliveryField, Shown> = {
        async byOffset(query, page) {
          const rows = await source.byOffset(query, page);
          return { ...rows, items: await withEvents(rows.items, webhook, caller) };
        },
        async byKeyset(query, page) {
          const rows = await source.byKeyset(query, page);
          return { ...rows, items: await withEvents(rows.items, webhook, caller) };
        },
        count: source.count,
      };
      const { headers, text } = await list.reply(request.query, shown, {
        path: `${WEBHOOKS}/${id}/deliveries`,
        limited: (work) => concurrency.run(caller, work),
      });
      reply.headers(headers);
      return uncached(reply, text);
    },
  });

  api.post('resend', '/:id/deliveries/:delivery/resend', {
    operationId: 'resend_webhook_delivery',
    summary: 'Deliver an event again',
    description: 'With the same `webhook-id`. A delivery that waits for its next attempt is sent now.',
    responses: { 202: response('The delivery, which is pending.', delivery) },
    kinds: ['conflict'],
    handle: async ({ caller, reply, params }) =>
      uncached(reply, await written(await webhooks.resend(params.id, params.delivery, caller), caller)),
  });
}

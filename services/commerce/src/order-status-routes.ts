import { etagOf, ifMatch } from '@gatehouse/api/http/conditional';
import { documented } from '@gatehouse/api/openapi/operation';
import { callerOf } from '@gatehouse/api/resource/authenticate';
import { send } from '@gatehouse/api/resource/json-response';
import { requireScope } from '@gatehouse/tokens/caller';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { OrderService } from './order-service.ts';
import { EXAMPLE, ORDER_PATHS, orderView, statusChangeBody, WRITE } from './profiles/order-resource.ts';

/** The interface leaves the method open. */
const METHODS = ['PATCH', 'PUT', 'POST'] as const;

/** Mounts `{order}/status`, which changes the status of an order, by any of three methods. */
export function mountOrderStatus(
  app: FastifyInstance,
  options: { orders: OrderService; authenticate: onRequestAsyncHookHandler },
): void {
  const { orders, authenticate } = options;
  const { name, schema, example, read } = statusChangeBody;
  const response = { name: orderView.name, schema: orderView.schema, example: orderView.show(EXAMPLE) };
  for (const { prefix, profiles } of ORDER_PATHS) {
    const errorBody = profiles[0]?.errorBody;
    if (errorBody === undefined) continue;
    for (const method of METHODS) {
      app.route<{ Params: { id: string } }>({
        method,
        url: `${prefix}/:id/status`,
        config: { errorBody },
        schema: documented({
          operationId: [method.toLowerCase(), 'status', ...prefix.split('/').filter(Boolean)].join('_'),
          summary: 'Change the status of an order',
          description:
            'The statuses are pending, confirmed, processing, shipped, delivered, in this order. The first three can be cancelled, ' +
            'and a delivered order refunded. A customer may cancel while the order is pending or confirmed.',
          tag: prefix,
          scopes: WRITE,
          conditional: 'write',
          body: [{ name, schema, example }],
          responses: {
            200: { description: 'The changed order.', shapes: [response], headers: { ETag: 'always' } },
          },
          errors: { body: errorBody, kinds: ['invalid', 'not_found', 'conflict'] },
        }),
        onRequest: [authenticate, async (request) => requireScope(callerOf(request), WRITE)],
        async handler(request, reply) {
          const order = await orders.changeStatus(
            request.params.id,
            read(request.body),
            callerOf(request),
            ifMatch(request),
          );
          const headers = { etag: etagOf(order.version), 'cache-control': 'no-store' };
          return send(reply, { status: 200, headers, text: orderView.write(order) });
        },
      });
    }
  }
}

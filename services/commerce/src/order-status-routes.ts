import { etagOf, ifMatch } from '@gatehouse/api/http/conditional';
import { shape } from '@gatehouse/api/openapi/shapes';
import { mountEndpoints, uncached } from '@gatehouse/api/resource/mount-endpoints';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import type { OrderService } from './order-service.ts';
import { EXAMPLE, ORDER_PATHS, orderView, statusChangeBody, WRITE } from './profiles/order-resource.ts';

/** The interface leaves the method open. */
const METHODS = ['patch', 'put', 'post'] as const;

/** Mounts `{order}/status`, which changes the status of an order, by any of three methods. */
export function mountOrderStatus(
  app: FastifyInstance,
  options: { orders: OrderService; authenticate: onRequestAsyncHookHandler },
): void {
  const { orders, authenticate } = options;
  const { schema, example, read } = statusChangeBody;
  const response = { name: orderView.name, schema: orderView.schema, example: orderView.show(EXAMPLE) };
  for (const { prefix, profiles } of ORDER_PATHS) {
    const errorBody = profiles[0]?.errorBody;
    if (errorBody === undefined) continue;
    const api = mountEndpoints(app, authenticate, { prefix, errors: { body: errorBody }, scopes: WRITE });
    for (const method of METHODS) {
      api[method](`${method}_status`, '/:id/status', {
        summary: 'Change the status of an order',
        description:
          'The statuses are pending, confirmed, processing, shipped, delivered, in this order. The first three can be cancelled, ' +
          'and a delivered order refunded. A customer may cancel while the order is pending or confirmed.',
        conditional: 'write',
        documentedBody: shape('NewOrderStatus', schema, example),
        responses: {
          200: { description: 'The changed order.', shapes: [response], headers: { ETag: 'always' } },
        },
        kinds: ['invalid', 'conflict'],
        async handle({ caller, request, reply, params }) {
          const order = await orders.changeStatus(params.id, read(request.body), caller, ifMatch(request));
          reply.header('etag', etagOf(order.version));
          return uncached(reply, orderView.write(order));
        },
      });
    }
  }
}

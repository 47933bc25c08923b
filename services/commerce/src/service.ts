import { invalidFields } from '@gatehouse/api/http/schema';
import {
  createResourceService,
  type ResourceDependencies,
  type ResourceServiceDefinition,
} from '@gatehouse/api/resource/create-resource-service';
import { mountResource } from '@gatehouse/api/resource/mount-resource';
import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { prefixesOf } from '@gatehouse/core/services';
import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import { runProcess } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { mountCategories } from './category-routes.ts';
import {
  type CommerceConfig,
  DEFAULT_MAX_PENDING_ORDERS,
  DEFAULT_PENDING_ORDER_HOURS,
  readCommerceConfig,
  settings,
} from './config.ts';
import { createOrderExpiry } from './order-expiry.ts';
import { createOrderService } from './order-service.ts';
import { mountOrderStatus } from './order-status-routes.ts';
import { createProductService } from './product-service.ts';
import { createOrderResource, ORDER_PATHS } from './profiles/order-resource.ts';
import {
  createProductResource,
  createSearchResource,
  PRODUCT_PATHS,
  SEARCH_PATHS,
} from './profiles/product-resource.ts';
import { createOrderStore } from './store/order-store.ts';
import { createProductStore } from './store/product-store.ts';
import { createUsersClient } from './users-client.ts';

const DEFINITION: ResourceServiceDefinition = {
  name: 'commerce',
  prefixes: prefixesOf('commerce'),
  paths: [...SEARCH_PATHS, ...PRODUCT_PATHS, ...ORDER_PATHS],
  document: {
    title: 'Gatehouse commerce',
    description: `
Products and orders. Everybody with the scope reads products; editors, admins and trusted applications write them. People see
and place their own orders, and may cancel them until they are processed; staff see and process all.

A price is a number with at most the decimals of its currency (ISO 4217), and is kept exactly.
`.trim(),
    objects: {
      search: 'A search finds the products that have all words of a text, such as while somebody types it.',
      products: 'A product is something for sale, with a price and a stock. Orders take it from the stock.',
      orders:
        'An order is what a person buys: products with their quantities, at the prices of that moment. It goes through states from pending to delivered, or ends by cancellation or refund.',
    },
    errorExamples: {
      invalid: invalidFields([
        { field: 'price', message: 'must be a number of USD from 0, with at most 2 decimals' },
      ]),
      not_found: new ServiceError('not_found', 'There is no such product.'),
      conflict: new ServiceError('conflict', 'This sku is taken.'),
      precondition_failed: new ServiceError(
        'precondition_failed',
        'This product has been changed meanwhile.',
      ),
    },
  },
};

/** The commerce service: products and orders. */
export function createCommerceService(
  config: CommerceConfig,
  logger: Logger,
  dependencies: ResourceDependencies = {},
): Service {
  const { maxPendingOrders = DEFAULT_MAX_PENDING_ORDERS } = config;
  const { pendingOrderHours = DEFAULT_PENDING_ORDER_HOURS } = config;
  return createResourceService(DEFINITION, config, logger, dependencies, (context) => {
    const { connection, events: transport } = context;
    const publisherOf = (name: string) =>
      createOutboxPublisher({
        collection: connection.collection(name),
        logger: context.logger,
        transport,
      });
    const productEvents = publisherOf('products');
    const orderEvents = publisherOf('orders');
    const productStore = createProductStore(connection);
    const orderStore = createOrderStore(connection, { logger: context.logger });
    const products = createProductService(
      productEvents.publishing(productStore, ['insert', 'update', 'remove']),
    );
    const publishedOrders = orderEvents.publishing(orderStore, ['place', 'update']);
    const orders = createOrderService({
      store: publishedOrders,
      findProducts: productStore.findOffers,
      userExists: createUsersClient(context.clientOf('users', config.usersUrl)).exists,
      maxPending: maxPendingOrders,
      refundLimit: config.refundLimit,
    });
    const expiry = createOrderExpiry({
      store: publishedOrders,
      hours: pendingOrderHours,
      logger: context.logger,
    });
    return {
      erase: orderStore.makeAnonymous,
      routes(app, { mountOptions }) {
        mountOrderStatus(app, { orders, authenticate: mountOptions.authenticate });
        mountCategories(app, { products, authenticate: mountOptions.authenticate });
        mountResource(app, createSearchResource(products), mountOptions);
        mountResource(app, createProductResource(products), mountOptions);
        mountResource(app, createOrderResource(orders), mountOptions);
      },
      background: [
        ...[productEvents, orderEvents, orderStore.sweeper, orderStore.keySweeper],
        ...(pendingOrderHours === 0 ? [] : [expiry]),
      ],
    };
  });
}

export const program = {
  name: 'commerce',
  settings,
  readConfig: readCommerceConfig,
  create: createCommerceService,
} as const;

if (import.meta.main) await runProcess(program);

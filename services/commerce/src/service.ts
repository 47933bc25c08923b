import { createOutboxPublisher } from '@gatehouse/events/outbox-publisher';
import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import type { Service } from '@gatehouse/kit/service';
import { prefixesOf } from '@gatehouse/kit/services';
import type { ResourceConfig } from '@gatehouse/resource/config';
import {
  createResourceService,
  type ResourceDependencies,
  type ResourceServiceDefinition,
} from '@gatehouse/resource/create-resource-service';
import { mountResource } from '@gatehouse/resource/mount-resource';
import { mountCategories } from './category-routes.ts';
import { createProductService } from './product-service.ts';
import {
  createProductResource,
  createSearchResource,
  PRODUCT_PATHS,
  SEARCH_PATHS,
} from './profiles/product-resource.ts';
import { createProductStore } from './store/product-store.ts';

const DEFINITION: ResourceServiceDefinition = {
  name: 'commerce',
  prefixes: prefixesOf('commerce'),
  paths: [...SEARCH_PATHS, ...PRODUCT_PATHS],
  document: {
    title: 'Gatehouse commerce',
    description: `
Products. Everybody with the scope reads them; editors, admins and trusted applications write them.

A price is a number with at most the decimals of its currency (ISO 4217), and is kept exactly.

The version of this document is the version of the interface.
`.trim(),
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

/** The commerce service: products. */
export function createCommerceService(
  config: ResourceConfig,
  logger: Logger,
  dependencies: ResourceDependencies = {},
): Service {
  return createResourceService(DEFINITION, config, logger, dependencies, (context) => {
    const { connection, events: transport } = context;
    const publisher = createOutboxPublisher({
      collection: connection.collection('products'),
      logger: context.logger,
      transport,
    });
    const store = createProductStore(connection);
    const products = createProductService(publisher.publishing(store, ['insert', 'update', 'remove']));
    return {
      routes(app, { mountOptions }) {
        mountCategories(app, { products, authenticate: mountOptions.authenticate });
        mountResource(app, createSearchResource(products), mountOptions);
        mountResource(app, createProductResource(products), mountOptions);
      },
      background: [publisher],
    };
  });
}

import { invalidFields } from '@gatehouse/http/schema';
import { ServiceError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/logger';
import { PROFILE_PINS } from '@gatehouse/kit/profile-pins';
import type { Service } from '@gatehouse/kit/service';
import { prefixesOf } from '@gatehouse/kit/services';
import {
  createResourceService,
  type ResourceDependencies,
  type ResourceServiceDefinition,
} from '@gatehouse/resource/create-resource-service';
import { mountResource } from '@gatehouse/resource/mount-resource';
import type { ItemsConfig } from './config.ts';
import { createItemService } from './item-service.ts';
import { createItemStore } from './item-store.ts';
import { createItemResource, ITEM_PATHS } from './profiles/item-resource.ts';

const DEFINITION: ResourceServiceDefinition = {
  name: 'items',
  prefixes: prefixesOf('items'),
  paths: ITEM_PATHS,
  document: {
    title: 'Gatehouse items',
    description: `
Named JSON values. People can read and change their own items; editors, admins and trusted applications all items.
The list is a bare array or, with the parameter \`cursor\`, pages by cursor.
`.trim(),
    errorExamples: {
      invalid: invalidFields([{ field: 'name', message: 'is required' }]),
      not_found: new ServiceError('not_found', 'There is no such item.'),
      precondition_failed: new ServiceError('precondition_failed', 'This item has been changed meanwhile.'),
    },
  },
};

/** The items service: named JSON values with an owner. */
export function createItemsService(
  config: ItemsConfig,
  logger: Logger,
  dependencies: ResourceDependencies = {},
): Service {
  const { defaultProfile = PROFILE_PINS.items[0] } = config;
  return createResourceService(DEFINITION, config, logger, dependencies, ({ connection }) => {
    const store = createItemStore(connection);
    const resource = createItemResource(createItemService(store));
    return {
      erase: store.removeAllOf,
      routes(app, { mountOptions }) {
        mountResource(app, resource, { ...mountOptions, defaults: { items: defaultProfile } });
      },
    };
  });
}

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
import { PROFILE_PINS } from '@gatehouse/domain/profile-pins';
import { runProcess } from '@gatehouse/server/process';
import type { Service } from '@gatehouse/server/service';
import { type ItemsConfig, readItemsConfig, settings } from './config.ts';
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
    objects: {
      items:
        'An item is any JSON value under a name. It belongs to the person who created it, and suits settings and small data of an application.',
    },
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

export const program = {
  name: 'items',
  settings,
  readConfig: readItemsConfig,
  create: createItemsService,
} as const;

if (import.meta.main) await runProcess(program);

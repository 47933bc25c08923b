import { startTestService } from '@gatehouse/testing/test-service';
import type { ItemsConfig } from '../src/config.ts';
import { createItemsService } from '../src/service.ts';

/** All that can be answered, in one: each test knows which of it is there, and asserts it. */
export type Body = {
  id: string;
  name: string;
  value: unknown;
  message: string;
  error: string;
  data: { id: string; name: string; value: unknown }[];
  links: { next?: string; prev?: string };
  meta: { totalItems: number; currentPage: number; hasNextPage: boolean; hasPrevPage: boolean };
};

export const ITEMS = '/api/v1/items';
export const ALL = 'read:data write:data';

/** The items service with a database and an issuer of its own. */
export function build(t: { teardown(fn: () => unknown): void }, config: Partial<ItemsConfig> = {}) {
  return startTestService<Body>(t, 'items', (shared, logger, dependencies) =>
    createItemsService({ ...shared, ...config }, logger, dependencies),
  );
}

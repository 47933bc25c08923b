import type { ResourceDependencies } from '@gatehouse/resource/create-resource-service';
import { startTestService } from '@gatehouse/testing/test-service';
import { createCommerceService } from '../src/service.ts';

export type ProductBody = {
  id: string;
  name: string;
  description: string | null;
  category: string | null;
  price: number;
  currency: string;
  stock: number;
  sku: string | null;
  status: string;
};

/** All that can be answered, in one: each test knows which of it is there, and asserts it. */
export type Body = ProductBody & {
  error: { code: string; message: string; details?: { field: string; message: string }[] };
  data: ProductBody[];
  links: { next?: string; prev?: string };
  meta: { total: number; pages: number; totalItems: number };
  facets: Record<string, { value: string; count: number }[]>;
};

export const PRODUCTS = '/v2/products';
export const ALL = 'read:data write:data';

/** The commerce service with a database and an issuer of its own. */
export function build(
  t: { teardown(fn: () => unknown): void },
  more: Pick<ResourceDependencies, 'events'> = {},
) {
  return startTestService<Body>(t, 'commerce', (config, logger, dependencies) =>
    createCommerceService(config, logger, { ...dependencies, ...more }),
  );
}

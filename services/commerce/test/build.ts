import type { ResourceDependencies } from '@gatehouse/api/resource/create-resource-service';
import { startTestService } from '@gatehouse/testing/test-service';
import { createUsersService } from '@gatehouse/users';
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
  total_amount: number;
  facets: Record<string, { value: string; count: number }[]>;
};

export const PRODUCTS = '/v2/products';
export const ORDERS = '/v2/orders';
export const ALL = 'read:data write:data';

/** Who is a user from the start. */
export const ANN = 'usr_06f2k1c8w0h3v5n7q9t1x3z5b7';

/** The commerce service, and users beside it, with a database and an issuer of their own. */
export async function build(
  t: { teardown(fn: () => unknown): void },
  more: Pick<ResourceDependencies, 'events'> & {
    natsUrl?: string;
    usersUrl?: string;
    maxPendingOrders?: number;
    pendingOrderHours?: number;
    refundLimit?: number;
  } = {},
) {
  const { events, natsUrl, usersUrl, maxPendingOrders = 10_000, pendingOrderHours = 0, refundLimit } = more;
  const service = await startTestService<Body>(t, 'commerce', (config, logger, dependencies) => [
    createUsersService(
      {
        ...config,
        hashConcurrency: 1,
        hashMemoryKiB: 64,
        firstUsers: [{ id: ANN, username: 'ann', password: 'correct horse battery' }],
      },
      logger,
      dependencies,
    ),
    createCommerceService(
      {
        ...config,
        ...{ usersUrl: usersUrl ?? config.ownUrl, maxPendingOrders, pendingOrderHours, refundLimit },
        ...(natsUrl === undefined ? {} : { natsUrl }),
      },
      logger,
      natsUrl === undefined ? { ...dependencies, ...(events === undefined ? {} : { events }) } : {},
    ),
  ]);
  const { call, issuer } = service;
  const machine = await issuer.machine(ALL);
  return {
    ...service,
    machine,
    ann: await issuer.person(ANN, 'user', ALL),
    /** A product of which there is so much; returns its id. */
    async newProduct(stock: number, more: object = {}): Promise<string> {
      const product = { name: 'Green tea', price: 12.5, currency: 'USD', stock, ...more };
      return (await call('POST', PRODUCTS, machine, product)).body.id;
    },
    stockOf: async (id: string) => (await call('GET', `${PRODUCTS}/${id}`, machine)).body.stock,
    order(
      token: string,
      items: readonly [id: string, quantity: number][],
      more: object = {},
      headers: Record<string, string> = {},
    ) {
      const lines = items.map(([product_id, quantity]) => ({ product_id, quantity }));
      return call('POST', ORDERS, token, { items: lines, currency: 'USD', ...more }, headers);
    },
  };
}

import { newId } from '@gatehouse/core/ids';
import { PRODUCT } from '@gatehouse/domain/product-fields';
import { walkProfiles } from '@gatehouse/testing/walk-profiles';
import t from 'tap';
import { ORDER } from '../src/order.ts';
import { ORDER_PATHS } from '../src/profiles/order-resource.ts';
import { PRODUCT_PATHS } from '../src/profiles/product-resource.ts';
import { ANN, build, ORDERS, PRODUCTS } from './build.ts';

const { call, machine: token, newProduct, order } = await build(t);
const read = async (path: string) => (await call('GET', path, token)).body;

walkProfiles(t, {
  ...{ paths: PRODUCT_PATHS, call, token },
  ...{ stored: PRODUCT, internal: ['version'] },
  values: () => ({ currency: 'EUR', sku: newId('sku') }),
  create: () => newProduct(3),
  read: (id) => read(`${PRODUCTS}/${id}`),
});

const bought = await newProduct(1000);
walkProfiles(t, {
  ...{ paths: ORDER_PATHS, call, token },
  ...{ stored: ORDER, internal: ['version'] },
  values: (method) => ({
    ...{ user_id: ANN, currency: 'USD', items: [{ product_id: bought, quantity: 2 }] },
    ...(method === 'PUT' && { status: 'confirmed' }),
  }),
  create: async () => (await order(token, [[bought, 1]], { user_id: ANN })).body.id,
  async read(id) {
    const found = (await read(`${ORDERS}/${id}`)) as unknown as { status_history: { note: string }[] };
    return { ...found, note: found.status_history.at(-1)?.note };
  },
});

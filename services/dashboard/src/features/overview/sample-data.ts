import type { Api } from '../../api/api.ts';

type Made = { id: string };

const PRODUCTS = [
  { name: 'Coffee mug', category: 'Kitchen', price: 12.5, stock: 40, sku: 'SAMPLE-MUG' },
  { name: 'Notebook, A5', category: 'Stationery', price: 6.9, stock: 120, sku: 'SAMPLE-NOTEBOOK' },
  { name: 'Desk lamp', category: 'Office', price: 49, stock: 15, sku: 'SAMPLE-LAMP' },
];
const ITEMS = [
  { name: 'opening-hours', value: { monday: '09:00-17:00', saturday: null } },
  { name: 'max-upload-mb', value: 25 },
];

/** Makes some products and items, and orders of a person, by the public API. */
export async function createSampleData(api: Api, userId: string): Promise<void> {
  const ids: string[] = [];
  for (const product of PRODUCTS) {
    const { id } = await api.send<Made>('POST', '/v2/products', { ...product, currency: 'EUR' });
    ids.push(id);
  }
  for (const item of ITEMS) await api.send('POST', '/api/v1/items', item);
  for (const [i, product_id] of ids.entries()) {
    const items = [{ product_id, quantity: i + 1 }];
    await api.send('POST', '/v2/orders', { user_id: userId, items, currency: 'EUR' });
  }
}

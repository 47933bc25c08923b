import { inputsOf } from '@gatehouse/domain/fields';
import {
  type NewProduct,
  PRODUCT,
  PRODUCT_STATUSES,
  type ProductChanges,
  productProblems,
} from '@gatehouse/domain/product-fields';
import { html } from '@gatehouse/web/html';
import { attempt } from '../../api/attempt.ts';
import { type ApiPage, filters } from '../../api/pages.ts';
import { copyable, facts, money, number, statusTag, time } from '../../pages/parts.ts';
import { type FormRow, fieldsOf, inputFields, type ResourceField } from '../../resources/resource-form.ts';
import type { ListQuery } from '../../resources/resource-list.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/visit.ts';

type Product = Required<NewProduct> & { id: string; created_at: string; updated_at: string };

const { name, category, sku, price, currency, stock, status, description, ...others } = inputFields(PRODUCT, {
  price: { hint: 'With a point, such as 12.50' },
  currency: { maxlength: 3, hint: 'Three letters, such as EUR', initial: 'EUR' },
  status: { options: [['active', 'active: it can be ordered'], 'inactive'] },
  description: { rows: 4, prose: true },
});
const FIELDS: readonly FormRow[] = [
  name,
  [category, sku],
  [price, currency],
  [stock, status],
  ...Object.values<ResourceField>(others),
  description,
];
const INPUTS = inputsOf(PRODUCT);

/** Products: everybody sees them; editors and admins change them. */
export const products = resourcePages<Product>({
  name: 'products',
  noun: ['product', 'products'],
  api: '/v2/products',
  idPrefix: 'prd',
  filters: [
    { name: 'q', label: 'Search', hint: 'Name, category, SKU or description' },
    {
      name: 'category',
      label: 'Category',
      async options(api) {
        const { value } = await attempt(
          api.get<{ data: { name: string | null }[] }>('/v2/products/categories'),
        );
        return (value?.data ?? []).flatMap(({ name }) => (name === null ? [] : [name]));
      },
    },
    { name: 'status', label: 'Status', options: PRODUCT_STATUSES },
  ],
  find: findProducts,
  csv: {
    columns: ['id', ...fieldsOf(FIELDS).map((field) => field.name as keyof Product), 'created_at'],
    find: findProducts,
  },
  search: ({ api }, q) => api.get('/v2/products/search', { q, cursor: '' }),
  columns: [
    { title: 'Name', show: ({ name }) => html`<bdi>${name}</bdi>` },
    { title: 'Category', show: ({ category }) => category ?? '–' },
    { title: 'SKU', show: ({ sku }) => (sku === null ? '–' : html`<code>${sku}</code>`) },
    { title: 'Price', number: true, show: ({ price, currency }) => money(price, currency) },
    { title: 'Stock', number: true, show: ({ stock }) => stock },
    { title: 'Status', show: ({ status }) => statusTag(status) },
  ],
  empty: html`<p><strong>There are no products yet.</strong> Products can be searched and ordered <a href="/docs/guides/products-api">through the API</a>.</p>`,
  title: ({ name }) => name,
  view: ({ value, form, deletion }) => html`<section class="panel">${facts([
    ['Product ID', copyable('product-id', value.id)],
    ['Price', money(value.price, value.currency)],
    ['Stock', number(value.stock)],
    ['Status', statusTag(value.status)],
    ['Created', time(value.created_at)],
    ['Changed', time(value.updated_at)],
  ])}</section>
${
  form
    ? html`<section><h2>Edit product</h2>${form}</section>`
    : html`<section><h2>Description</h2><p>${value.description ?? 'None.'}</p></section>`
}
${deletion}`,
  fields: FIELDS,
  create: { role: 'editor' },
  update: { role: 'editor' },
  imported: {
    role: 'editor',
    fields: FIELDS,
    changes: true,
    readOnly: ['created_at'],
    required: INPUTS.filter(({ input }) => input.initial === undefined).map((it) => it.name),
    unique: INPUTS.filter(({ definition }) => definition.list?.unique).map((it) => it.name),
    together: ['price', 'currency'],
    list: '/v2/products',
    problems: (body, current) => productProblems(body as ProductChanges, current),
  },
  remove: {
    role: 'editor',
    lost: 'The product can no longer be found or ordered. Orders that contain the product do not change.',
  },
});

function findProducts({ api }: Visit, { q, cursor, limit, ...equal }: ListQuery): Promise<ApiPage<Product>> {
  const query = { cursor, limit, ...filters(equal) };
  return q ? api.get('/v2/products/search', { q, ...query }) : api.get('/v2/products', query);
}

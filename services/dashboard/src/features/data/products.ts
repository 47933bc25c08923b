import type { FieldProblem } from '@gatehouse/core/errors';
import { decimalsOf, minorUnits } from '@gatehouse/domain/money';
import { html } from '@gatehouse/web/html';
import { attempt } from '../../api/attempt.ts';
import { type ApiPage, filters } from '../../api/pages.ts';
import { copyable, facts, money, number, statusTag, time } from '../../pages/parts.ts';
import type { FormRow } from '../../resources/resource-form.ts';
import type { ListQuery } from '../../resources/resource-list.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import type { Visit } from '../../routes/dashboard-router.ts';

type Product = {
  id: string;
  name: string;
  description: string | null;
  category: string | null;
  price: number;
  currency: string;
  stock: number;
  sku: string | null;
  status: string;
  created_at: string;
  updated_at: string;
};

const STATUSES = [['active', 'active: it can be ordered'], 'inactive'] as const;
const PRICE_HINT = 'With a point, such as 12.50';
const MAX_STOCK = 1_000_000_000;
const CURRENCY_HINT = 'Three letters, such as EUR';

const FIELDS: readonly FormRow[] = [
  { name: 'name', label: 'Name', required: true, maxlength: 200 },
  [
    { name: 'price', label: 'Price', required: true, kind: 'decimal', hint: PRICE_HINT },
    {
      name: 'currency',
      label: 'Currency',
      required: true,
      maxlength: 3,
      hint: CURRENCY_HINT,
      initial: 'EUR',
    },
  ],
  [
    { name: 'stock', label: 'Stock', required: true, kind: 'integer', initial: '0' },
    { name: 'status', label: 'Status', required: true, options: STATUSES, initial: 'active' },
  ],
  [
    { name: 'category', label: 'Category', maxlength: 100 },
    { name: 'sku', label: 'SKU', maxlength: 64 },
  ],
  { name: 'description', label: 'Description', maxlength: 4096, rows: 4, prose: true },
];

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
    { name: 'status', label: 'Status', options: ['active', 'inactive'] },
  ],
  find: findProducts,
  csv: {
    columns: [
      'id',
      'name',
      'category',
      'sku',
      'price',
      'currency',
      'stock',
      'status',
      'description',
      'created_at',
    ],
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
  create: { role: 'editor', invitation: 'Create a product' },
  update: { role: 'editor' },
  imported: {
    role: 'editor',
    fields: FIELDS,
    changes: true,
    readOnly: ['created_at'],
    required: ['name', 'price', 'currency'],
    unique: ['sku'],
    together: ['price', 'currency'],
    list: '/v2/products',
    problems: importProblems,
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

/** The problems of a price, which depend on its currency, and of a stock. */
function importProblems(
  body: Readonly<Record<string, unknown>>,
  current: Product | undefined,
): FieldProblem[] {
  const { price, stock } = body;
  const currency = String(body.currency ?? current?.currency);
  const decimals = decimalsOf(currency);
  if (decimals === undefined) {
    return [{ field: 'currency', message: 'must be the ISO 4217 code of a currency, such as USD' }];
  }
  const problems: FieldProblem[] = [];
  if (typeof price === 'number' && minorUnits(price, currency) === undefined) {
    const most = decimals === 0 ? 'without decimals' : `with at most ${decimals} decimals`;
    problems.push({ field: 'price', message: `must be a number of ${currency} from 0, ${most}` });
  } else if (current !== undefined && 'currency' in body && price === undefined) {
    problems.push({ field: 'price', message: 'is required with another currency' });
  }
  if (typeof stock === 'number' && (stock < 0 || stock > MAX_STOCK)) {
    problems.push({ field: 'stock', message: `must be from 0 to ${number(MAX_STOCK)}` });
  }
  return problems;
}

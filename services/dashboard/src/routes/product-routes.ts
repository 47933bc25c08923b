import { form, type PageForm } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import { changes, type RefusedForm, shownFields } from '../http/changes.ts';
import type { Fields } from '../http/forms.ts';
import { deletionQuestion, deletionSection } from '../pages/deletion.ts';
import { errorOf, formProblem, selectField, textArea, textField } from '../pages/fields.ts';
import { list } from '../pages/list.ts';
import { copyable, entryOf, facts, money, number, statusTag, time } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import { addConfirmed } from './confirmed.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

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
const FIELDS = ['name', 'price', 'currency', 'stock', 'category', 'sku', 'status', 'description'] as const;
type Values = Record<(typeof FIELDS)[number], string>;

const PATH = '/dashboard/products';
const API = '/v2/products';
const TRAIL = [{ href: PATH, title: 'Products' }];
const LOST = 'The product can no longer be found or ordered. Orders that contain the product do not change.';
const NOTICES: Record<string, string> = {
  saved: 'The product is saved.',
  created: 'The product is created.',
  deleted: 'The product is deleted.',
};
const EMPTY: Values = {
  ...{ name: '', price: '', currency: 'EUR', stock: '0', category: '', sku: '', status: 'active' },
  description: '',
};

/** Products: everybody sees them; editors and admins change them. */
export function addProductRoutes(router: DashboardRouter): void {
  const { get, post } = router;

  get('/products', async ({ api, query, person }) => {
    const values = { q: query('q'), category: query('category'), status: query('status') };
    const { q, category, status } = values;
    const cursor = query('cursor');
    const narrowed = { cursor, ...filters({ category, status }) };
    const found =
      q === ''
        ? api.get<ApiPage<Product>>(API, narrowed)
        : api.get<ApiPage<Product>>(`${API}/search`, { q, ...narrowed });
    const [outcome, categories] = await Promise.all([
      attempt(found),
      attempt(api.get<{ data: { name: string | null }[] }>(`${API}/categories`)),
    ]);
    const names = (categories.value?.data ?? []).flatMap(({ name }) => (name === null ? [] : [name]));
    return {
      title: 'Products',
      section: 'products',
      notice: entryOf(NOTICES, query('done')),
      actions: person.role !== 'user' && html`<a class="primary" href="${PATH}/new">New product</a>`,
      body: list({
        path: PATH,
        noun: ['product', 'products'],
        search: [
          { kind: 'text', name: 'q', label: 'Search', hint: 'Name, category, SKU or description' },
          {
            kind: 'choice',
            name: 'category',
            label: 'Category',
            options: names.map((name) => [name, name] as const),
          },
          {
            kind: 'choice',
            name: 'status',
            label: 'Status',
            options: [
              ['active', 'active'],
              ['inactive', 'inactive'],
            ],
          },
        ],
        values,
        cursor,
        outcome,
        columns: [
          {
            title: 'Name',
            show: ({ id, name }) => html`<a href="${PATH}/${encodeURIComponent(id)}"><bdi>${name}</bdi></a>`,
          },
          { title: 'Category', show: ({ category: name }) => name ?? '–' },
          { title: 'SKU', show: ({ sku }) => (sku === null ? '–' : html`<code>${sku}</code>`) },
          { title: 'Price', number: true, show: ({ price, currency }) => money(price, currency) },
          { title: 'Stock', number: true, show: ({ stock }) => stock },
          { title: 'Status', show: ({ status: it }) => statusTag(it) },
        ],
        empty: html`<p><strong>There are no products yet.</strong> Products can be searched and ordered <a href="/docs/guides/products-api">through the API</a>.</p>${person.role !== 'user' && html`<p><a class="button primary" href="${PATH}/new">Create a product</a></p>`}`,
      }),
    };
  });

  get('/products/new', ({ csrf }) => newProduct(csrf, EMPTY));

  post('/products/new', async ({ api, csrf }, fields) => {
    try {
      const { id } = await api.send<Product>('POST', API, bodyOf(fields));
      return `${PATH}/${encodeURIComponent(id)}?done=created`;
    } catch (error) {
      return newProduct(csrf, valuesOf(fields), errorOf(error));
    }
  });

  get('/products/:id', async (visit) =>
    view(visit, await read(visit), { notice: entryOf(NOTICES, visit.query('done')) }),
  );

  post('/products/:id', async (visit, fields) => {
    const { value: product, etag } = await visit.api.read<Product>(apiPath(visit));
    try {
      const changed = changes(fields, bodyOf(fields), product);
      if (Object.keys(changed).length > 0) await visit.api.send('PUT', apiPath(visit), changed, etag);
      return `${PATH}/${encodeURIComponent(product.id)}?done=saved`;
    } catch (error) {
      return view(visit, product, { refused: { fields, error: errorOf(error) } });
    }
  });

  addConfirmed(router, '/products/:id/delete', async (visit) => {
    const { id, name } = await read(visit);
    const path = `${PATH}/${encodeURIComponent(id)}`;
    return {
      ...deletionQuestion({ path, what: 'product', name, lost: LOST, section: 'products', trail: TRAIL }),
      async act() {
        await visit.api.send('DELETE', apiPath(visit));
        return `${PATH}?done=deleted`;
      },
    };
  });

  const apiPath = ({ id }: Visit) => `${API}/${id('prd')}`;
  const read = (visit: Visit) => visit.api.get<Product>(apiPath(visit));
}

function valuesOf(fields: Fields): Values {
  return Object.fromEntries(FIELDS.map((name) => [name, fields.text(name)])) as Values;
}

/** The fields as the API takes them: numbers where it wants them, and null for what is empty. */
function bodyOf(fields: Fields): Record<string, unknown> {
  const { price, stock, description, category, sku, ...texts } = valuesOf(fields);
  const number = (text: string) => (/^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text);
  return {
    ...texts,
    price: number(price),
    stock: number(stock),
    description: description || null,
    category: category || null,
    sku: sku || null,
  };
}

function productForm(target: PageForm, values: Values, submit: string, error: ApiError | undefined): Html {
  const problems = error?.details ?? [];
  return html`${formProblem(error, FIELDS)}
${form(
  target,
  html`${textField({ name: 'name', label: 'Name', value: values.name, required: true, maxlength: 200, problems })}
<div class="pair">${textField({ name: 'price', label: 'Price', value: values.price, required: true, inputmode: 'decimal', hint: 'With a point, such as 12.50', problems })}
${textField({ name: 'currency', label: 'Currency', value: values.currency, required: true, maxlength: 3, hint: 'Three letters, such as EUR', problems })}</div>
<div class="pair">${textField({ name: 'stock', label: 'Stock', value: values.stock, required: true, inputmode: 'numeric', problems })}
${selectField({
  name: 'status',
  label: 'Status',
  required: true,
  value: values.status,
  options: [
    ['active', 'active: it can be ordered'],
    ['inactive', 'inactive'],
  ],
  problems,
})}</div>
<div class="pair">${textField({ name: 'category', label: 'Category', value: values.category, maxlength: 100, problems })}
${textField({ name: 'sku', label: 'SKU', value: values.sku, maxlength: 64, problems })}</div>
${textArea({ name: 'description', label: 'Description', value: values.description, prose: true, problems })}
<div class="buttons"><button class="primary">${submit}</button></div>`,
  { class: 'wide-form' },
)}`;
}

function newProduct(csrf: string, values: Values, error?: ApiError): View {
  return {
    title: 'New product',
    section: 'products',
    trail: TRAIL,
    failed: error !== undefined,
    body: productForm({ action: `${PATH}/new`, csrf }, values, 'Create product', error),
  };
}

function view(
  { csrf, person }: Visit,
  product: Product,
  shown: { refused?: RefusedForm; notice?: string | undefined },
): View {
  const path = `${PATH}/${encodeURIComponent(product.id)}`;
  const { refused } = shown;
  const current = Object.fromEntries(FIELDS.map((name) => [name, product[name]]));
  const values =
    refused === undefined
      ? (Object.fromEntries(FIELDS.map((name) => [name, String(product[name] ?? '')])) as Values)
      : valuesOf(refused.fields);
  const target = { action: path, csrf, hidden: shownFields(current, refused) };
  return {
    title: product.name,
    section: 'products',
    trail: TRAIL,
    notice: shown.notice,
    failed: refused !== undefined,
    body: html`<section class="panel">${facts([
      ['Product ID', copyable('product-id', product.id)],
      ['Price', money(product.price, product.currency)],
      ['Stock', number(product.stock)],
      ['Status', statusTag(product.status)],
      ['Created', time(product.created_at)],
      ['Changed', time(product.updated_at)],
    ])}</section>
${
  person.role === 'user'
    ? html`<section><h2>Description</h2><p>${product.description ?? 'None.'}</p></section>`
    : html`<section><h2>Edit product</h2>${productForm(target, values, 'Save', refused?.error)}</section>
${deletionSection({ path, what: 'product', lost: LOST })}`
}`,
  };
}

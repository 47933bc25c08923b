import { form } from '@gatehouse/ui/form';
import { html } from '@gatehouse/ui/html';
import { attempt } from '../api/attempt.ts';
import { type Names, namesOfProducts, namesOfUsers } from '../api/names.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import { changes, type RefusedForm, shownFields } from '../http/changes.ts';
import { formProblem, refusalOf, selectField, textField } from '../pages/fields.ts';
import { list, table } from '../pages/list.ts';
import { copyable, facts, money, statusTag, time, userLink } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

type Line = { product_id: string; quantity: number; unit_price: number; line_total: number };
type Order = {
  id: string;
  user_id: string;
  status: string;
  currency: string;
  total_amount: number;
  created_at: string;
  updated_at: string;
  items: Line[];
  status_history: { status: string; at: string; note: string | null }[];
};

const PATH = '/dashboard/orders';
const API = '/v2/orders';
/** What can become of an order (docs/guides/products-api.md). */
const NEXT: Record<string, readonly string[]> = {
  pending: ['confirmed', 'cancelled'],
  confirmed: ['processing', 'cancelled'],
  processing: ['shipped', 'cancelled'],
  shipped: ['delivered'],
  delivered: ['refunded'],
};
const STATUSES = ['pending', 'confirmed', 'processing', 'shipped', 'delivered', 'cancelled', 'refunded'];

/** Orders: people see their own; editors and admins all, and change what becomes of them. */
export function addOrderRoutes({ get, post }: DashboardRouter): void {
  get('/orders', async ({ api, query, person }) => {
    const values = { q: query('q'), status: query('status'), from: query('from') };
    const cursor = query('cursor');
    const { q, status, from } = values;
    const isUser = q.startsWith('usr_');
    const search = {
      cursor,
      ...filters({ status, [isUser ? 'user_id' : 'id']: q, 'created_at][gte': from }),
      ...(q === '' && from === '' ? { sort: 'created_at', order: 'desc' } : {}),
    };
    const outcome = await attempt(api.get<ApiPage<Order>>(API, search));
    const customers = (outcome.value?.data ?? []).map(({ user_id: id }) => id);
    const users: Names = person.role === 'user' ? new Map() : await namesOfUsers(api, customers);
    return {
      title: 'Orders',
      section: 'orders',
      body: list({
        path: PATH,
        noun: ['order', 'orders'],
        search: [
          { kind: 'text', name: 'q', label: person.role === 'user' ? 'Order id' : 'Order id or customer id' },
          {
            kind: 'choice',
            name: 'status',
            label: 'Status',
            options: STATUSES.map((name) => [name, name] as const),
          },
          { kind: 'day', name: 'from', label: 'Placed since' },
        ],
        values,
        cursor,
        outcome,
        columns: [
          {
            title: 'Order',
            show: ({ id }) => html`<a href="${PATH}/${encodeURIComponent(id)}"><code>${id}</code></a>`,
          },
          { title: 'Status', show: ({ status: it }) => statusTag(it) },
          ...(person.role === 'user'
            ? []
            : [{ title: 'Customer', show: ({ user_id: id }: Order) => userLink(id, users) }]),
          {
            title: 'Pieces',
            number: true,
            show: ({ items }) => items.reduce((sum, it) => sum + it.quantity, 0),
          },
          { title: 'Total', number: true, show: (it) => money(it.total_amount, it.currency) },
          { title: 'Placed', show: ({ created_at: at }) => time(at) },
        ],
        empty: html`<p><strong>There are no orders yet.</strong> Orders are placed through the API: <code>POST /v2/orders</code>. <a href="/docs/guides/products-api">How to place an order</a></p>`,
      }),
    };
  });

  get('/orders/:id', async (visit) => {
    const notice = visit.query('done') === 'changed' ? 'The status is changed.' : undefined;
    return view(visit, await visit.api.get<Order>(apiPath(visit)), { notice });
  });

  post('/orders/:id/status', async (visit, fields) => {
    const { value: order, etag } = await visit.api.read<Order>(apiPath(visit));
    const note = fields.text('note');
    try {
      const { status = order.status } = changes(fields, { status: fields.text('status') }, order);
      const body = { status, ...(note === '' ? {} : { note }) };
      await visit.api.send('PATCH', `${apiPath(visit)}/status`, body, etag);
      return `${PATH}/${encodeURIComponent(order.id)}?done=changed`;
    } catch (error) {
      return view(visit, order, { refused: { fields, error: refusalOf(error) } });
    }
  });

  const apiPath = ({ id }: Visit) => `${API}/${id('ord')}`;
}

async function view(
  { api, csrf, person }: Visit,
  order: Order,
  shown: { notice?: string | undefined; refused?: RefusedForm },
): Promise<View> {
  const { refused } = shown;
  const { error, fields } = refused ?? {};
  const hidden = shownFields({ status: order.status }, refused);
  const mayChange = person.role !== 'user';
  const [products, users]: [Names, Names] = await Promise.all([
    namesOfProducts(
      api,
      order.items.map(({ product_id: id }) => id),
    ),
    mayChange ? namesOfUsers(api, [order.user_id]) : new Map(),
  ]);
  const next = (NEXT[order.status] ?? []).filter((status) => mayChange || status === 'cancelled');
  const sum = (amount: number) => money(amount, order.currency);
  return {
    title: `Order of ${new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(order.created_at))}`,
    section: 'orders',
    trail: [{ href: PATH, title: 'Orders' }],
    notice: shown.notice,
    failed: error !== undefined,
    body: html`<section class="panel">${facts([
      ['Order ID', copyable('order-id', order.id)],
      ['Customer', mayChange ? userLink(order.user_id, users) : 'you'],
      ['Status', statusTag(order.status)],
      ['Total', sum(order.total_amount)],
      ['Placed', time(order.created_at)],
    ])}</section>
<section><h2>What was ordered</h2>${table<Line>(
      [
        {
          title: 'Product',
          show: ({ product_id: id }) =>
            html`<a href="/dashboard/products/${encodeURIComponent(id)}">${products.get(id) ?? html`<code>${id}</code>`}</a>`,
        },
        { title: 'Price of one', number: true, show: ({ unit_price: price }) => sum(price) },
        { title: 'Quantity', number: true, show: ({ quantity }) => quantity },
        { title: 'Together', number: true, show: ({ line_total: total }) => sum(total) },
      ],
      order.items,
    )}</section>
${
  next.length > 0 &&
  html`<section class="panel"><h2>Change the status</h2>${formProblem(error, ['status', 'note'])}${form(
    { action: `${PATH}/${encodeURIComponent(order.id)}/status`, csrf, hidden },
    html`${selectField({ name: 'status', label: 'It becomes', required: true, value: fields?.text('status') ?? '', options: next.map((status) => [status, status] as const) })}
${textField({ name: 'note', label: 'Note', value: fields?.text('note') ?? '', hint: 'It is kept in the history.' })}
<div class="buttons"><button class="primary">Change the status</button></div>`,
    { class: 'wide-form' },
  )}</section>`
}
<section><h2>History</h2>${table(
      [
        { title: 'Status', show: ({ status }) => statusTag(status) },
        { title: 'At', show: ({ at }) => time(at) },
        { title: 'Note', show: ({ note }) => note ?? '–' },
      ],
      order.status_history,
    )}</section>`,
  };
}

import { form } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import { attempt } from '../api/attempt.ts';
import { userIdOf } from '../api/lookups.ts';
import { type Names, namesOfProducts, namesOfUsers } from '../api/names.ts';
import { type ApiPage, beginsWith, filters } from '../api/pages.ts';
import { changes, type RefusedForm, shownFields } from '../http/changes.ts';
import { errorOf, formProblem, textField } from '../pages/fields.ts';
import { list, table } from '../pages/list.ts';
import {
  copyable,
  entryOf,
  exactTime,
  facts,
  money,
  number,
  statusTag,
  time,
  userLink,
} from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import { addConfirmed } from './confirmed.ts';
import { type DashboardRouter, notFound, type Visit } from './dashboard-router.ts';

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
const TRAIL = [{ href: PATH, title: 'Orders' }];
const NOTE = { name: 'note', label: 'Note', hint: 'The note is kept in the history of the order.' };
/** The step that follows each status (docs/guides/products-api.md), and its button. */
const NEXT: Record<string, { status: string; button: string }> = {
  pending: { status: 'confirmed', button: 'Confirm order' },
  confirmed: { status: 'processing', button: 'Start processing' },
  processing: { status: 'shipped', button: 'Mark as shipped' },
  shipped: { status: 'delivered', button: 'Mark as delivered' },
};
/** How an order ends early, from which statuses, and from which of them its customer may end it. */
const ENDS = {
  cancel: {
    ...{ button: 'Cancel order', question: 'Cancel this order?' },
    ...{
      status: 'cancelled',
      from: ['pending', 'confirmed', 'processing'],
      customer: ['pending', 'confirmed'],
    },
    consequence: 'is not delivered, and the stock of its products is returned.',
  },
  refund: {
    ...{ button: 'Refund order', question: 'Refund this order?' },
    ...{ status: 'refunded', from: ['delivered'], customer: [] },
    consequence:
      'is marked as refunded. Gatehouse transfers no money: refund the payment through your payment provider.',
  },
} as const;
type End = keyof typeof ENDS;
const NOTICES: Record<string, string> = {
  changed: 'The status of the order is changed.',
  cancelled: 'The order is cancelled.',
  refunded: 'The order is refunded.',
};
const STATUSES = ['pending', 'confirmed', 'processing', 'shipped', 'delivered', 'cancelled', 'refunded'];

/** Orders: people see their own; editors and admins all, and change what becomes of them. */
export function addOrderRoutes(router: DashboardRouter): void {
  const { get, post } = router;

  get('/orders', async ({ api, query, person }) => {
    const values = { q: query('q'), status: query('status'), from: query('from') };
    const cursor = query('cursor');
    const { q, status, from } = values;
    const isOrder = q.startsWith('ord_');
    const outcome = await attempt(
      (isOrder ? Promise.resolve('') : userIdOf(api, q)).then((user_id) =>
        api.get<ApiPage<Order>>(API, {
          cursor,
          ...filters({ status, user_id, 'created_at][gte': from }),
          ...(isOrder ? beginsWith('id', q) : {}),
          ...(isOrder || from !== '' ? {} : { sort: 'created_at', order: 'desc' }),
        }),
      ),
    );
    const customers = (outcome.value?.data ?? []).map(({ user_id: id }) => id);
    const users: Names = person.role === 'user' ? new Map() : await namesOfUsers(api, customers);
    return {
      title: 'Orders',
      section: 'orders',
      body: list({
        path: PATH,
        noun: ['order', 'orders'],
        search: [
          { kind: 'text', name: 'q', label: person.role === 'user' ? 'Order ID' : 'Order ID or customer' },
          {
            kind: 'choice',
            name: 'status',
            label: 'Status',
            options: STATUSES.map((name) => [name, name] as const),
          },
          { kind: 'day', name: 'from', label: 'Placed since (UTC)' },
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
            title: 'Items',
            number: true,
            show: ({ items }) => number(items.reduce((sum, it) => sum + it.quantity, 0)),
          },
          { title: 'Total', number: true, show: (it) => money(it.total_amount, it.currency) },
          { title: 'Placed', show: ({ created_at: at }) => time(at) },
        ],
        empty: html`<p><strong>There are no orders yet.</strong> Orders are placed through the API: <code>POST /v2/orders</code>. <a href="/docs/guides/products-api">How to place an order</a></p>`,
      }),
    };
  });

  get('/orders/:id', async (visit) => {
    const order = await visit.api.get<Order>(apiPath(visit));
    return view(visit, order, { notice: entryOf(NOTICES, visit.query('done')) });
  });

  post('/orders/:id/status', async (visit, fields) => {
    const { value: order, etag } = await visit.api.read<Order>(apiPath(visit));
    const note = fields.text('note');
    try {
      const sent = fields.text('status');
      if (!Object.values(NEXT).some(({ status }) => status === sent)) throw notFound();
      changes(fields, { status: sent }, order);
      await changeStatus(visit, { status: sent, note }, etag);
      return `${pathOf(order)}?done=changed`;
    } catch (error) {
      return view(visit, order, { refused: { fields, error: errorOf(error) } });
    }
  });

  for (const end of Object.keys(ENDS) as End[]) {
    addConfirmed(router, `/orders/:id/${end}`, async (visit, sent) => {
      const { value: order, etag } = await visit.api.read<Order>(apiPath(visit));
      const { status, button, question, consequence } = ENDS[end];
      return {
        ...{
          section: 'orders',
          back: pathOf(order),
          submit: button,
          names: ['status', 'note'],
        },
        trail: [...TRAIL, { href: pathOf(order), title: titleOf(order) }],
        title: question,
        lost: html`<p>The order of ${time(order.created_at)} for <strong>${money(order.total_amount, order.currency)}</strong> ${consequence} This cannot be undone.</p>`,
        fields: textField({ ...NOTE, value: sent?.fields.text('note') ?? '' }),
        hidden: shownFields({ status: order.status }, sent),
        async act(fields) {
          changes(fields, { status }, order);
          await changeStatus(visit, { status, note: fields.text('note') }, etag);
          return `${pathOf(order)}?done=${status}`;
        },
      };
    });
  }

  const changeStatus = (
    visit: Visit,
    { status, note }: Record<'status' | 'note', string>,
    etag: string | null,
  ) =>
    visit.api.send('PATCH', `${apiPath(visit)}/status`, { status, ...(note === '' ? {} : { note }) }, etag);

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
  const next = mayChange ? NEXT[order.status] : undefined;
  const ends = (Object.keys(ENDS) as End[]).filter((end) =>
    (ENDS[end][mayChange ? 'from' : 'customer'] as readonly string[]).includes(order.status),
  );
  const sum = (amount: number) => money(amount, order.currency);
  return {
    title: titleOf(order),
    section: 'orders',
    trail: TRAIL,
    notice: shown.notice,
    failed: error !== undefined,
    body: html`<section class="panel">${facts([
      ['Order ID', copyable('order-id', order.id)],
      ['Customer', mayChange ? userLink(order.user_id, users) : 'you'],
      ['Status', statusTag(order.status)],
      ['Total', sum(order.total_amount)],
      ['Placed', time(order.created_at)],
    ])}</section>
<section><h2>Items</h2>${table<Line>(
      [
        {
          title: 'Product',
          show: ({ product_id: id }) =>
            html`<a href="/dashboard/products/${encodeURIComponent(id)}">${products.get(id) ?? html`<code>${id}</code>`}</a>`,
        },
        { title: 'Unit price', number: true, show: ({ unit_price: price }) => sum(price) },
        { title: 'Quantity', number: true, show: ({ quantity }) => number(quantity) },
        { title: 'Total', number: true, show: ({ line_total: total }) => sum(total) },
      ],
      order.items,
    )}</section>
${
  (next !== undefined || ends.length > 0) &&
  html`<section class="panel"><h2>Status</h2>${formProblem(error, ['status', 'note'])}${
    next !== undefined &&
    form(
      { action: `${pathOf(order)}/status`, csrf, hidden: { ...hidden, status: next.status } },
      html`${textField({ ...NOTE, value: fields?.text('note') ?? '' })}
<div class="buttons"><button class="primary">${next.button}</button></div>`,
      { class: 'wide-form' },
    )
  }
${ends.map((end) => html`<p><a class="button danger" href="${`${pathOf(order)}/${end}`}">${ENDS[end].button}</a></p>`)}</section>`
}
<section><h2>History</h2>${table(
      [
        { title: 'Status', show: ({ status }) => statusTag(status) },
        { title: 'Time', show: ({ at }) => exactTime(at) },
        { title: 'Note', show: ({ note }) => note ?? '–' },
      ],
      order.status_history,
    )}</section>`,
  };
}

const pathOf = ({ id }: Order) => `${PATH}/${encodeURIComponent(id)}`;

const titleOf = ({ id }: Order) => `Order …${id.slice(-8)}`;

import {
  isCancellableByCustomer,
  ORDER_STATUSES,
  ORDER_TRANSITIONS,
  type OrderStatus,
} from '@gatehouse/domain/order-status';
import { form } from '@gatehouse/web/form';
import { type Html, html } from '@gatehouse/web/html';
import { instantOf } from '../../api/instants.ts';
import { userIdOf } from '../../api/lookups.ts';
import { namesOfProducts } from '../../api/names.ts';
import { beginsWith, filters } from '../../api/pages.ts';
import { changes, shownFields } from '../../http/changes.ts';
import { formField, formProblem } from '../../pages/fields.ts';
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
} from '../../pages/parts.ts';
import { table } from '../../pages/table.ts';
import type { SentForm } from '../../resources/confirmed.ts';
import type { ResourceQuestion, ResourceView, Target } from '../../resources/resource.ts';
import { resourcePages } from '../../resources/resource-pages.ts';
import { notFound } from '../../routes/visit.ts';
import { hasRole } from '../../sessions/session.ts';

type Order = {
  id: string;
  user_id: string;
  status: OrderStatus;
  currency: string;
  total_amount: number;
  created_at: string;
  updated_at: string;
  items: { product_id: string; quantity: number; unit_price: number; line_total: number }[];
  status_history: { status: string; at: string; note: string | null }[];
};

const API = '/v2/orders';
const NOTE = { name: 'note', label: 'Note', hint: 'The note is kept in the history of the order.' };
/** The buttons of the steps of an order (docs/guides/products-api.md), by the status that each leads to. */
const STEPS: Readonly<Record<string, string>> = {
  confirmed: 'Confirm order',
  processing: 'Start processing',
  shipped: 'Mark as shipped',
  delivered: 'Mark as delivered',
};
type FinalChange = {
  status: OrderStatus;
  button: string;
  question: string;
  consequence: string;
};
/** The changes of status that end an order early. */
const FINAL_CHANGES: Record<'cancel' | 'refund', FinalChange> = {
  cancel: {
    status: 'cancelled',
    button: 'Cancel order',
    question: 'Cancel this order?',
    consequence: 'is not delivered, and the stock of its products is returned.',
  },
  refund: {
    status: 'refunded',
    button: 'Refund order',
    question: 'Refund this order?',
    consequence:
      'is marked as refunded. Gatehouse transfers no money: refund the payment through your payment provider.',
  },
};

/** Orders: people see their own; editors and admins all, and change their statuses. */
export const orders = resourcePages<Order>({
  name: 'orders',
  noun: ['order', 'orders'],
  api: API,
  idPrefix: 'ord',
  people: ({ user_id: id }) => [id],
  notices: {
    changed: 'The status of the order is changed.',
    cancelled: 'The order is cancelled.',
    refunded: 'The order is refunded.',
  },
  filters: [
    { name: 'q', label: ({ role }) => (role === 'user' ? 'Order ID' : 'Order ID or customer') },
    { name: 'status', label: 'Status', options: ORDER_STATUSES },
    { name: 'from', label: 'Placed since', type: 'date' },
  ],
  async find({ api }, { q = '', status, from = '', cursor }) {
    const isOrder = q.startsWith('ord_');
    const user_id = isOrder ? '' : await userIdOf(api, q);
    return api.get(API, {
      cursor,
      ...filters({ status, user_id, 'created_at][gte': instantOf(from) }),
      ...(isOrder && beginsWith('id', q)),
      ...(!isOrder && !from && { sort: 'created_at', order: 'desc' }),
    });
  },
  columns: [
    { title: 'Order', show: ({ id }) => html`<code>${id}</code>` },
    { title: 'Status', show: ({ status }) => statusTag(status) },
    { title: 'Customer', role: 'editor', show: ({ user_id: id }, people) => userLink(id, people) },
    {
      title: 'Items',
      number: true,
      show: ({ items }) => number(items.reduce((sum, { quantity }) => sum + quantity, 0)),
    },
    { title: 'Total', number: true, show: (it) => money(it.total_amount, it.currency) },
    { title: 'Placed', show: ({ created_at: at }) => time(at) },
  ],
  empty: html`<p><strong>There are no orders yet.</strong> Orders are placed through the API: <code>POST /v2/orders</code>. <a href="/docs/guides/products-api">How to place an order</a></p>`,
  title: ({ id }) => `Order …${id.slice(-8)}`,
  view,
  actions: {
    async status(target, fields) {
      const status = fields.text('status');
      if (!Object.hasOwn(STEPS, status)) throw notFound();
      changes(fields, { status }, target.value);
      await changeStatus(target, status, fields.text('note'));
      return `${target.path}?done=changed`;
    },
  },
  confirmed: { cancel: confirmationOf(FINAL_CHANGES.cancel), refund: confirmationOf(FINAL_CHANGES.refund) },
});

function changeStatus({ visit, apiPath, etag }: Target<Order>, status: string, note: string) {
  return visit.api.send('PATCH', `${apiPath}/status`, { status, ...(note !== '' && { note }) }, etag);
}

/** The confirmation that is asked for before an order ends early. */
function confirmationOf({ status, button, question, consequence }: FinalChange) {
  return (target: Target<Order>, sent?: SentForm): ResourceQuestion => {
    const { value: order, path } = target;
    return {
      title: question,
      lost: html`<p>The order of ${time(order.created_at)} for <strong>${money(order.total_amount, order.currency)}</strong> ${consequence} This cannot be undone.</p>`,
      rows: [NOTE],
      hidden: shownFields({ status: order.status }, sent),
      submit: button,
      async act(fields) {
        changes(fields, { status }, order);
        await changeStatus(target, status, fields.text('note'));
        return `${path}?done=${status}`;
      },
    };
  };
}

async function view({ value: order, visit, people, path, refused }: ResourceView<Order>): Promise<Html> {
  const mayChange = hasRole(visit.person, 'editor');
  const products = await namesOfProducts(
    visit.api,
    order.items.map(({ product_id: id }) => id),
  );
  const sum = (amount: number) => money(amount, order.currency);
  return html`<section class="panel">${facts([
    ['Order ID', copyable('order-id', order.id)],
    ['Customer', mayChange ? userLink(order.user_id, people) : 'you'],
    ['Status', statusTag(order.status)],
    ['Total', sum(order.total_amount)],
    ['Placed', time(order.created_at)],
  ])}</section>
<section><h2>Items</h2>${table(
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
${statusSection(order, { visit, path, mayChange, refused })}
<section><h2>History</h2>${table(
    [
      { title: 'Status', show: ({ status }) => statusTag(status) },
      { title: 'Time', show: ({ at }) => exactTime(at) },
      { title: 'Note', show: ({ note }) => note ?? '–' },
    ],
    order.status_history,
  )}</section>`;
}

/** The next step of an order, and the ways to end it early. */
function statusSection(
  { status }: Order,
  {
    visit: { csrf },
    path,
    mayChange,
    refused,
  }: Pick<ResourceView<Order>, 'visit' | 'path' | 'refused'> & { mayChange: boolean },
): Html | false {
  const following = entryOf(ORDER_TRANSITIONS, status) ?? [];
  const next = mayChange ? following.find((it) => Object.hasOwn(STEPS, it)) : undefined;
  const finalChanges = Object.entries(FINAL_CHANGES).filter(
    ([, { status: end }]) =>
      following.includes(end) && (mayChange || (end === 'cancelled' && isCancellableByCustomer({ status }))),
  );
  if (next === undefined && finalChanges.length === 0) return false;
  const hidden = { ...shownFields({ status }, refused), status: next ?? '' };
  return html`<section class="panel"><h2>Status</h2>${formProblem(refused?.error, [NOTE])}${
    next !== undefined &&
    form(
      { action: `${path}/status`, csrf, hidden },
      html`${formField(NOTE, refused?.fields.text('note') ?? '')}
<div class="buttons"><button class="primary">${STEPS[next]}</button></div>`,
      { class: 'wide-form' },
    )
  }
${finalChanges.map(([name, { button }]) => html`<p><a class="button danger" href="${path}/${name}">${button}</a></p>`)}</section>`;
}

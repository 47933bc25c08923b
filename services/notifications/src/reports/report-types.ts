import type { FieldProblem } from '@gatehouse/core/errors';
import { NOTIFICATION_STATUSES, NOTIFICATION_TYPES } from '@gatehouse/domain/notification-fields';
import { ORDER_STATUSES } from '@gatehouse/domain/order-status';
import type { ReportType } from '@gatehouse/domain/report-fields';
import { dailyTotals, piecesOf } from './daily-totals.ts';
import type { ReportRequest } from './report.ts';
import { wholeDays } from './report-period.ts';
import { usageRows } from './usage-rows.ts';

/** A row of a report: its values by the names of the columns. */
export type Row = Readonly<Record<string, string | number | null>>;

/** The rows of a list of the API, page by page, as the asker sees them. */
export type ReadList = (
  service: 'users' | 'commerce' | 'notifications',
  path: string,
) => AsyncIterable<{ items: readonly Record<string, unknown>[]; total: number }>;

/** One response of the API that is not a list. */
export type ReadOne = (service: 'notifications', path: string) => Promise<Record<string, unknown>>;

/** How a report is read on behalf of its asker. */
export type Reader = {
  list: ReadList;
  one: ReadOne;
  /** The names of applications by their ids, of those that the asker may see. */
  applicationNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
};

/** The rows that are ready, and how much of what they are made from has been read. */
export type Batch = { rows: readonly Row[]; done: number; total: number };

export type ReportDefinition = {
  description: string;
  /** Any of these scopes lets its asker read what it shows. */
  scopes: readonly string[];
  /** The names of the columns, and their titles. */
  columns: Readonly<Record<string, string>>;
  /** The columns that hold amounts, in the currency of the column `currency`. */
  amounts?: readonly string[];
  /** The filters, with their allowed values; an empty list allows every value. */
  filters: Readonly<Record<string, readonly string[]>>;
  /** The values of its chart: each row adds `value` to the day of `at`. */
  chart: { title: string; at: string; value?: string };
  /** The covered period for a requested one, where they differ. */
  period?(asked: Pick<ReportRequest, 'from' | 'to'>, now: Date): { from: Date; to: Date };
  batches(read: Reader, request: ReportRequest): AsyncIterable<Batch>;
};

const DATA = ['read:data', 'read:all'];

/** The path of a list with the filters of a request, in the order of creation. `created` is the name of the time. */
function pathOf(prefix: string, created: string, { from, to, filters }: ReportRequest): string {
  const query = new URLSearchParams({ cursor: '', limit: '100' });
  for (const [name, value] of Object.entries(filters)) {
    // In the list, a comma would separate several values.
    for (const operator of value.includes(',') ? ['[gte]', '[lte]'] : ['']) {
      query.set(`filter[${name}]${operator}`, value);
    }
  }
  if (from !== null) query.set(`filter[${created}][gte]`, from.toISOString());
  if (to !== null) query.set(`filter[${created}][lt]`, to.toISOString());
  return `${prefix}?${query}`;
}

/** Rows that are fields of the items of a list. */
function fromList(
  service: Parameters<ReadList>[0],
  prefix: string,
  rowOf: (item: Record<string, unknown>) => Row,
  created = 'created_at',
): ReportDefinition['batches'] {
  return async function* ({ list }, request) {
    let done = 0;
    for await (const { items, total } of list(service, pathOf(prefix, created, request))) {
      done += items.length;
      yield { rows: items.map(rowOf), done, total };
    }
  };
}

/** The fields of an item with these names, where they are plain. */
function fields<N extends string>(item: Record<string, unknown>, names: readonly N[]) {
  return Object.fromEntries(
    names.map((name) => {
      const value = item[name];
      return [name, typeof value === 'string' || typeof value === 'number' ? value : null];
    }),
  ) as Record<N, string | number | null>;
}

/** The titles of the columns that all lists have. */
const DATES = { created_at: 'Created', updated_at: 'Changed' };

/** The definitions of reports, by type. */
export const REPORTS: Readonly<Record<ReportType, ReportDefinition>> = {
  sales: {
    description:
      'Orders, pieces and revenue by day and currency. Cancelled and refunded orders do not count.',
    scopes: DATA,
    columns: { day: 'Day', currency: 'Currency', orders: 'Orders', items: 'Pieces', revenue: 'Revenue' },
    amounts: ['revenue'],
    filters: { currency: [], user_id: [] },
    chart: { title: 'Orders by day', at: 'day', value: 'orders' },
    batches: async function* ({ list }, request) {
      const days = dailyTotals(request.timezone);
      let [done, total] = [0, 0];
      for await (const page of list('commerce', pathOf('/v2/orders', 'created_at', request))) {
        done += page.items.length;
        total = page.total;
        for (const order of page.items) days.add(order);
        yield { rows: [], done, total };
      }
      yield { rows: days.rows(), done, total };
    },
  },
  orders: {
    description: 'Every order with its customer, status and amount.',
    scopes: DATA,
    columns: {
      id: 'Order',
      user_id: 'Customer',
      status: 'Status',
      items: 'Pieces',
      currency: 'Currency',
      total_amount: 'Amount',
      ...DATES,
    },
    amounts: ['total_amount'],
    filters: { status: ORDER_STATUSES, user_id: [], currency: [] },
    chart: { title: 'Orders by day', at: 'created_at' },
    batches: fromList('commerce', '/v2/orders', (order) => ({
      ...fields(order, ['id', 'user_id', 'status']),
      items: piecesOf(order),
      ...fields(order, ['currency', 'total_amount', 'created_at', 'updated_at']),
    })),
  },
  products: {
    description: 'Every product with its price and stock.',
    scopes: DATA,
    columns: {
      id: 'Product',
      sku: 'SKU',
      name: 'Name',
      category: 'Category',
      price: 'Price',
      currency: 'Currency',
      stock: 'Stock',
      status: 'Status',
      created_at: 'Created',
    },
    amounts: ['price'],
    filters: { category: [], currency: [], status: ['active', 'inactive'] },
    chart: { title: 'New products by day', at: 'created_at' },
    batches: fromList('commerce', '/v2/products', (product) =>
      fields(product, [
        ...['id', 'sku', 'name', 'category', 'price', 'currency', 'stock', 'status', 'created_at'],
      ]),
    ),
  },
  users: {
    description: 'Every user with their role.',
    scopes: ['read:users', 'read:all'],
    columns: { id: 'User', username: 'Username', email: 'Email', role: 'Role', ...DATES },
    filters: { role: ['user', 'editor', 'admin'] },
    chart: { title: 'New users by day', at: 'created_at' },
    batches: fromList(
      'users',
      '/kb/api/v1/users',
      ({ createdAt: created_at, updatedAt: updated_at, ...user }) =>
        fields({ ...user, created_at, updated_at }, [
          ...['id', 'username', 'email', 'role', 'created_at', 'updated_at'],
        ]),
      'createdAt',
    ),
  },
  notifications: {
    description: 'Every notification with its recipient, type and status; not its text.',
    scopes: DATA,
    columns: {
      id: 'Notification',
      user_id: 'Recipient',
      type: 'Type',
      priority: 'Priority',
      status: 'Status',
      attempts: 'Attempts',
      ...DATES,
    },
    filters: { status: NOTIFICATION_STATUSES, type: NOTIFICATION_TYPES, user_id: [] },
    chart: { title: 'Notifications by day', at: 'created_at' },
    batches: fromList('notifications', '/v2/notifications', (notification) => ({
      ...fields(notification, ['id', 'user_id', 'type', 'priority', 'status']),
      attempts: Array.isArray(notification.attempts) ? notification.attempts.length : null,
      ...fields(notification, ['created_at', 'updated_at']),
    })),
  },
  usage: {
    description:
      'Requests and errors by day and application, where there were any; by default of the last 30 days.',
    scopes: DATA,
    columns: {
      day: 'Day',
      client_id: 'Client id',
      application: 'Application',
      requests: 'Requests',
      errors: 'Errors',
    },
    filters: { client_id: [] },
    chart: { title: 'Requests by day', at: 'day', value: 'requests' },
    period: wholeDays,
    batches: async function* ({ one, applicationNames }, request) {
      const { filters } = request;
      const { from, to } = wholeDays(request, new Date());
      const query = {
        from: from.toISOString(),
        to: to.toISOString(),
        interval: 'day',
        group_by: 'client_id',
      };
      const responseTo = (metric: string) =>
        one('notifications', `/api/v1/analytics?${new URLSearchParams({ metric, ...query, ...filters })}`);
      const responses = { requests: await responseTo('requests'), errors: await responseTo('errors') };
      const rows = await usageRows(responses, applicationNames);
      yield { rows, done: 1, total: 1 };
    },
  },
};

/** The problems of the filters of a request. */
export function filterProblems({ type, filters }: Pick<ReportRequest, 'type' | 'filters'>): FieldProblem[] {
  const allowed = REPORTS[type].filters;
  return Object.entries(filters).flatMap(([name, value]) => {
    const field = `filters.${name}`;
    if (!Object.hasOwn(allowed, name)) {
      return [{ field, message: `is not a filter of this report: use ${Object.keys(allowed).join(', ')}` }];
    }
    const values = allowed[name] ?? [];
    const isAllowed = values.length === 0 ? value !== '' && value.length <= 254 : values.includes(value);
    const expected = values.length === 0 ? '1 to 254 characters' : `one of ${values.join(', ')}`;
    return isAllowed ? [] : [{ field, message: `must be ${expected}` }];
  });
}

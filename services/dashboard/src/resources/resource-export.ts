import { csvHeader, csvLines } from '@gatehouse/api/http/csv';
import { inSnakeCase } from '@gatehouse/domain/fields';
import { type ApiPage, cursorOf } from '../api/pages.ts';
import { retryAfterRateLimit } from '../api/retry-after-rate-limit.ts';
import type { DashboardRouter } from '../routes/dashboard-router.ts';
import { filterValues, type ResourceList } from './resource-list.ts';
import { sendCsv } from './send-csv.ts';

/** The most rows that the API returns at once. */
const PAGE_ROWS = '100';
/** How long a page is waited for when too many have been asked for, in milliseconds. */
const MAX_WAIT_MS = 90_000;

/** The rows of the list as CSV, as its filters are, page by page as they are received. */
export function addExport<T>(
  resource: Pick<ResourceList<T>, 'name' | 'filters' | 'csv'>,
  { raw }: Pick<DashboardRouter, 'raw'>,
): void {
  const { name, csv } = resource;
  if (csv === undefined) return;
  const { columns, find } = csv;
  const linesOf = ({ data }: ApiPage<T>) =>
    csvLines(data.map((row) => columns.map((field) => row[field] ?? '')));

  raw(`/${name}/export.csv`, async (visit) => {
    const query = { ...filterValues(resource, visit), limit: PAGE_ROWS };
    const pageAt = (cursor: string) =>
      retryAfterRateLimit(() => find(visit, { ...query, cursor }), Date.now() + MAX_WAIT_MS);
    // A refusal by the API is known before anything is sent; a later error breaks the connection.
    const first = await pageAt('');
    async function* lines(): AsyncGenerator<string> {
      yield csvHeader(columns.map(inSnakeCase)) + linesOf(first);
      for (let next = cursorOf(first.links?.next); next !== undefined; ) {
        const page = await pageAt(next);
        yield linesOf(page);
        next = cursorOf(page.links?.next);
      }
    }
    sendCsv(visit.ctx, name, lines());
  });
}

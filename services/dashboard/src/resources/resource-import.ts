import { csvHeader, csvLines } from '@gatehouse/api/http/csv';
import type { SentFile } from '@gatehouse/api/http/multipart';
import { ApiError } from '../api/api-error.ts';
import { readCsv } from '../http/csv-file.ts';
import type { Import, ImportRow } from '../imports/import.ts';
import { errorOf } from '../pages/fields.ts';
import { capital } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter } from '../routes/dashboard-router.ts';
import { notFound, type Visit } from '../routes/visit.ts';
import { hasRole } from '../sessions/session.ts';
import { importBody, MAX_FILE_MIB, MAX_ROWS } from './import-form.ts';
import { importPage } from './import-pages.ts';
import { importFields, REFUSED_COLUMNS } from './import-plan.ts';
import type { Imported, Resource } from './resource.ts';
import { sendCsv } from './send-csv.ts';

type Entity = { id: string };

/** With a file, for which the edge has a larger limit (deploy/docker/Caddyfile). A request may take a minute. */
const UPLOAD = {
  files: true,
  maxBytes: MAX_FILE_MIB * 1024 ** 2 + 10_000,
  tooLarge: `The file is larger than ${MAX_FILE_MIB} MiB.`,
  seconds: 60,
};

/**
 * The pages that import a file of CSV: a form, a check that writes nothing, and the import itself, which is a job that goes on without
 * the browser.
 */
export function addImport<T extends Entity>(resource: Resource<T>, router: DashboardRouter): void {
  const { name, noun, imported: it } = resource;
  if (it === undefined) return;
  const { imports, get, post, raw } = router;
  const list = `/dashboard/${name}`;
  const trail = [{ href: list, title: capital(noun[1]) }];
  const title = `Import ${noun[1]}`;

  /** Throws ApiError, since without a request to the API nothing else refuses the page. */
  function requireRole({ person }: Visit): void {
    if (!hasRole(person, it?.role)) throw new ApiError(403, `You are not permitted to import ${noun[1]}.`);
  }
  async function importOf(visit: Visit): Promise<Import> {
    requireRole(visit);
    const found = await imports.find(visit.starter, name, visit.id('imp'));
    if (found === undefined) throw notFound();
    return found;
  }
  async function formView(visit: Visit, error?: ApiError): Promise<View> {
    const recent = await imports.list(visit.starter, name);
    return {
      title,
      section: name,
      trail,
      body: importBody(resource, it as Imported<T>, visit, { recent, error }),
      failed: error !== undefined,
    };
  }
  /** A form on the page of an import, which shows what it has led to. */
  function postAct(action: string, act: (visit: Visit, found: Import) => Promise<void>): void {
    post(`/${name}/import/:id/${action}`, async (visit) => {
      const found = await importOf(visit);
      await act(visit, found);
      return `${list}/import/${found.id}`;
    });
  }

  get(`/${name}/import`, (visit) => {
    requireRole(visit);
    return formView(visit);
  });
  post(
    `/${name}/import`,
    async (visit, fields) => {
      requireRole(visit);
      try {
        const file = checkedFile(fields.file('file'));
        const read = await readRows(it, file.content);
        const id = await imports.create(visit.starter, { kind: name, file: file.name, ...read });
        return `${list}/import/${id}`;
      } catch (error) {
        return formView(visit, errorOf(error));
      }
    },
    { ...UPLOAD, role: it.role },
  );
  get(`/${name}/import/:id`, async (visit) => {
    const found = await importOf(visit);
    const shown = await importPage(resource, it, {
      visit,
      found,
      rows: (which) => imports.rows(found, which),
    });
    return { section: name, trail: [...trail, { href: `${list}/import`, title }], ...shown };
  });
  postAct('run', (visit, found) => imports.run(visit.starter, found));
  postAct('cancel', (visit, found) => imports.cancel(visit.starter, found));
  raw(`/${name}/import/:id/refused.csv`, async (visit) => {
    const found = await importOf(visit);
    const which = found.phase === 'check' ? 'problems' : 'kept';
    sendCsv(visit.ctx, `${name}-refused`, refusedLines(found, imports.rows(found, which)));
  });
}

/** A file of the rows that were not imported, with their lines and what is wrong with them; it can be imported as it is. */
async function* refusedLines(
  { phase, columns }: Import,
  rows: AsyncIterable<ImportRow>,
): AsyncGenerator<string> {
  const own = columns.filter((column) => !REFUSED_COLUMNS.some((name) => name === column));
  yield csvHeader([...own, ...REFUSED_COLUMNS]);
  for await (const { cells, line, problems = [] } of rows) {
    if (phase === 'check' && problems.length === 0) continue;
    const error = problems.join(' ') || 'The import ended before this row.';
    yield csvLines([[...own.map((column) => cells[column] ?? ''), line, error]]);
  }
}

function checkedFile(file: SentFile | undefined): SentFile {
  if (file === undefined || file.content.length === 0)
    throw new ApiError(400, 'Choose a file with CSV in it.');
  if (file.content.length > MAX_FILE_MIB * 1024 ** 2) throw new ApiError(413, UPLOAD.tooLarge);
  return file;
}

/** The columns and rows of a file. Throws ApiError for one that cannot be read as a whole, also while the rows are read. */
async function readRows<T extends Entity>(it: Imported<T>, content: Buffer) {
  const fields = importFields(it);
  const known = [...fields.map(({ name }) => name), ...(it.readOnly ?? []), ...REFUSED_COLUMNS];
  const { columns, rows, hasDecimalCommas } = await readCsv(content, { known, maxRows: MAX_ROWS });
  const missing = columns.includes('id') ? [] : it.required.filter((name) => !columns.includes(name));
  if (missing.length > 0) throw new ApiError(400, `The file lacks these columns: ${missing.join(', ')}.`);
  const decimals = hasDecimalCommas ? fields.filter(({ kind }) => kind === 'decimal') : [];
  async function* withPoints(): AsyncGenerator<ImportRow> {
    for await (const row of rows) {
      const points = decimals.map(({ name }) => [name, (row.cells[name] ?? '').replace(',', '.')]);
      yield { ...row, cells: { ...row.cells, ...Object.fromEntries(points) } };
    }
  }
  return { columns, rows: withPoints() };
}

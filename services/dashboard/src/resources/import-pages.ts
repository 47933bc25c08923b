import { alertBox, form, labelled } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import { formProblem } from '../pages/fields.ts';
import { capital, facts, number, statusTag } from '../pages/parts.ts';
import { type Column, table } from '../pages/table.ts';
import type { Visit } from '../routes/dashboard-router.ts';
import { actionOf, fingerprintOf, importFields, type PlannedRow } from './import-plan.ts';
import type { Imported, Resource } from './resource.ts';
import { fieldsOf, type ResourceField } from './resource-form.ts';

type Entity = { id: string };

/** A row and what became of it. */
export type Outcome<T> = { row: PlannedRow<T>; action: ReturnType<typeof actionOf>; isTemporary?: boolean };

/** The file comes back in a form as text, which is a third longer, and the edge takes less than 1 MB. */
export const MAX_FILE_BYTES = 512 * 1024;
/** So many rows are shown of those without and with errors. */
const FIRST_ROWS = 10;
const MAX_ERRORS = 100;
/** So much of a value is shown, in characters. */
const MAX_SHOWN = 60;

const pathOf = ({ name }: { name: string }, action = '') => `/dashboard/${name}${action}`;
const counted = (count: number, [one, many]: readonly [string, string]) =>
  `${number(count)} ${count === 1 ? one : many}`;

/** What the rows of a check were compared with. */
const checkedRows = <T extends Entity>(it: Imported<T>, rows: readonly PlannedRow<T>[]) =>
  rows.map(({ current }) => fingerprintOf(it, current)).join(',');

/** The form that takes a file. */
export function importBody<T extends Entity>(
  resource: Resource<T>,
  it: Imported<T>,
  { csrf }: Visit,
  error?: ApiError,
): Html {
  const { noun } = resource;
  const kib = MAX_FILE_BYTES / 1024;
  const hint = `At most ${number(it.maxRows)} rows and ${kib} KiB, in UTF-8, with commas, semicolons or tabs between the cells.`;
  return html`${formProblem(error)}
<p>Choose a CSV file, such as one that a spreadsheet saved. The file is checked first, and nothing changes until you confirm the import.</p>
${it.about && html`<p>${it.about}</p>`}
${form(
  { action: pathOf(resource, '/import'), csrf },
  html`${labelled(
    { name: 'file', label: 'File', hint, required: true },
    (attributes) =>
      html`<input id="file" name="file" type="file" accept=".csv,text/csv" data-max-bytes="${MAX_FILE_BYTES}"${attributes}>`,
  )}
<div class="buttons"><button class="primary">Check file</button></div>`,
  { class: 'wide-form', enctype: 'multipart/form-data' },
)}
<section><h2>Columns</h2>
<p>The first line names the columns, in any order. ${it.changes && html`A row with an ID changes that ${noun[0]}; values of missing columns stay as they are. A row without an ID creates a ${noun[0]}. An <a href="${pathOf(resource, '/export.csv')}">exported file</a> has these columns already.`}</p>
${table(columnsOf(it), importFields(it))}</section>`;
}

function columnsOf<T>({ required, changes }: Imported<T>): Column<ResourceField>[] {
  const isRequired = changes ? 'In rows without an ID' : 'Yes';
  return [
    { title: 'Column', show: ({ name }) => html`<code>${name}</code>` },
    { title: 'Value', show: valueText },
    { title: 'Required', show: ({ name }) => (required.includes(name) ? isRequired : 'No') },
  ];
}

function valueText({ kind, options, maxlength, hint }: ResourceField): Content {
  if (options !== undefined) {
    return `One of ${options.map((option) => (typeof option === 'string' ? option : option[0])).join(', ')}`;
  }
  if (kind === 'integer') return 'A whole number';
  return hint ?? (maxlength === undefined ? 'Text' : `Text of at most ${number(maxlength)} characters`);
}

/** What an import would do, and the form that confirms it. */
export function checkBody<T extends Entity>(
  resource: Resource<T>,
  it: Imported<T>,
  { csrf }: Visit,
  { rows, content }: { rows: readonly PlannedRow<T>[]; content: string },
): Html {
  const { noun } = resource;
  const by = (action: ReturnType<typeof actionOf>) => rows.filter((row) => actionOf(row) === action);
  const [wrong, unchanged] = [by('error'), by('unchanged')];
  const planned = rows.filter((row) => row.problems.length === 0 && !unchanged.includes(row));
  const count = planned.length;
  const again = html`<a class="secondary" href="${pathOf(resource, '/import')}">Choose another file</a>`;
  return html`${
    wrong.length > 0 &&
    alertBox(
      `${counted(wrong.length, ['row has an error', 'rows have errors'])}`,
      html`<p>Rows with errors are not imported. Correct them in the file, and choose it again.</p>`,
    )
  }
<p role="status">Nothing has been changed yet.</p>
<section class="panel">${facts([
    ['To be created', number(by('create').length)],
    ['To be changed', it.changes && number(by('change').length)],
    ['Unchanged', it.changes && number(unchanged.length)],
    ['With errors', number(wrong.length)],
  ])}</section>
${it.about && html`<p>${it.about}</p>`}
${
  count > 0
    ? form(
        {
          action: pathOf(resource, '/import/run'),
          csrf,
          hidden: { content, checked: checkedRows(it, rows) },
        },
        html`<p class="hint">The import takes up to a minute.</p>
<div class="buttons"><button class="primary">Import ${counted(count, noun)}</button>${again}</div>`,
        { class: 'wide-form' },
      )
    : html`<p class="buttons">${again}</p>`
}
${errorRows(resource, wrong)}
${
  count > 0 &&
  html`<section><h2>First rows</h2>
${table(planColumns(resource, it), planned.slice(0, FIRST_ROWS))}</section>`
}`;
}

/** What an import has done. The same form can be sent again, which repeats nothing, for what may go well then. */
export function resultBody<T extends Entity>(
  resource: Resource<T>,
  it: Imported<T>,
  { csrf }: Visit,
  { outcomes, hidden }: { outcomes: readonly Outcome<T>[]; hidden: { content: string; checked: string } },
): Html {
  const { noun } = resource;
  const by = (action: Outcome<T>['action']) => outcomes.filter((outcome) => outcome.action === action);
  const failed = by('error');
  const left = failed.filter(({ isTemporary }) => isTemporary).length;
  const isDone = failed.length === 0;
  return html`${
    isDone
      ? html`<p class="notice" role="status">The import is complete.</p>`
      : alertBox(`${counted(failed.length, ['row was', 'rows were'])} not imported`)
  }
<section class="panel">${facts([
    ['Created', number(by('create').length)],
    ['Changed', it.changes && number(by('change').length)],
    ['Unchanged', it.changes && number(by('unchanged').length)],
    ['Failed', number(failed.length)],
  ])}</section>
${it.about && html`<p>${it.about}</p>`}
${
  left > 0 &&
  form(
    { action: pathOf(resource, '/import/run'), csrf, hidden },
    html`<p>${counted(left, ['row', 'rows'])} may be imported when you try again. What is imported already is not created twice.</p>
<div class="buttons"><button class="primary">Try again</button></div>`,
    { class: 'wide-form' },
  )
}
<p class="row-buttons"><a class="button secondary" href="${pathOf(resource)}">Go to the ${noun[1]}</a><a class="button secondary" href="${pathOf(resource, '/import')}">Import another file</a></p>
${errorRows(
  resource,
  failed.map(({ row }) => row),
)}`;
}

function errorRows<T extends Entity>({ noun }: Resource<T>, rows: readonly PlannedRow<T>[]): Content {
  if (rows.length === 0) return false;
  const columns: Column<PlannedRow<T>>[] = [
    ...rowColumns(noun[0]),
    { title: 'Error', show: ({ problems }) => problems.join(' ') },
  ];
  const more = rows.length - MAX_ERRORS;
  return html`<section><h2>Errors</h2>
${table(columns, rows.slice(0, MAX_ERRORS))}
${more > 0 && html`<p class="hint">And ${counted(more, ['other row', 'other rows'])}.</p>`}</section>`;
}

const rowColumns = <T>(noun: string): Column<PlannedRow<T>>[] => [
  {
    title: capital(noun),
    show: ({ title }) => html`<bdi>${shortened(title)}</bdi>`,
  },
  { title: 'Line', number: true, show: ({ line }) => line },
];

function planColumns<T extends Entity>({ noun }: Resource<T>, it: Imported<T>): Column<PlannedRow<T>>[] {
  const labels = new Map(fieldsOf(it.fields).map(({ name, label }) => [name, label]));
  const text = (value: unknown) =>
    value === null || value === undefined ? 'none' : shortened(String(value));
  return [
    ...rowColumns<T>(noun[0]),
    { title: 'Action', show: (row) => statusTag(actionOf(row)) },
    {
      title: 'Values',
      show: ({ body, current }) =>
        Object.entries(body).map(([name, value]) => {
          const before = current?.[name as keyof T];
          if (before === value) return false;
          return html`<div>${labels.get(name)}: ${current && html`<bdi>${text(before)}</bdi> → `}<bdi>${text(value)}</bdi></div>`;
        }),
    },
  ];
}

function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= MAX_SHOWN ? text : `${characters.slice(0, MAX_SHOWN - 1).join('')}…`;
}

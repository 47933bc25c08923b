import { form, labelled } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import type { Import } from '../imports/import.ts';
import { formProblem } from '../pages/fields.ts';
import { number, time } from '../pages/parts.ts';
import { type Column, table } from '../pages/table.ts';
import type { Visit } from '../routes/visit.ts';
import { stateTag } from './import-pages.ts';
import { importFields, shortened } from './import-plan.ts';
import type { Imported, Resource } from './resource.ts';
import type { ResourceField } from './resource-form.ts';

/** The limits of a file that a process can read at once without harm to others. */
export const MAX_FILE_MIB = 10;
export const MAX_ROWS = 50_000;

/** The form that takes a file, and what became of the last ones. */
export function importBody<T extends { id: string }>(
  resource: Resource<T>,
  it: Imported<T>,
  { csrf }: Visit,
  { recent, error }: { recent: readonly Import[]; error: ApiError | undefined },
): Html {
  const { name, noun } = resource;
  const path = `/dashboard/${name}/import`;
  const hint = `At most ${number(MAX_ROWS)} rows and ${MAX_FILE_MIB} MiB, in UTF-8, with commas, semicolons or tabs between the cells.`;
  return html`${formProblem(error)}
<p>Choose a CSV file, such as one that a spreadsheet saved. The file is checked first, and nothing changes until you confirm the import.</p>
${it.about && html`<p>${it.about}</p>`}
${form(
  { action: path, csrf },
  html`${labelled(
    { name: 'file', label: 'File', hint, required: true },
    (attributes) =>
      html`<input id="file" name="file" type="file" accept=".csv,text/csv" data-max-bytes="${MAX_FILE_MIB * 1024 ** 2}"${attributes}>`,
  )}
<div class="buttons"><button class="primary">Check file</button></div>`,
  { class: 'wide-form', enctype: 'multipart/form-data' },
)}
${
  recent.length > 0 &&
  html`<section><h2>Your imports of the last 24 hours</h2>
${table(importColumns(path), recent)}</section>`
}
<section><h2>Columns</h2>
<p>The first line names the columns, in any order. ${it.changes && html`A row with an ID changes that ${noun[0]}; values of missing columns stay as they are. A row without an ID creates a ${noun[0]}. An <a href="/dashboard/${name}/export.csv">exported file</a> has these columns already.`}</p>
${table(columnsOf(it), importFields(it))}</section>`;
}

const importColumns = (path: string): Column<Import>[] => [
  { title: 'File', show: ({ id, file }) => html`<a href="${path}/${id}"><bdi>${shortened(file)}</bdi></a>` },
  { title: 'Status', show: stateTag },
  { title: 'Rows', number: true, show: ({ rows }) => number(rows) },
  { title: 'Started', show: ({ createdAt }) => time(createdAt.toISOString()) },
];

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

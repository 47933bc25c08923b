import { alertBox, form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { queryText } from '../api/api.ts';
import {
  type BatchFilter,
  type Import,
  type ImportRow,
  isRunning,
  SIGN_IN_AGAIN,
  sumOf,
} from '../imports/import.ts';
import { capital, facts, number, refreshed, statusTag } from '../pages/parts.ts';
import { type Column, table } from '../pages/table.ts';
import type { View } from '../pages/view.ts';
import type { Visit } from '../routes/visit.ts';
import { FIRST_ROWS, shortened } from './import-plan.ts';
import type { Imported, Resource } from './resource.ts';

type Entity = { id: string };
type Rows = (which: BatchFilter) => AsyncIterable<ImportRow>;

/** So many rows with errors are shown. */
const MAX_ERRORS = 100;

const MEND = html`<p>Download them with their errors within 24 hours, correct them, and import that file.</p>`;

const counted = (count: number, [one, many]: readonly [string, string]) =>
  `${number(count)} ${count === 1 ? one : many}`;

/** The state of an import in one word. */
export function stateTag({ phase, state }: Import): Html {
  if (state === 'running') return statusTag(phase === 'check' ? 'checking' : 'importing');
  if (state === 'done') return statusTag(phase === 'check' ? 'checked' : 'completed');
  return statusTag(state);
}

/** The page of an import; loaded again while it is running. */
export async function importPage<T extends Entity>(
  resource: Resource<T>,
  it: Imported<T>,
  { visit, found, rows }: { visit: Visit; found: Import; rows: Rows },
): Promise<Pick<View, 'title' | 'body'>> {
  const path = `/dashboard/${resource.name}/import/${found.id}`;
  const page = { ...{ resource, it, found, rows, path }, csrf: visit.csrf };
  const content = isRunning(found)
    ? runningBody(page)
    : await (found.phase === 'check' ? checkBody(page) : resultBody(page));
  const seconds = isRunning(found) ? 1 : undefined;
  return {
    title: shortened(found.file) || 'Import',
    body: refreshed({ id: 'import', path, seconds, stack: true }, content),
  };
}

type Page<T extends Entity> = {
  resource: Resource<T>;
  it: Imported<T>;
  found: Import;
  rows: Rows;
  path: string;
  csrf: string;
};

const button = ({ path, csrf }: Pick<Page<Entity>, 'path' | 'csrf'>, action: string, content: Content) =>
  form({ action: `${path}/${action}`, csrf }, content);

/** How far it is. */
function runningBody<T extends Entity>(page: Page<T>): Html {
  const { it, found } = page;
  const { phase, planned, done, rows, state } = found;
  const isCheck = phase === 'check';
  const count = sumOf(isCheck ? planned : done);
  const hint = isCheck
    ? 'Nothing has been changed yet.'
    : 'You can leave this page. The import goes on in your session, and stops when you sign out.';
  return html`<section class="panel">${facts([
    ['Status', stateTag(found)],
    [
      'Progress',
      html`<progress max="${rows}" value="${count}" aria-label="Progress">${count}</progress> ${number(count)}\u00a0of\u00a0${number(rows)}\u00a0${rows === 1 ? 'row' : 'rows'}`,
    ],
    ...(isCheck ? [['With errors', number(planned.error)] as const] : doneFacts(it, found)),
  ])}</section>
<p class="hint">${hint}</p>
<div class="row-buttons">${state === 'running' && button(page, 'cancel', html`<button class="danger" id="cancel">Cancel</button>`)}</div>
<noscript><p class="hint">Load this page again to see the progress.</p></noscript>`;
}

const doneFacts = <T>({ changes }: Imported<T>, { done }: Import) =>
  [
    ['Created', number(done.create)],
    ['Changed', changes && number(done.change)],
    ['Unchanged', changes && number(done.unchanged)],
    ['Failed', number(done.error)],
  ] as const;

/** The effects that an import would have, and the form that confirms it. */
async function checkBody<T extends Entity>(page: Page<T>): Promise<Html> {
  const { resource, it, found, rows } = page;
  const { state, reason, planned } = found;
  const { noun } = resource;
  const again = html`<a class="button secondary" href="/dashboard/${resource.name}/import">Choose another file</a>`;
  const nothing = html`<p role="status">Nothing has been changed yet.</p>`;
  if (state !== 'done') {
    return html`${alertBox(`The check ${state === 'cancelled' ? 'was cancelled' : 'has stopped'}`, reason && html`<p>${reason}</p>`)}
${nothing}
<div class="row-buttons">${state === 'stopped' && button(page, 'run', html`<button class="primary">Try again</button>`)}${again}</div>`;
  }
  const count = planned.create + planned.change;
  const first =
    count > 0 ? await firstOf(rows('planned'), ({ values }) => values !== undefined, FIRST_ROWS) : [];
  return html`${
    planned.error > 0 &&
    alertBox(
      counted(planned.error, ['row has an error', 'rows have errors']),
      html`<p>Rows with errors are not imported. Correct them in the file, and choose it again; or download them with their errors, and import them later.</p>`,
    )
  }
${nothing}
<section class="panel">${facts([
    ['To be created', number(planned.create)],
    ['To be changed', it.changes && number(planned.change)],
    ['Unchanged', it.changes && number(planned.unchanged)],
    ['With errors', number(planned.error)],
  ])}</section>
${it.about && html`<p>${it.about}</p>`}
<div class="row-buttons">${count > 0 && button(page, 'run', html`<button class="primary">Import ${counted(count, noun)}</button>`)}${refusedLink(page, planned.error, 'with errors')}${again}</div>
${await errorSection(page, planned.error)}
${
  first.length > 0 &&
  html`<section><h2>First rows</h2>
${table(planColumns(noun[0]), first)}</section>`
}`;
}

/** The result of an import. The remaining rows can be imported later, and no imported row is created twice. */
async function resultBody<T extends Entity>(page: Page<T>): Promise<Html> {
  const { resource, it, found, path } = page;
  const { state, reason, done } = found;
  const { noun, name } = resource;
  const left = found.rows - sumOf(done);
  const failed = done.error + (state === 'done' ? left : 0);
  const rows = ['row', 'rows'] as const;
  return html`${
    state === 'cancelled'
      ? alertBox('The import was cancelled')
      : state === 'stopped'
        ? alertBox(
            'The import has stopped',
            html`<p>${reason}${reason === SIGN_IN_AGAIN && html` <a href="/dashboard/sign-in${queryText({ to: path, again: 'yes' })}">Sign in again</a>, and then try again here.`}</p>`,
          )
        : failed > 0
          ? alertBox(`${counted(failed, ['row was', 'rows were'])} not imported`, MEND)
          : html`<p class="notice" role="status">The import is complete.</p>`
  }
<section class="panel">${facts([...doneFacts(it, found), ['Left', left > 0 && number(left)]])}</section>
${it.about && html`<p>${it.about}</p>`}
${
  left > 0 &&
  html`<p>${
    state === 'done'
      ? `${counted(left, rows)} may be imported when you try again.`
      : `${counted(left, ['row is', 'rows are'])} left. To import them, try again.`
  } What is imported already is not created twice.</p>`
}
<div class="row-buttons">${left > 0 && button(page, 'run', html`<button class="primary">Try again</button>`)}${refusedLink(page, left + done.error, 'not imported')}<a class="button secondary" href="/dashboard/${name}">Go to the ${noun[1]}</a><a class="button secondary" href="/dashboard/${name}/import">Import another file</a></div>
${await errorSection(page, failed)}`;
}

const refusedLink = ({ path }: Pick<Page<Entity>, 'path'>, count: number, what: string) =>
  count > 0 &&
  html`<a class="button secondary" href="${path}/refused.csv">Download ${counted(count, ['row', 'rows'])} ${what}</a>`;

async function errorSection<T extends Entity>({ resource, rows }: Page<T>, count: number): Promise<Content> {
  if (count === 0) return false;
  const first = await firstOf(rows('problems'), ({ problems = [] }) => problems.length > 0, MAX_ERRORS);
  const columns: Column<ImportRow>[] = [
    ...rowColumns(resource.noun[0]),
    { title: 'Error', show: ({ problems = [] }) => problems.join(' ') },
  ];
  const more = count - first.length;
  return html`<section><h2>Errors</h2>
${table(columns, first)}
${more > 0 && html`<p class="hint">And ${counted(more, ['other row', 'other rows'])}.</p>`}</section>`;
}

async function firstOf(rows: AsyncIterable<ImportRow>, fits: (row: ImportRow) => boolean, most: number) {
  const found: ImportRow[] = [];
  for await (const row of rows) {
    if (fits(row)) found.push(row);
    if (found.length === most) break;
  }
  return found;
}

const rowColumns = (noun: string): Column<ImportRow>[] => [
  { title: capital(noun), show: ({ title = '' }) => html`<bdi>${shortened(title)}</bdi>` },
  { title: 'Line', number: true, show: ({ line }) => line },
];

const planColumns = (noun: string): Column<ImportRow>[] => [
  ...rowColumns(noun),
  { title: 'Action', show: ({ action = '' }) => statusTag(action) },
  {
    title: 'Values',
    show: ({ values = [] }) =>
      values.map(
        ([label, after, before]) =>
          html`<div>${label}: ${before !== undefined && html`<bdi>${before}</bdi> → `}<bdi>${after}</bdi></div>`,
      ),
  },
];

import type { Role } from '@gatehouse/tokens/scopes';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { queryText } from '../api/api.ts';
import type { ApiError } from '../api/api-error.ts';
import type { Outcome } from '../api/attempt.ts';
import type { Names } from '../api/names.ts';
import { type ApiPage, cursorOf } from '../api/pages.ts';
import { type Options, optionTags } from './fields.ts';
import { capital, notAvailable, number } from './parts.ts';

/** A column of a table; `names` are those of the people in its rows, by their ids. */
export type Column<T> = {
  title: string;
  number?: boolean;
  /** The lowest role that sees it. */
  role?: Role;
  show(row: T, names: Names): Content;
  /** In the first column of a list: what stands below the link to the row's page. */
  below?(row: T): Content;
};

/** One field of the search above a list: a choice where it has options, else a date or a text. */
export type SearchField = {
  name: string;
  label: string;
  hint?: string;
  type?: 'date';
  options?: Options | undefined;
  /** What no choice means, for an order of the rows, which is no search. */
  none?: string;
};

export type ListModel<T> = {
  /** The path of the page. */
  path: string;
  /** What the rows are, such as ['user', 'users']. */
  noun: readonly [one: string, many: string];
  search: readonly SearchField[];
  /** The search that was asked for, by the names of its fields. */
  values: Readonly<Record<string, string>>;
  /** Where the page begins; empty for the first one. */
  cursor: string;
  /** The first one is the name of the row. */
  columns: readonly Column<T>[];
  outcome: Outcome<ApiPage<T>>;
  names?: Names | undefined;
  /** What to say when there is nothing at all. */
  empty: Content;
};

/** A list with its search: the search is in the URL, and pages are walked by cursor. */
export function list<T>(model: ListModel<T>): Html {
  const { path, search, values, outcome } = model;
  return html`${search.length > 0 && searchForm(path, search, values)}
<p class="count" id="count" role="status">${countText(model)}</p>
<div class="results" id="results">${
    outcome.error === undefined ? rows(model, outcome.value) : problem(model, outcome.error)
  }</div>`;
}

function searchForm(
  path: string,
  fields: readonly SearchField[],
  values: Readonly<Record<string, string>>,
): Html {
  return html`<form class="search" role="search" method="get" action="${path}" hx-get="${path}" hx-trigger="input delay:300ms, submit" hx-target="#results" hx-select="#results" hx-select-oob="#count" hx-swap="outerHTML" hx-push-url="true" hx-indicator="#results" hx-sync="this:replace">
${fields.map((field) => searchField(field, values[field.name] ?? ''))}
<button class="secondary">Search</button>
</form>`;
}

function searchField({ name, label, hint, type, options, none = 'Any' }: SearchField, value: string): Html {
  const id = `search-${name}`;
  const input =
    options !== undefined
      ? html`<select id="${id}" name="${name}"><option value="">${none}</option>${optionTags(options, value)}</select>`
      : type === 'date'
        ? html`<input id="${id}" name="${name}" type="date" value="${value}">`
        : html`<input id="${id}" name="${name}" type="search" value="${value}" autocomplete="off" autocapitalize="none" spellcheck="false"${hint !== undefined && html` placeholder="${hint}"`}>`;
  const isNarrow = options !== undefined || type !== undefined;
  return html`<div class="field${isNarrow ? ' narrow' : ''}"><label for="${id}">${label}</label>${input}</div>`;
}

function isSearched({ search, values }: ListModel<never>): boolean {
  return search.some((field) => !('none' in field) && (values[field.name] ?? '') !== '');
}

function countText<T>(model: ListModel<T>): string {
  const { outcome, noun } = model;
  if (outcome.error !== undefined) return '';
  const { data, links, meta } = outcome.value;
  const count = meta?.totalItems ?? data.length;
  const found = isSearched(model as ListModel<never>) ? ' found' : '';
  // Where nobody counts, a page knows its own rows only.
  const isPart = meta?.totalItems === undefined && (links?.next ?? links?.prev) !== undefined;
  const where = isPart ? ' on this page' : '';
  return `${count === 0 ? 'No' : number(count)} ${noun[count === 1 ? 0 : 1]}${found}${where}.`;
}

function problem<T>(model: ListModel<T>, error: ApiError): Html {
  const { path, noun, cursor } = model;
  const again = path + queryOf(model, cursor);
  const otherwise = isSearched(model as ListModel<never>)
    ? html`Change the search, or <a href="${path}">show all ${noun[1]}</a>.`
    : cursor !== '' && html`<a href="${path}">Go to the first page</a>.`;
  return notAvailable(capital(noun[1]), error, { again, otherwise });
}

function rows<T>(model: ListModel<T>, page: ApiPage<T>): Html {
  const { columns, noun, path } = model;
  if (page.data.length === 0) {
    return html`<div class="empty">${
      model.cursor !== ''
        ? html`<p><strong>There are no more ${noun[1]}.</strong> <a href="${path + queryOf(model)}">Go to the first page</a>.</p>`
        : isSearched(model as ListModel<never>)
          ? html`<p><strong>Nothing matches this search.</strong> Try a broader one, or <a href="${path}">show all ${noun[1]}</a>.</p>`
          : model.empty
    }</div>`;
  }
  return html`${table(columns, page.data, model.names)}${pager(model, page)}`;
}

/** A table whose rows become blocks where the screen is narrow. */
export function table<T>(columns: readonly Column<T>[], data: readonly T[], names: Names = new Map()): Html {
  const [name, ...others] = columns;
  return html`<div class="table"><table class="stacked"><thead><tr>${columns.map(
    (column) => html`<th scope="col"${column.number && html` class="number"`}>${column.title}</th>`,
  )}</tr></thead><tbody>${data.map(
    (row) =>
      html`<tr><th scope="row"><div>${name?.show(row, names)}</div></th>${others.map(
        (column) =>
          html`<td data-label="${column.title}"${column.number && html` class="number"`}><div>${column.show(row, names)}</div></td>`,
      )}</tr>`,
  )}</tbody></table></div>`;
}

/** The query of the URL of a page of the search; of the first page without a cursor. */
function queryOf<T>({ values }: ListModel<T>, cursor = ''): string {
  const given = Object.entries({ ...values, cursor }).filter(([, value]) => value !== '');
  return queryText(Object.fromEntries(given));
}

function pager<T>(model: ListModel<T>, { links }: ApiPage<T>): Html | false {
  const link = (cursor: string | undefined, text: string) =>
    cursor !== undefined &&
    html`<a class="button secondary" href="${model.path + queryOf(model, cursor)}">${text}</a>`;
  const [previous, next] = [cursorOf(links?.prev), cursorOf(links?.next)];
  if (previous === undefined && next === undefined) return false;
  return html`<nav class="pager" aria-label="Pages">${link(previous, 'Previous page')}${link(next, 'Next page')}</nav>`;
}

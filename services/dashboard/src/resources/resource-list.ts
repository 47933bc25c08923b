import type { Role } from '@gatehouse/tokens/scopes';
import { datalist } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import { type Api, queryText } from '../api/api.ts';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import type { Names } from '../api/names.ts';
import { type ApiPage, cursorOf, filters } from '../api/pages.ts';
import { formProblem, type Options, optionTags } from '../pages/fields.ts';
import { capital, entryOf, notAvailable, number } from '../pages/parts.ts';
import { type Column, table } from '../pages/table.ts';
import type { View } from '../pages/view.ts';
import type { Section } from '../routes/dashboard-router.ts';
import type { Visit } from '../routes/visit.ts';
import { hasRole, type Person } from '../sessions/session.ts';

/** A field of the search: a choice where it has options, which may be asked for, else a date, a time or a text. */
export type Filter = {
  name: string;
  label: string | ((person: Person) => string);
  hint?: string;
  /** The lowest role that sees it. */
  role?: Role;
  type?: 'date' | 'datetime-local';
  /** Texts to choose from, by what distinguishes them; others may be entered. */
  suggested?: (api: Api) => Promise<Names>;
  options?: Options | ((api: Api) => Promise<Options>);
  /** The text of the default, for an order of the rows, which is no search. */
  none?: string;
};

/** The values of the filters of a list, by their names. */
export type ListQuery = Readonly<Record<string, string>> & { cursor: string };

/** A list of the API, from which `listView` makes a page. */
export type ResourceList<T> = {
  /** In the path of its page. */
  name: string;
  noun: readonly [one: string, many: string];
  /** The title of its page; by default the noun. */
  title?: string;
  /** Its path in the API. */
  api: string;
  filters: readonly Filter[];
  /** Asks for a page of the list; by default with each filter as one of the API. */
  find?(visit: Visit, query: ListQuery): Promise<ApiPage<T>>;
  columns: readonly Column<T>[] | ((visit: Visit) => readonly Column<T>[]);
  /** The names, by their ids, of what the rows refer to. */
  names?(visit: Visit, rows: readonly T[]): Promise<Names>;
  /** The text above the list. */
  introduction?: Content | ((visit: Visit) => Content | Promise<Content>);
  /** The text when there are none at all. */
  empty: Content | ((visit: Visit) => Content);
  /** The messages that a change was made, by its name. */
  notices?: Readonly<Record<string, string>>;
  /** Its rows as CSV: the fields, whose names in snake case are the titles, and a page of as many rows as `limit`. */
  csv?: {
    columns: readonly (keyof T & string)[];
    find(visit: Visit, query: ListQuery): Promise<ApiPage<T>>;
  };
  imported?: { role: Role };
  create?: {
    role?: Role;
    /** The title of its page; by default "New" and the noun. */
    title?: string;
  };
};

/** A list with more filters than this has them folded, so that its rows are in sight on a phone. */
const MANY_FILTERS = 5;

/** A list that is a section of its own. */
export function listSection<T>(it: ResourceList<T> & Pick<Section, 'role' | 'title' | 'search'>): Section {
  return { ...it, addRoutes: ({ get }) => get(`/${it.name}`, (visit) => listView(it, visit)) };
}

/** The values of the filters, by their names, and the response of the API. */
type Found = {
  path: string;
  noun: readonly [one: string, many: string];
  values: Readonly<Record<string, string>>;
  /** Where the page begins; empty for the first one. */
  cursor: string;
  /** Whether it is a part of all there is, as it was searched for. */
  isSearched: boolean;
};

/**
 * The page of a list: its search is in the URL, and pages are walked by cursor. `refused` says why something was not done with
 * what is in it.
 */
export async function listView<T>(it: ResourceList<T>, visit: Visit, refused?: ApiError): Promise<View> {
  const { name, noun, introduction, create } = it;
  const { api, person, query } = visit;
  const path = `/dashboard/${name}`;
  const fields = filtersFor(it, person);
  const values = filterValues(it, visit);
  const isSearched = fields.some((field) => !('none' in field) && values[field.name] !== '');
  const cursor = query('cursor');
  const found = { path, noun, values, cursor, isSearched };
  const [outcome, controls] = await Promise.all([
    attempt(
      it.find?.(visit, { ...values, cursor }) ?? api.get<ApiPage<T>>(it.api, { cursor, ...filters(values) }),
    ),
    Promise.all(fields.map((field) => searchField(visit, field, values[field.name] ?? ''))),
  ]);
  const mayCreate = create !== undefined && hasRole(person, create.role);
  const { title = `New ${noun[0]}` } = create ?? {};
  const page = outcome.value;
  // The text in the place of the rows says that there are none.
  const isEmpty = page?.data.length === 0 && !isSearched && cursor === '';
  const rows = async (): Promise<Content> => {
    if (page === undefined) return problem(found, outcome.error);
    const columns = valueFor(visit, it.columns).filter(({ role }) => hasRole(person, role));
    const names = await it.names?.(visit, page.data);
    if (page.data.length > 0) return html`${table(columns, page.data, names)}${pager(found, page)}`;
    return html`<div class="empty">${noRows(found) ?? html`${valueFor(visit, it.empty)}${mayCreate && html`<p><a class="button secondary" href="${path}/new">${title}</a></p>`}`}</div>`;
  };
  return {
    title: it.title ?? capital(noun[1]),
    section: name,
    notice: refused === undefined ? entryOf(it.notices ?? {}, query('done')) : undefined,
    failed: refused !== undefined,
    actions: [
      it.csv &&
        html`<a class="secondary" id="export" href="${path}/export.csv${queryOf(found)}">Export CSV</a>`,
      it.imported &&
        hasRole(person, it.imported.role) &&
        html`<a class="secondary" href="${path}/import">Import CSV</a>`,
      mayCreate && html`<a class="primary" href="${path}/new">${title}</a>`,
    ],
    body: html`${await valueFor(visit, introduction)}
${formProblem(refused)}
${controls.length > 0 && !isEmpty && searchForm(found, controls, { exports: it.csv !== undefined })}
<p class="count" id="count" role="status">${page && !isEmpty && countText(found, page)}</p>
<div class="results" id="results">${await rows()}</div>`,
  };
}

/** The form of the search, in which many fields are folded until one of them is used. */
function searchForm(
  { path, values }: Found,
  controls: readonly Html[],
  { exports }: { exports: boolean },
): Html {
  const isFolded = controls.length > MANY_FILTERS;
  const used = Object.values(values).filter((value) => value !== '').length;
  const form = html`<form class="search" role="search" method="get" action="${path}" hx-get="${path}" hx-trigger="input delay:300ms, submit" hx-target="#results" hx-select="#results" hx-select-oob="#count${isFolded && ',#filters-used'}${exports && ',#export'}" hx-swap="outerHTML" hx-push-url="true" hx-indicator="#results" hx-sync="this:replace">
${controls}
<button class="secondary">Search</button>
</form>`;
  if (!isFolded) return form;
  return html`<details class="panel filters"${used > 0 && html` open`}><summary>Filters<span id="filters-used">${used > 0 && ` (${used} set)`}</span></summary>
${form}</details>`;
}

const filtersFor = ({ filters }: Pick<ResourceList<never>, 'filters'>, person: Person) =>
  filters.filter(({ role }) => hasRole(person, role));

/** The values of the filters in the query of a page, by their names. */
export function filterValues(it: Pick<ResourceList<never>, 'filters'>, { person, query }: Visit) {
  return Object.fromEntries(filtersFor(it, person).map(({ name }) => [name, query(name)]));
}

/** A value that may depend on the person who looks at the page. */
function valueFor<V extends Content | readonly object[] | Promise<Content>>(
  visit: Visit,
  value: V | ((visit: Visit) => V),
): V {
  return typeof value === 'function' ? value(visit) : value;
}

async function searchField({ api, person }: Visit, it: Filter, value: string): Promise<Html> {
  const { name, hint, type, none = 'Any' } = it;
  const label = typeof it.label === 'function' ? it.label(person) : it.label;
  const options = typeof it.options === 'function' ? await it.options(api) : it.options;
  const names = await it.suggested?.(api);
  const id = `search-${name}`;
  const input =
    options !== undefined
      ? html`<select id="${id}" name="${name}"><option value="">${none}</option>${optionTags(options, value)}</select>`
      : type !== undefined
        ? html`<input id="${id}" name="${name}" type="${type}" value="${value}">`
        : html`<input id="${id}" name="${name}" type="search" value="${value}" autocomplete="off" autocapitalize="none" spellcheck="false"${hint !== undefined && html` placeholder="${hint}"`}${names && html` list="${id}-names"`}>${
            names &&
            datalist(
              `${id}-names`,
              [...names].map(([about, text]) => [text, about]),
            )
          }`;
  const isNarrow = options !== undefined || type !== undefined;
  return html`<div class="field${isNarrow ? ' narrow' : ''}"><label for="${id}">${label}</label>${input}</div>`;
}

function countText<T>({ noun, isSearched }: Found, { data, links, meta, isIncomplete }: ApiPage<T>): string {
  const count = meta?.totalItems ?? data.length;
  // Where nobody counts, a page knows its own rows only.
  const isPart = meta?.totalItems === undefined && (links?.next ?? links?.prev) !== undefined;
  const where = isPart ? ' on this page' : '';
  return `${count === 0 ? 'No' : number(count)} ${noun[count === 1 ? 0 : 1]}${isSearched ? ' found' : ''}${where}.${isIncomplete ? INCOMPLETE : ''}`;
}

/** The note under the results of a search that did not look at everything. */
const INCOMPLETE = ' Others may have the text in the middle of a word: enter the beginning of a word.';

function problem(found: Found, error: ApiError): Html {
  const { path, noun, cursor, isSearched } = found;
  const again = path + queryOf(found, cursor);
  const otherwise = isSearched
    ? html`Change the search, or <a href="${path}">show all ${noun[1]}</a>.`
    : cursor !== '' && html`<a href="${path}">Go to the first page</a>.`;
  return notAvailable(capital(noun[1]), error, { again, otherwise });
}

/** Why a page has no rows, unless there are none at all. */
function noRows(found: Found): Html | undefined {
  const { path, noun, cursor, isSearched } = found;
  if (cursor !== '') {
    return html`<p><strong>There are no more ${noun[1]}.</strong> <a href="${path + queryOf(found)}">Go to the first page</a>.</p>`;
  }
  if (!isSearched) return undefined;
  return html`<p><strong>Nothing matches this search.</strong> Try a broader one, or <a href="${path}">show all ${noun[1]}</a>.</p>`;
}

/** The query of the URL of a page of the search; of the first page without a cursor. */
function queryOf({ values }: Found, cursor = ''): string {
  const given = Object.entries({ ...values, cursor }).filter(([, value]) => value !== '');
  return queryText(Object.fromEntries(given));
}

function pager<T>(found: Found, { links }: ApiPage<T>): Html | false {
  const link = (cursor: string | undefined, text: string) =>
    cursor !== undefined &&
    html`<a class="button secondary" href="${found.path + queryOf(found, cursor)}">${text}</a>`;
  const [previous, next] = [cursorOf(links?.prev), cursorOf(links?.next)];
  if (previous === undefined && next === undefined) return false;
  return html`<nav class="pager" aria-label="Pages">${link(previous, 'Previous page')}${link(next, 'Next page')}</nav>`;
}

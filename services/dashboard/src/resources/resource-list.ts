import type { Role } from '@gatehouse/tokens/scopes';
import { type Content, html } from '@gatehouse/web/html';
import type { Api } from '../api/api.ts';
import type { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import type { Names } from '../api/names.ts';
import { type ApiPage, filters } from '../api/pages.ts';
import { formProblem, type Options } from '../pages/fields.ts';
import { type Column, list, type SearchField } from '../pages/list.ts';
import { capital, entryOf } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { Section, Visit } from '../routes/dashboard-router.ts';
import { hasRole, type Person } from '../sessions/session.ts';

/** A field of the search: whom it is for, and options that are asked for. */
export type Filter = Omit<SearchField, 'label' | 'options'> & {
  label: string | ((person: Person) => string);
  /** The lowest role that sees it. */
  role?: Role;
  options?: Options | ((api: Api) => Promise<Options>);
};

/** What a list is asked for, by the names of the filters. */
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
  /** What to say above the list. */
  introduction?: Content | ((visit: Visit) => Content | Promise<Content>);
  /** What to say when there are none at all. */
  empty: Content | ((visit: Visit) => Content);
  /** What has been done, by the names of what can be done. */
  notices?: Readonly<Record<string, string>>;
  create?: {
    role?: Role;
    /** The title of its page; by default "New" and the noun. */
    title?: string;
    /** The text of the link where there are none yet. */
    invitation?: string;
  };
};

/** A list that is a section of its own. */
export function listSection<T>(it: ResourceList<T> & Pick<Section, 'role' | 'title'>): Section {
  return { ...it, addRoutes: ({ get }) => get(`/${it.name}`, (visit) => listView(it, visit)) };
}

/** The page of a list, with its search; `refused` says why something was not done with what is in it. */
export async function listView<T>(it: ResourceList<T>, visit: Visit, refused?: ApiError): Promise<View> {
  const { name, noun, introduction, empty, create } = it;
  const { api, person, query } = visit;
  const path = `/dashboard/${name}`;
  const fields = it.filters.filter(({ role }) => hasRole(person, role));
  const values = Object.fromEntries(fields.map((field) => [field.name, query(field.name)]));
  const cursor = query('cursor');
  const found =
    it.find?.(visit, { ...values, cursor }) ?? api.get<ApiPage<T>>(it.api, { cursor, ...filters(values) });
  const [outcome, search] = await Promise.all([
    attempt(found),
    Promise.all(fields.map(searchFieldFor(visit))),
  ]);
  const mayCreate = create !== undefined && hasRole(person, create.role);
  const { title = `New ${noun[0]}`, invitation } = create ?? {};
  const rows = list({
    path,
    noun,
    search,
    values,
    cursor,
    outcome,
    columns: valueFor(visit, it.columns).filter(({ role }) => hasRole(person, role)),
    names: await it.names?.(visit, outcome.value?.data ?? []),
    empty: html`${valueFor(visit, empty)}${mayCreate && invitation !== undefined && html`<p><a class="button primary" href="${path}/new">${invitation}</a></p>`}`,
  });
  return {
    title: it.title ?? capital(noun[1]),
    section: name,
    notice: refused === undefined ? entryOf(it.notices ?? {}, query('done')) : undefined,
    failed: refused !== undefined,
    actions: create && mayCreate && html`<a class="primary" href="${path}/new">${title}</a>`,
    body: html`${await valueFor(visit, introduction)}
${formProblem(refused, [])}
${rows}`,
  };
}

/** What depends on who looks at the page, or not. */
function valueFor<V extends Content | readonly object[] | Promise<Content>>(
  visit: Visit,
  value: V | ((visit: Visit) => V),
): V {
  return typeof value === 'function' ? value(visit) : value;
}

const searchFieldFor =
  ({ api, person }: Visit) =>
  async ({ label, options, ...field }: Filter): Promise<SearchField> => ({
    ...field,
    label: typeof label === 'function' ? label(person) : label,
    options: typeof options === 'function' ? await options(api) : options,
  });

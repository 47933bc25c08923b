import { type Html, html } from '@gatehouse/web/html';
import { attempt } from '../api/attempt.ts';
import { type Names, namesOfUsers, withoutLinks } from '../api/names.ts';
import { changes, type RefusedForm, shownFields } from '../http/changes.ts';
import { errorOf } from '../pages/fields.ts';
import { capital, choiceLinks, entryOf, notAvailable, tabs } from '../pages/parts.ts';
import type { Column } from '../pages/table.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Hit, Section, SectionSearch } from '../routes/dashboard-router.ts';
import type { Visit } from '../routes/visit.ts';
import { hasRole } from '../sessions/session.ts';
import { addConfirmed } from './confirmed.ts';
import { importKind } from './import-plan.ts';
import type { Kind, RefusedAction, Resource, Target } from './resource.ts';
import { addExport } from './resource-export.ts';
import {
  currentValues,
  type FormRow,
  initialValues,
  requestBody,
  resourceForm,
  sentValues,
} from './resource-form.ts';
import { addImport } from './resource-import.ts';
import { listView } from './resource-list.ts';

type Entity = { id: string };

/** The refused form: the one that changes the object, or one of its actions. */
type Refused = { update?: RefusedForm; action?: RefusedAction };

/** The pages of a resource: its list, one by itself, the forms that create and change one, and its deletion. */
export function resourcePages<T extends Entity>(options: Resource<T>): Section {
  const { name, noun, role } = options;
  const usual = ['saved', 'created', 'deleted'].map((done) => [done, `The ${noun[0]} is ${done}.`]);
  const resource = { ...options, notices: { ...Object.fromEntries(usual), ...options.notices } };
  const title = capital(noun[1]);
  const list = {
    ...resource,
    title,
    columns: (visit: Visit) => linked(resource, visit),
    names: (visit: Visit, rows: readonly T[]) => peopleOf(resource, visit, rows),
  };
  return {
    name,
    title,
    ...(role && { role }),
    search: searchOf(resource),
    ...(options.imported && { importKind: importKind(options.imported, options.api) }),
    addRoutes(router) {
      router.get(`/${name}`, (visit) => listView(list, visit));
      resource.routes?.(router);
      addExport(resource, router);
      addImport(resource, router);
      addCreation(resource, router);
      for (const part of ['', ...Object.keys(resource.parts ?? {})]) {
        router.get(`/${name}/:id${part && `/${part}`}`, async (visit) =>
          detailView(resource, await targetOf(resource, visit), part),
        );
      }
      addUpdate(resource, router);
      addActions(resource, router);
      addConfirmedActions(resource, router);
    },
  };
}

/** How the search of the dashboard finds it: its page with the form of a new one, and each by id and name. */
function searchOf<T extends Entity>(resource: Resource<T>): SectionSearch {
  const {
    name,
    noun,
    api,
    create,
    filters,
    imported,
    search,
    title,
    idPrefix = resource.newIdPrefix,
  } = resource;
  const hitOf = (row: T): Hit => {
    const { id } = row;
    const text = title(row);
    return { href: pathOf(resource, id), title: text, ...(text !== id && { detail: id }) };
  };
  const byId = async ({ api: { get } }: Visit, id: string) =>
    hitOf({ ...(await get<T>(`${api}/${encodeURIComponent(id)}`)), id });
  const list = `/dashboard/${name}`;
  const isSearched = filters.some((filter) => filter.name === 'q');
  return {
    pages: [
      ...(create
        ? [
            {
              href: `${list}/new`,
              title: create.title ?? `New ${noun[0]}`,
              ...(create.role && { role: create.role }),
            },
          ]
        : []),
      ...(imported ? [{ href: `${list}/import`, title: `Import ${noun[1]}`, role: imported.role }] : []),
    ],
    ...(idPrefix !== undefined && { byId: { [idPrefix]: byId } }),
    ...(search && {
      async byName(visit, text) {
        const { data } = await search(visit, text);
        const all = `${list}${isSearched ? `?${new URLSearchParams({ q: text })}` : ''}`;
        return { hits: data.map(hitOf), all };
      },
    }),
  };
}

/** The columns of its list, of which the first leads to the page of what is in the row. */
function linked<T extends Entity>(resource: Resource<T>, visit: Visit): Column<T>[] {
  const { columns } = resource;
  const [first, ...others] = typeof columns === 'function' ? columns(visit) : columns;
  if (first === undefined) return [];
  const show: Column<T>['show'] = (row, names) =>
    html`<a href="${pathOf(resource, row.id)}">${first.show(row, names)}</a>${first.below?.(row)}`;
  return [{ ...first, show }, ...others];
}

const trailOf = <T extends Entity>({ name, noun }: Resource<T>) => [
  { href: `/dashboard/${name}`, title: capital(noun[1]) },
];

const pathOf = <T extends Entity>({ name }: Resource<T>, id: string) =>
  `/dashboard/${name}/${encodeURIComponent(id)}`;

const rowsOf = async <T extends Entity>(
  { fields = [] }: Resource<T>,
  { value, visit }: Pick<Target<T>, 'value' | 'visit'>,
): Promise<readonly FormRow[]> => (typeof fields === 'function' ? fields(value, visit) : fields);

/** The object that the path names, as it is now. */
async function targetOf<T extends Entity>(resource: Resource<T>, visit: Visit): Promise<Target<T>> {
  const { api, idPrefix } = resource;
  const id = idPrefix === undefined ? encodeURIComponent(visit.param('id')) : visit.id(idPrefix);
  const apiPath = `${api}/${id}`;
  const versioned = await (resource.read?.(visit, apiPath) ?? visit.api.read<T>(apiPath));
  return { ...versioned, visit, path: pathOf(resource, versioned.value.id), apiPath };
}

/** The names of the people in rows, for those who may look them up. */
async function peopleOf<T extends Entity>(
  { people }: Resource<T>,
  { api, person }: Visit,
  rows: readonly T[],
): Promise<Names> {
  if (people === undefined || !hasRole(person, 'editor')) return withoutLinks();
  return namesOfUsers(api, rows.flatMap(people));
}

function addCreation<T extends Entity>(resource: Resource<T>, router: DashboardRouter): void {
  const { name, noun, api, fields, create } = resource;
  if (create === undefined) return;
  const path = `/dashboard/${name}/new`;
  const { title = `New ${noun[0]}`, submit = `Create ${noun[0]}`, choice } = create;
  const kindsOf = async (visit: Visit): Promise<readonly Kind[]> => {
    if (choice !== undefined) return choice.kinds(visit);
    const rows = create.fields ?? (typeof fields === 'object' ? fields : []);
    const own = typeof rows === 'function' ? await rows(visit) : rows;
    return [{ name: '', title, text: '', formTitle: title, fields: own }];
  };
  const isWanted = (given: string) => (kind: Kind) => choice === undefined || kind.name === given;
  const page = (heading: string, body: Html, failed = false): View => ({
    title: heading,
    section: name,
    trail: trailOf(resource),
    failed,
    body,
  });

  /** The form of the kind that is asked for, or else the choice of one. */
  async function view(visit: Visit, given: string, refused?: RefusedForm): Promise<View> {
    const { value: kinds = [], error } = await attempt(kindsOf(visit));
    if (error !== undefined) return page(title, notAvailable(capital(noun[1]), error, { again: path }));
    const kind = kinds.find(isWanted(given));
    if (kind === undefined) {
      const links = kinds.map((it) => ({ ...it, href: `${path}?type=${it.name}` }));
      return page(title, html`<p>${choice?.about}</p>\n${choiceLinks(links)}`);
    }
    const { fields: rows, about, formTitle } = kind;
    const hidden: Record<string, string> = choice === undefined ? {} : { type: kind.name };
    const target = { action: path, csrf: visit.csrf, hidden };
    const values = refused === undefined ? initialValues(rows, visit) : sentValues(rows, refused.fields);
    const body = html`${about && html`<p>${about} <a href="${path}">Choose another type</a>.</p>`}
${resourceForm({ target, rows, values, submit, error: refused?.error })}`;
    return page(formTitle, body, refused !== undefined);
  }

  router.get(`/${name}/new`, (visit) => view(visit, visit.query('type')));

  router[create.once ? 'postOnce' : 'post'](`/${name}/new`, async (visit, sent) => {
    const given = sent.text('type');
    try {
      const kind = (await kindsOf(visit)).find(isWanted(given));
      if (kind === undefined) return await view(visit, given);
      const values = sentValues(kind.fields, sent);
      const created = await (create.send?.(visit, values, kind) ??
        visit.api.send<Entity & { done?: string }>('POST', api, requestBody(kind.fields, values)));
      if (typeof created === 'string') return created;
      return `${pathOf(resource, created.id)}?done=${created.done ?? 'created'}`;
    } catch (error) {
      return view(visit, given, { fields: sent, error: errorOf(error) });
    }
  });
}

function addUpdate<T extends Entity>(resource: Resource<T>, { post }: DashboardRouter): void {
  const { name, update } = resource;
  if (update === undefined) return;

  post(`/${name}/:id`, async (visit, fields) => {
    const target = await targetOf(resource, visit);
    const { value, etag, path, apiPath } = target;
    const rows = await rowsOf(resource, target);
    try {
      const sent = requestBody(rows, sentValues(rows, fields));
      const changed = changes(fields, sent, requestBody(rows, currentValues(rows, value)));
      if (Object.keys(changed).length > 0) {
        await (update.send?.(target, changed) ?? visit.api.send('PUT', apiPath, changed, etag));
      }
      return `${path}?done=saved`;
    } catch (error) {
      return detailView(resource, target, '', { update: { fields, error: errorOf(error) } });
    }
  });
}

/** The further page to which an action belongs; empty for the page of the thing itself. */
function partOf<T extends Entity>({ parts = {} }: Resource<T>, action: string): string {
  const [part = ''] = action.split('/', 1);
  return Object.hasOwn(parts, part) ? part : '';
}

function addActions<T extends Entity>(resource: Resource<T>, router: DashboardRouter): void {
  for (const [action, given] of Object.entries(resource.actions ?? {})) {
    const act = typeof given === 'function' ? given : 'once' in given ? given.once : given.act;
    const options = typeof given === 'object' && 'form' in given ? given.form : {};
    const add = typeof given === 'object' && 'once' in given ? router.postOnce : router.post;
    const part = partOf(resource, action);
    add(
      `/${resource.name}/:id/${action}`,
      async (visit, fields) => {
        const target = await targetOf(resource, visit);
        try {
          const outcome = await act(target, fields);
          if (typeof outcome === 'string' || 'body' in outcome) return outcome;
          return pageOf(resource, target, part, outcome);
        } catch (error) {
          return detailView(resource, target, part, { action: { action, fields, error: errorOf(error) } });
        }
      },
      options,
    );
  }
}

/** The questions before an act: the resource's own, and whether to delete it. */
function addConfirmedActions<T extends Entity>(resource: Resource<T>, router: DashboardRouter): void {
  const { name, title, confirmed, remove } = resource;
  for (const [action, ask] of Object.entries(confirmed ?? {})) {
    addConfirmed(router, `/${name}/:id/${action}`, async (visit, sent) => {
      const target = await targetOf(resource, visit);
      const part = partOf(resource, action);
      const back = part === '' ? target.path : `${target.path}/${part}`;
      const trail = [...trailOf(resource), { href: back, title: title(target.value) }];
      return { section: name, trail, back, ...(await ask(target, sent)) };
    });
  }
  if (remove === undefined) return;
  addConfirmed(router, `/${name}/:id/delete`, async (visit) => {
    const target = await targetOf(resource, visit);
    const { path, apiPath, value } = target;
    const { noun = resource.noun[0], lost, warning } = remove;
    const more = warning && html` ${await warning(target)}`;
    return {
      section: name,
      name: title(value),
      trail: [...trailOf(resource), { href: path, title: title(value) }],
      back: path,
      title: `Delete the ${noun} “${title(value)}”?`,
      lost: html`<p>${lost}${more} This cannot be undone.</p>`,
      submit: `Delete ${noun}`,
      async act() {
        await visit.api.send('DELETE', apiPath);
        return `/dashboard/${name}?done=deleted`;
      },
    };
  });
}

/** The page of one thing, or a further page of it, with links to the others. */
function pageOf<T extends Entity>(
  resource: Resource<T>,
  target: Target<T>,
  part: string,
  content: Html,
  failed = false,
): View {
  const { name, noun, parts, partTitle = '', heading = resource.title } = resource;
  const { visit, value, path } = target;
  const { notices = resource.notices, title: own = partTitle, charts = false } = parts?.[part] ?? {};
  const shown = Object.entries(parts ?? {}).filter(([, { isShown }]) => isShown?.(value) ?? true);
  const links = shown.map(([at, it]) => [`${path}/${at}`, it.title] as const);
  const current = part === '' ? path : `${path}/${part}`;
  return {
    title: heading(value),
    ...(own !== '' && { part: own }),
    section: name,
    trail: trailOf(resource),
    actions: part === '' ? resource.pageActions?.(target) : undefined,
    notice: failed ? undefined : entryOf(notices ?? {}, visit.query('done')),
    failed,
    charts,
    body: html`${links.length > 0 && tabs(`This ${noun[0]}`, current, [[path, partTitle], ...links])}
${content}`,
  };
}

async function detailView<T extends Entity>(
  resource: Resource<T>,
  target: Target<T>,
  part: string,
  refused: Refused = {},
): Promise<View> {
  const page = { ...target, refused: refused.action };
  const content = await (resource.parts?.[part]?.view(page) ?? ownView(resource, target, refused));
  const isRefused = refused.update !== undefined || refused.action !== undefined;
  return pageOf(resource, target, part, html`${content}`, isRefused);
}

/** The page of one object, with the form and the deletion if the reader may use them. */
async function ownView<T extends Entity>(resource: Resource<T>, target: Target<T>, refused: Refused) {
  const { noun, update, remove } = resource;
  const { visit, value, path } = target;
  const { csrf, person } = visit;
  const rows = await rowsOf(resource, target);
  const current = currentValues(rows, value);
  const form = () =>
    resourceForm({
      target: { action: path, csrf, hidden: shownFields(requestBody(rows, current), refused.update) },
      rows,
      values: refused.update ? sentValues(rows, refused.update.fields) : current,
      submit: 'Save',
      error: refused.update?.error,
    });
  return resource.view({
    ...target,
    people: await peopleOf(resource, visit, [value]),
    refused: refused.action,
    form: update && hasRole(person, update.role) && form(),
    deletion:
      remove &&
      hasRole(person, remove.role) &&
      deletionSection({ path, noun: remove.noun ?? noun[0], lost: remove.lost }),
  });
}

/** Leads from the page of a thing to the question whether to delete it. */
function deletionSection({ path, noun, lost }: { path: string; noun: string; lost: string }): Html {
  return html`<section class="panel danger-zone"><h2>Delete this ${noun}</h2><p>${lost}</p>
<p><a class="button danger" href="${path}/delete">Delete ${noun}</a></p></section>`;
}

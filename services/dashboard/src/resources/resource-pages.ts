import { html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import { type Names, namesOfUsers } from '../api/names.ts';
import { changes, type RefusedForm, shownFields } from '../http/changes.ts';
import { errorOf } from '../pages/fields.ts';
import type { Column } from '../pages/list.ts';
import { capital, entryOf } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Section, Visit } from '../routes/dashboard-router.ts';
import { hasRole } from '../sessions/session.ts';
import { addConfirmed } from './confirmed.ts';
import { deletionQuestion, deletionSection } from './deletion.ts';
import type { Resource, Target } from './resource.ts';
import {
  currentValues,
  type FormValues,
  initialValues,
  requestBody,
  resourceForm,
  sentValues,
  textsOf,
} from './resource-form.ts';
import { listView } from './resource-list.ts';

type Entity = { id: string };

/** The pages of a resource: its list, one by itself, the forms that create and change one, and its deletion. */
export function resourcePages<T extends Entity>(options: Resource<T>): Section {
  const { name, noun, role } = options;
  const usual = ['saved', 'created', 'deleted'].map((done) => [done, `The ${noun[0]} is ${done}.`]);
  const resource = { ...options, notices: { ...Object.fromEntries(usual), ...options.notices } };
  const title = capital(noun[1]);
  const list = {
    ...resource,
    title,
    columns: linked(resource),
    names: (visit: Visit, rows: readonly T[]) => peopleOf(resource, visit, rows),
  };
  return {
    name,
    title,
    ...(role && { role }),
    addRoutes(router) {
      router.get(`/${name}`, (visit) => listView(list, visit));
      resource.routes?.(router);
      addCreation(resource, router);
      router.get(`/${name}/:id`, async (visit) => detailView(resource, await targetOf(resource, visit)));
      addUpdate(resource, router);
      addActions(resource, router);
      addConfirmedActions(resource, router);
    },
  };
}

/** The columns of its list, of which the first leads to the page of what is in the row. */
function linked<T extends Entity>(resource: Resource<T>): Column<T>[] {
  const [first, ...others] = resource.columns;
  if (first === undefined) return [];
  const show: Column<T>['show'] = (row, names) =>
    html`<a href="${pathOf(resource, row.id)}">${first.show(row, names)}</a>`;
  return [{ ...first, show }, ...others];
}

const trailOf = <T extends Entity>({ name, noun }: Resource<T>) => [
  { href: `/dashboard/${name}`, title: capital(noun[1]) },
];

const pathOf = <T extends Entity>({ name }: Resource<T>, id: string) =>
  `/dashboard/${name}/${encodeURIComponent(id)}`;

/** What the path names, as it is now. */
async function targetOf<T extends Entity>(resource: Resource<T>, visit: Visit): Promise<Target<T>> {
  const apiPath = `${resource.api}/${visit.id(resource.idPrefix)}`;
  const versioned = await (resource.read?.(visit, apiPath) ?? visit.api.read<T>(apiPath));
  return { ...versioned, visit, path: pathOf(resource, versioned.value.id), apiPath };
}

/** The names of the people in rows, for those who may look them up. */
async function peopleOf<T extends Entity>(
  { people }: Resource<T>,
  { api, person }: Visit,
  rows: readonly T[],
): Promise<Names> {
  if (people === undefined || !hasRole(person, 'editor')) return new Map();
  return namesOfUsers(api, rows.flatMap(people));
}

function addCreation<T extends Entity>(resource: Resource<T>, { get, post }: DashboardRouter): void {
  const { name, noun, api, fields: rows, create } = resource;
  if (create === undefined || rows === undefined) return;
  const path = `/dashboard/${name}/new`;
  const { title = `New ${noun[0]}`, submit = `Create ${noun[0]}` } = create;
  const view = ({ csrf }: Visit, values: FormValues, error?: ApiError): View => ({
    title,
    section: name,
    trail: trailOf(resource),
    failed: error !== undefined,
    body: resourceForm({ target: { action: path, csrf }, rows, values, submit, error }),
  });

  get(`/${name}/new`, (visit) => view(visit, initialValues(rows, visit)));

  post(`/${name}/new`, async (visit, fields) => {
    const values = sentValues(rows, fields);
    try {
      const { id, done = 'created' } = await (create.send?.(visit, values) ??
        visit.api.send<Entity & { done?: string }>('POST', api, requestBody(rows, values)));
      return `${pathOf(resource, id)}?done=${done}`;
    } catch (error) {
      return view(visit, values, errorOf(error));
    }
  });
}

function addUpdate<T extends Entity>(resource: Resource<T>, { post }: DashboardRouter): void {
  const { name, fields: rows, update } = resource;
  if (update === undefined || rows === undefined) return;

  post(`/${name}/:id`, async (visit, fields) => {
    const target = await targetOf(resource, visit);
    const { value, etag, path, apiPath } = target;
    try {
      const sent = requestBody(rows, sentValues(rows, fields));
      const changed = changes(fields, sent, currentValues(rows, value));
      if (Object.keys(changed).length > 0) {
        await (update.send?.(target, changed) ?? visit.api.send('PUT', apiPath, changed, etag));
      }
      return `${path}?done=saved`;
    } catch (error) {
      return detailView(resource, target, { update: { fields, error: errorOf(error) } });
    }
  });
}

function addActions<T extends Entity>(resource: Resource<T>, { post }: DashboardRouter): void {
  for (const [action, act] of Object.entries(resource.actions ?? {})) {
    post(`/${resource.name}/:id/${action}`, async (visit, fields) => {
      const target = await targetOf(resource, visit);
      try {
        return await act(target, fields);
      } catch (error) {
        return detailView(resource, target, { action: { fields, error: errorOf(error) } });
      }
    });
  }
}

/** What is asked before: the resource's own questions, and whether to delete it. */
function addConfirmedActions<T extends Entity>(resource: Resource<T>, router: DashboardRouter): void {
  const { name, title, confirmed, remove } = resource;
  const trail = trailOf(resource);
  for (const [action, ask] of Object.entries(confirmed ?? {})) {
    addConfirmed(router, `/${name}/:id/${action}`, async (visit, sent) => {
      const target = await targetOf(resource, visit);
      const { path, value } = target;
      const above = [...trail, { href: path, title: title(value) }];
      return { section: name, trail: above, back: path, ...(await ask(target, sent)) };
    });
  }
  if (remove === undefined) return;
  addConfirmed(router, `/${name}/:id/delete`, async (visit) => {
    const target = await targetOf(resource, visit);
    const { path, apiPath, value } = target;
    const { noun = resource.noun[0], warning } = remove;
    const lost = warning === undefined ? remove.lost : html`${remove.lost} ${await warning(target)}`;
    return {
      ...deletionQuestion({ path, noun, name: title(value), lost, section: name, trail }),
      async act() {
        await visit.api.send('DELETE', apiPath);
        return `/dashboard/${name}?done=deleted`;
      },
    };
  });
}

async function detailView<T extends Entity>(
  resource: Resource<T>,
  target: Target<T>,
  refused: { update?: RefusedForm; action?: RefusedForm } = {},
): Promise<View> {
  const { name, noun, fields: rows = [], update, remove } = resource;
  const { visit, value, path } = target;
  const { csrf, person } = visit;
  const current = currentValues(rows, value);
  const isRefused = refused.update !== undefined || refused.action !== undefined;
  const form = () => {
    const hidden = shownFields(current, refused.update);
    const values = refused.update ? sentValues(rows, refused.update.fields) : textsOf(current);
    return resourceForm({
      target: { action: path, csrf, hidden },
      rows,
      values,
      submit: 'Save',
      error: refused.update?.error,
    });
  };
  return {
    title: resource.title(value),
    section: name,
    trail: trailOf(resource),
    notice: isRefused ? undefined : entryOf(resource.notices ?? {}, visit.query('done')),
    failed: isRefused,
    body: await resource.view({
      ...target,
      people: await peopleOf(resource, visit, [value]),
      refused: refused.action,
      form: update && hasRole(person, update.role) && form(),
      deletion:
        remove &&
        hasRole(person, remove.role) &&
        deletionSection({ path, noun: remove.noun ?? noun[0], lost: remove.lost }),
    }),
  };
}

import { JsonText, parseJsonBody } from '@gatehouse/api/http/json-body';
import { form, type PageForm } from '@gatehouse/web/form';
import { html } from '@gatehouse/web/html';
import { ApiError } from '../api/api-error.ts';
import { attempt } from '../api/attempt.ts';
import { type ApiPage, beginsWith } from '../api/pages.ts';
import { changes, type RefusedForm, shownFields } from '../http/changes.ts';
import type { Fields } from '../http/forms.ts';
import { deletionQuestion, deletionSection } from '../pages/deletion.ts';
import { errorOf, formProblem, textArea, textField } from '../pages/fields.ts';
import { list } from '../pages/list.ts';
import { copyable, entryOf, facts, time } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import { addConfirmed } from './confirmed.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

type Item = { id: string; name: string; value: unknown; created_at?: string };
/** An item with the text of its value, to the letter. */
type WholeItem = { id: string; name: string; value: string; created_at: string; etag: string | null };
type Values = { name: string; value: string };

const PATH = '/dashboard/items';
const API = '/api/v1/items';
const TRAIL = [{ href: PATH, title: 'Items' }];
const FIELDS = ['name', 'value'];
const LOST = 'The item and its value are deleted for all users.';
const NOTICES: Record<string, string> = {
  saved: 'The item is saved.',
  created: 'The item is created.',
  deleted: 'The item is deleted.',
};

/** Items: named JSON values. */
export function addItemRoutes(router: DashboardRouter): void {
  const { get, post } = router;

  get('/items', async ({ api, query }) => {
    const [q, cursor] = [query('q'), query('cursor')];
    const outcome = await attempt(api.get<ApiPage<Item>>(API, { cursor, ...beginsWith('name', q) }));
    return {
      title: 'Items',
      section: 'items',
      notice: entryOf(NOTICES, query('done')),
      actions: html`<a class="primary" href="${PATH}/new">New item</a>`,
      body: list({
        path: PATH,
        noun: ['item', 'items'],
        search: [{ kind: 'text', name: 'q', label: 'Name', hint: 'Beginning of the name' }],
        values: { q },
        cursor,
        outcome,
        columns: [
          {
            title: 'Name',
            show: ({ id, name }) => html`<a href="${PATH}/${encodeURIComponent(id)}"><bdi>${name}</bdi></a>`,
          },
          { title: 'Value', show: ({ value }) => html`<code class="preview">${preview(value)}</code>` },
          { title: 'ID', show: ({ id }) => html`<code>${id}</code>` },
        ],
        empty: html`<p><strong>There are no items yet.</strong> An item is a JSON value with a name: a setting, a list, a document of your own.</p><p><a class="button primary" href="${PATH}/new">Create an item</a></p>`,
      }),
    };
  });

  get('/items/new', ({ csrf }) => newItem(csrf, { name: '', value: '' }));

  post('/items/new', async ({ api, csrf }, fields) => {
    const values = valuesOf(fields);
    try {
      const { id } = await api.send<{ id: string }>('POST', API, bodyOf(values));
      return `${PATH}/${encodeURIComponent(id)}?done=created`;
    } catch (error) {
      return newItem(csrf, values, errorOf(error));
    }
  });

  get('/items/:id', async (visit) =>
    view(visit, await read(visit), { notice: entryOf(NOTICES, visit.query('done')) }),
  );

  post('/items/:id', async (visit, fields) => {
    const item = await read(visit);
    try {
      const changed = changes(fields, valuesOf(fields), item);
      if (Object.keys(changed).length > 0) {
        await visit.api.send('PUT', pathOf(visit), bodyOf({ ...item, ...changed }), item.etag);
      }
      return `${PATH}/${encodeURIComponent(item.id)}?done=saved`;
    } catch (error) {
      return view(visit, item, { refused: { fields, error: errorOf(error) } });
    }
  });

  addConfirmed(router, '/items/:id/delete', async (visit) => {
    const { id, name } = await read(visit);
    const path = `${PATH}/${encodeURIComponent(id)}`;
    return {
      ...deletionQuestion({ path, what: 'item', name, lost: LOST, section: 'items', trail: TRAIL }),
      async act() {
        await visit.api.send('DELETE', pathOf(visit));
        return `${PATH}?done=deleted`;
      },
    };
  });

  const pathOf = ({ id }: Visit) => `${API}/${id('itm')}`;

  async function read(visit: Visit): Promise<WholeItem> {
    const response = await visit.api.fetch(pathOf(visit));
    const body = Buffer.from(await response.arrayBuffer());
    const item = parseJsonBody(body, 'value') as Omit<WholeItem, 'value' | 'etag'> & { value: JsonText };
    return { ...item, value: item.value.text, etag: response.headers.get('etag') };
  }
}

function preview(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function valuesOf(fields: Fields): Values {
  return { name: fields.text('name'), value: fields.text('value') };
}

/** The value goes out as it was typed, since a number of JavaScript would lose digits. Throws ApiError. */
function bodyOf({ name, value }: Values): JsonText {
  try {
    JSON.parse(value);
  } catch {
    const details = [{ field: 'value', message: 'must be JSON: a text needs quotation marks' }];
    throw new ApiError(400, 'The value is not JSON.', { details });
  }
  return new JsonText(`{"name":${JSON.stringify(name)},"value":${value}}`);
}

function itemForm(target: PageForm, values: Values, submit: string, error: ApiError | undefined) {
  const problems = error?.details ?? [];
  return html`${formProblem(error, FIELDS)}
${form(
  target,
  html`${textField({ name: 'name', label: 'Name', value: values.name, required: true, maxlength: 200, problems })}
${textArea({ name: 'value', label: 'Value', value: values.value, required: true, rows: 8, problems, hint: 'JSON: an object, an array, a number, true, false, null, or a text in quotation marks. The value is stored exactly as you enter it.' })}
<div class="buttons"><button class="primary">${submit}</button></div>`,
  { class: 'wide-form' },
)}`;
}

function newItem(csrf: string, values: Values, error?: ApiError): View {
  return {
    title: 'New item',
    section: 'items',
    trail: TRAIL,
    failed: error !== undefined,
    body: itemForm({ action: `${PATH}/new`, csrf }, values, 'Create item', error),
  };
}

function view(
  { csrf }: Visit,
  item: WholeItem,
  shown: { refused?: RefusedForm; notice?: string | undefined },
): View {
  const path = `${PATH}/${encodeURIComponent(item.id)}`;
  const { refused } = shown;
  const { name, value } = item;
  const target = { action: path, csrf, hidden: shownFields({ name, value }, refused) };
  const values = refused === undefined ? item : valuesOf(refused.fields);
  return {
    title: item.name,
    section: 'items',
    trail: TRAIL,
    notice: shown.notice,
    failed: refused !== undefined,
    body: html`<section class="panel">${facts([
      ['Item ID', copyable('item-id', item.id)],
      ['Created', time(item.created_at)],
    ])}</section>
<section>${itemForm(target, values, 'Save', refused?.error)}</section>
${deletionSection({ path, what: 'item', lost: LOST })}`,
  };
}

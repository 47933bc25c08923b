import { JsonText, parseJsonBody } from '@gatehouse/api/http/json-body';
import { html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { beginsWith } from '../../api/pages.ts';
import { copyable, facts, time } from '../../pages/parts.ts';
import { resourcePages } from '../../resources/resource-pages.ts';

/** An item; its value is the text of it where it is shown by itself. */
type Item = { id: string; name: string; value: unknown; created_at?: string };

const API = '/api/v1/items';

/** Items: named JSON values. */
export const items = resourcePages<Item>({
  name: 'items',
  noun: ['item', 'items'],
  api: API,
  idPrefix: 'itm',
  filters: [{ name: 'q', label: 'Name', hint: 'Beginning of the name' }],
  find: ({ api }, { q = '', cursor }) => api.get(API, { cursor, ...beginsWith('name', q) }),
  search: ({ api }, text) => api.get(API, { cursor: '', ...beginsWith('name', text) }),
  columns: [
    { title: 'Name', show: ({ name }) => html`<bdi>${name}</bdi>` },
    { title: 'Value', show: ({ value }) => html`<code class="preview">${preview(value)}</code>` },
    { title: 'ID', show: ({ id }) => html`<code>${id}</code>` },
  ],
  empty: html`<p><strong>There are no items yet.</strong> An item is a JSON value with a name: a setting, a list, a document of your own.</p>`,
  /** The value is read as text, since a number of JavaScript would lose digits. */
  async read({ api }, apiPath) {
    const response = await api.fetch(apiPath);
    const body = Buffer.from(await response.arrayBuffer());
    const item = parseJsonBody(body, 'value') as Item & { value: JsonText };
    return { value: { ...item, value: item.value.text }, etag: response.headers.get('etag') };
  },
  title: ({ name }) => name,
  view: ({ value: { id, created_at: at }, form, deletion }) => html`<section class="panel">${facts([
    ['Item ID', copyable('item-id', id)],
    ['Created', time(at)],
  ])}</section>
<section>${form}</section>
${deletion}`,
  fields: [
    { name: 'name', label: 'Name', required: true, maxlength: 200 },
    {
      name: 'value',
      label: 'Value',
      required: true,
      rows: 8,
      hint: 'JSON: an object, an array, a number, true, false, null, or a text in quotation marks. The value is stored exactly as you enter it.',
    },
  ],
  create: {
    send: ({ api }, values) => api.send('POST', API, bodyOf(values)),
  },
  update: {
    send: ({ visit: { api }, value, apiPath, etag }, changed) =>
      api.send('PUT', apiPath, bodyOf({ ...value, ...changed }), etag),
  },
  remove: { lost: 'The item and its value are deleted for all users.' },
});

function preview(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/** The value goes out as it was typed. Throws ApiError. */
function bodyOf({ name, value }: Readonly<Record<string, unknown>>): JsonText {
  try {
    JSON.parse(String(value));
  } catch {
    const details = [{ field: 'value', message: 'must be JSON: a text needs quotation marks' }];
    throw new ApiError(400, 'The value is not JSON.', { details });
  }
  return new JsonText(`{"name":${JSON.stringify(name)},"value":${value}}`);
}

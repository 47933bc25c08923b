import { type Content, html } from '@gatehouse/web/html';
import { clientIdsOf } from '../../api/lookups.ts';
import { namesOfApplications } from '../../api/names.ts';
import { type ApiPage, filters } from '../../api/pages.ts';
import { applicationLink, exactTime, facts } from '../../pages/parts.ts';
import { type ListQuery, listSection } from '../../resources/resource-list.ts';
import type { Hit } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';

type LoggedRequest = {
  time: string;
  client_id: string;
  authenticated: boolean;
  service: string;
  method: string;
  path: string;
  status: number;
  duration_ms: number;
  request_id: string;
  credential: string | null;
  code: string | null;
  message: string | null;
  missing_scope: string | null;
};

const API = '/api/v1/requests';
const OUTCOMES: Record<string, Record<string, string>> = {
  failed: { 'filter[status][gte]': '400' },
  succeeded: { 'filter[status][lt]': '400' },
};
/** The ids that programs give to their requests, such as UUIDs. */
const REQUEST_ID = /^(?=.*\d)[\w.:-]{8,128}$/;
const STATUSES = ['400', '401', '403', '404', '409', '429', '500', '503'];

/** The request log: what the own applications asked for, and why it was refused. */
export const requests = listSection<LoggedRequest>({
  name: 'requests',
  noun: ['request', 'requests'],
  title: 'Requests',
  api: API,
  introduction: html`<p>The requests of your applications in the last days, the latest first, and why some of them failed. A request is listed some seconds after it has ended. Requests that you send as yourself are not listed. “Named only” are requests that name an application without a valid credential of it: anybody can send those. <a href="/docs/guides/requests">Why did my call fail?</a></p>`,
  filters: [
    { name: 'request_id', label: 'Request ID', hint: 'X-Request-Id' },
    { name: 'client', label: 'Application', hint: 'Name or client ID' },
    {
      name: 'status',
      label: 'Status',
      options: [['failed', 'Failed'], ['succeeded', 'Succeeded'], ...STATUSES.map((it) => [it, it] as const)],
    },
    { name: 'code', label: 'Error code', hint: 'invalid_grant' },
  ],
  find,
  search: {
    byId: { req: async (_, id) => hitOf(id) },
    async byName({ api }, text) {
      if (!REQUEST_ID.test(text)) return { hits: [] };
      const { data } = await api.get<ApiPage<LoggedRequest>>(API, filters({ request_id: text }));
      return { hits: data.length === 0 ? [] : [hitOf(text)] };
    },
  },
  names: ({ api }) => namesOfApplications(api),
  columns: [
    { title: 'Request', show: ({ method, path }) => html`${method} ${breakable(path)}` },
    { title: 'Time', show: ({ time }) => exactTime(time) },
    { title: 'Status', show: statusOf },
    {
      title: 'Application',
      show: ({ client_id: id, authenticated }, names) =>
        html`${applicationLink(id, names)}${!authenticated && html`<br><span class="hint">Named only</span>`}`,
    },
    { title: 'Reason', show: reason },
    { title: 'Details', show: details },
  ],
  empty: html`<p><strong>There are no requests yet.</strong> <a href="/dashboard/applications">Create an application</a>, and send the first request as its quick start shows.</p>`,
});

/** The list of the requests with an id, of which there are several if one request caused others. */
function hitOf(id: string): Hit {
  return { href: `/dashboard/requests?${new URLSearchParams({ request_id: id })}`, title: `Request ${id}` };
}

async function find({ api }: Visit, query: ListQuery): Promise<ApiPage<LoggedRequest>> {
  const { client = '', status = '', cursor, ...equal } = query;
  const clients = await clientIdsOf(api, client);
  return api.get(API, {
    cursor,
    ...filters(equal),
    ...(OUTCOMES[status] ?? filters({ status })),
    ...(clients.length === 0 ? {} : { 'filter[client_id][in]': clients.join(',') }),
  });
}

/** A path that may break after each segment, and within ids. */
function breakable(path: string): Content {
  return path.split(/(?<=[/_])|(?<=\w{13})(?=\w)/).map((part) => html`${part}<wbr>`);
}

function statusOf({ status, code }: LoggedRequest): Content {
  const look = status >= 400 || code !== null ? 'is-bad' : 'is-good';
  return html`<span class="status ${look}">${status}</span>`;
}

function reason({ code, message, missing_scope: scope, client_id: client }: LoggedRequest): Content {
  if (code === null) return '–';
  const way = `/dashboard/applications/${encodeURIComponent(client)}#scopes`;
  return html`<code>${code}</code><br>${message}${scope !== null && html`<br><a href="${way}">Add a scope to the application</a>. Then get a new token: tokens keep the scopes that they were issued with.`}`;
}

function details({ request_id: id, credential, duration_ms: ms, service }: LoggedRequest): Content {
  return html`<details><summary>Show</summary>${facts([
    ['Request ID', html`<code>${id}</code>`],
    ['Credential', credential !== null && html`ends in <code>${credential}</code>`],
    ['Duration', `${ms} ms`],
    ['Service', service],
  ])}</details>`;
}

import { leastIdAt } from '@gatehouse/core/ids';
import { type Content, html } from '@gatehouse/web/html';
import { ApiError } from '../../api/api-error.ts';
import { applicationPath } from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import { keysOf } from '../../api/credentials.ts';
import { instantOf } from '../../api/instants.ts';
import { clientIdsOf } from '../../api/lookups.ts';
import { type Names, namesOfApplications } from '../../api/names.ts';
import { type ApiPage, beginsWith, filters } from '../../api/pages.ts';
import { applicationLink, copyable, exactTime, facts, httpStatusTag, number } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { addExport } from '../../resources/resource-export.ts';
import { type ListQuery, listView, type ResourceList } from '../../resources/resource-list.ts';
import type { Hit, Section } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';

type LoggedRequest = {
  id: string;
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
  actors: readonly string[];
  workload: string | null;
};

const API = '/api/v1/requests';
const OUTCOMES: Record<string, Record<string, string>> = {
  failed: { 'filter[status][gte]': '400' },
  succeeded: { 'filter[status][lt]': '400' },
};
/** The ids that programs give to their requests, such as UUIDs. */
const REQUEST_ID = /^(?=.*\d)[\w.:-]{8,128}$/;
const DURATIONS = [
  ['100', '100 ms or more'],
  ['500', '500 ms or more'],
  ['1000', '1 s or more'],
  ['5000', '5 s or more'],
] as const;
const CSV_COLUMNS = [
  ...([
    'id',
    'time',
    'method',
    'path',
    'status',
    'duration_ms',
    'client_id',
    'authenticated',
    'service',
  ] as const),
  ...(['request_id', 'credential', 'code', 'message', 'missing_scope', 'workload'] as const),
];
const STATUSES = ['400', '401', '403', '404', '409', '429', '500', '503'];

const list: ResourceList<LoggedRequest> & Pick<Section, 'title'> = {
  name: 'requests',
  noun: ['request', 'requests'],
  title: 'Requests',
  api: API,
  introduction: html`<p>The requests of your applications, the latest first, some seconds after they have ended. <a href="/docs/guides/requests">Why did my call fail?</a></p>`,
  filters: [
    { name: 'path', label: 'Path', hint: '/v2/orders' },
    { name: 'client', label: 'Application', hint: 'Name or client ID', suggested: namesOfApplications },
    {
      name: 'status',
      label: 'Status',
      options: [['failed', 'Failed'], ['succeeded', 'Succeeded'], ...STATUSES.map((it) => [it, it] as const)],
    },
    { name: 'slow', label: 'Duration', options: DURATIONS },
    { name: 'from', label: 'Since', type: 'datetime-local' },
    { name: 'to', label: 'Until', type: 'datetime-local' },
    { name: 'code', label: 'Error code', hint: 'invalid_grant' },
    { name: 'request_id', label: 'Request ID', hint: 'X-Request-Id' },
  ],
  find,
  csv: { columns: CSV_COLUMNS, find },
  names: ({ api }) => namesOfApplications(api),
  columns: [
    {
      title: 'Request',
      show: ({ id, method, path }) =>
        html`<a href="/dashboard/requests/${id}">${method} ${breakable(path)}</a>`,
    },
    { title: 'Time', show: ({ time }) => exactTime(time) },
    { title: 'Status', show: ({ status }) => httpStatusTag(status) },
    { title: 'Duration', number: true, show: ({ duration_ms: ms }) => `${number(ms)} ms` },
    { title: 'Application', show: clientOf },
    { title: 'Reason', show: reason },
  ],
  empty: html`<p><strong>There are no requests yet.</strong> <a href="/dashboard/applications">Create an application</a>, and send the first request as its quick start shows.</p>`,
};

/** The request log: the requests of one’s applications, and the reasons of errors. */
export const requests: Section = {
  ...list,
  title: 'Requests',
  search: {
    byId: {
      req: async (_, id) => hitOf(id),
      rlg: async ({ api }, id) => {
        const { method, path } = await api.get<LoggedRequest>(`${API}/${id}`);
        return { href: `/dashboard/requests/${id}`, title: `${method} ${path}`, detail: id };
      },
    },
    async byName({ api }, text) {
      if (!REQUEST_ID.test(text)) return { hits: [] };
      const { data } = await api.get<ApiPage<LoggedRequest>>(API, filters({ request_id: text }));
      return { hits: data.length === 0 ? [] : [hitOf(text)] };
    },
  },
  addRoutes(router) {
    router.get('/requests', (visit) => listView(list, visit));
    addExport(list, router);
    router.get('/requests/:id', requestPage);
  },
};

/** One request, with everything that is known about it. */
async function requestPage(visit: Visit): Promise<View> {
  const { api } = visit;
  const it = await api.get<LoggedRequest>(`${API}/${visit.id('rlg')}`);
  const { client_id: client, credential: end, request_id: request } = it;
  const [names, keys] = await Promise.all([
    namesOfApplications(api),
    attempt(end === null ? Promise.resolve([]) : keysOf(api, applicationPath(client))),
  ]);
  const key = keys.value?.find(({ last_four: last }) => last === end);
  const credentials = `/dashboard/applications/${encodeURIComponent(client)}/credentials`;
  const nextStep = key
    ? html`Then <a href="${credentials}">create another API key</a> that has the scope, and use it in place of this one: a key keeps the scopes that it was created with.`
    : 'Then get a new token: tokens keep the scopes that they were issued with.';
  return {
    title: `${it.method} ${it.path}`,
    section: 'requests',
    trail: [{ href: '/dashboard/requests', title: 'Requests' }],
    body: html`${it.code !== null && html`<section class="panel"><h2>Why it failed</h2><p>${reason(it)}</p>${it.missing_scope !== null && html`<p>${nextStep}</p>`}<p><a href="/docs/guides/requests">All errors, and what to do</a></p></section>`}
<section class="panel">${facts([
      ['Status', httpStatusTag(it.status)],
      ['Ended', exactTime(it.time)],
      ['Duration', `${number(it.duration_ms)} ms`],
      ['Service', it.service],
      ['Application', clientOf(it, names)],
      [
        'Credential',
        end !== null &&
          html`${key === undefined ? 'Access token' : html`API key <a href="${credentials}"><bdi>${key.name}</bdi></a>`}, ending in <code>${end}</code>`,
      ],
      [
        'Acted for a person',
        it.actors.length > 0 &&
          it.actors.map((id, i) => html`${i > 0 && ', before it '}${applicationLink(id, names)}`),
      ],
      ['Workload', it.workload !== null && html`<bdi>${it.workload}</bdi>`],
      ['Request ID', copyable('request-id', request)],
      ['Same request', html`<a href="${hitOf(request).href}">All entries with this request ID</a>`],
      ['Log entry', copyable('entry', it.id)],
    ])}</section>
<p class="hint">Bodies, addresses and headers of requests are not stored.</p>`,
  };
}

/** The list of the requests with an id, of which there are several if one request caused others. */
function hitOf(id: string): Hit {
  return { href: `/dashboard/requests?${new URLSearchParams({ request_id: id })}`, title: `Request ${id}` };
}

async function find({ api }: Visit, query: ListQuery): Promise<ApiPage<LoggedRequest>> {
  const {
    client = '',
    status = '',
    path = '',
    slow = '',
    from = '',
    to = '',
    cursor,
    limit,
    ...equal
  } = query;
  const clients = await clientIdsOf(api, client);
  return api.get(API, {
    ...{ cursor, limit },
    ...filters({ ...equal, 'duration_ms][gte': slow }),
    ...beginsWith('path', path),
    // Entries have their times in their ids.
    ...filters({ 'id][gt': boundAt(from), 'id][lt': boundAt(to) }),
    ...(OUTCOMES[status] ?? filters({ status })),
    ...(clients.length === 0 ? {} : { 'filter[client_id][in]': clients.join(',') }),
  });
}

/** The least id that an entry of this time could have; empty for none. */
function boundAt(text: string): string {
  if (text === '') return text;
  const at = new Date(instantOf(text));
  if (Number.isNaN(at.getTime())) throw new ApiError(400, `“${text}” is not a time.`);
  return leastIdAt('rlg', at);
}

/** A path that may break after each segment, and within ids. */
function breakable(path: string): Content {
  return path.split(/(?<=[/_])|(?<=\w{13})(?=\w)/).map((part) => html`${part}<wbr>`);
}

function clientOf({ client_id: id, authenticated }: LoggedRequest, names: Names): Content {
  return html`${applicationLink(id, names)}${!authenticated && html`<br><span class="hint">Named only</span>`}`;
}

function reason({ code, message, missing_scope: scope, client_id: client }: LoggedRequest): Content {
  if (code === null) return '–';
  const way = `/dashboard/applications/${encodeURIComponent(client)}#scopes`;
  return html`<code>${code}</code><br>${message}${scope !== null && html`<br><a href="${way}">Add a scope to the application</a>`}`;
}

import { html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import {
  type ApiApplication,
  type AppType,
  applicationPath,
  isConfidential,
} from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import { findApplications, USER_HINT, userIdOf } from '../../api/lookups.ts';
import { namesOfUsers } from '../../api/names.ts';
import { errorOf } from '../../pages/fields.ts';
import { lastUsed, statusTag, time } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { listView, type ResourceList } from '../../resources/resource-list.ts';
import type { DashboardRouter, Visit } from '../../routes/dashboard-router.ts';
import { hasRole } from '../../sessions/session.ts';
import { applicationForm, typeChoice } from './application-form.ts';
import { ownerText } from './application-settings-page.ts';
import { TYPES } from './application-texts.ts';
import { type ApplicationValues, newValues, sentValues, settingsOf } from './application-values.ts';
import { transferNotice } from './transfer-page.ts';
import { transfersTo } from './transfers.ts';

export const APPLICATIONS = '/dashboard/applications';
const API = '/api/v1/applications';
const APPLICATION_LIST: ResourceList<ApiApplication> = {
  name: 'applications',
  noun: ['application', 'applications'],
  api: API,
  introduction: async ({ api }) => transferNotice((await attempt(transfersTo(api))).value ?? []),
  notices: {
    deleted: 'The application is deleted. Its tokens, secrets and keys no longer work.',
    declined: 'You declined the application. It stays with its owner.',
  },
  filters: [
    { name: 'q', label: 'Name or client ID' },
    { name: 'owner', label: 'Owner', hint: USER_HINT, role: 'admin' },
  ],
  async find({ api }, { q = '', owner = '', cursor }) {
    return findApplications(api, { q, owner: await userIdOf(api, owner), cursor });
  },
  names: async ({ api, person }, rows) =>
    namesOfUsers(api, hasRole(person, 'admin') ? rows.map(({ owner }) => owner) : []),
  columns: ({ person }) => [
    {
      title: 'Name',
      show: (it) =>
        html`<a href="${pathOf(it)}"><bdi>${it.name}</bdi></a><br><code class="below">${it.client_id}</code>`,
    },
    {
      title: 'Type',
      show: ({ type, trusted }) => html`${TYPES[type].short} ${trusted && statusTag('trusted')}`,
    },
    {
      title: 'Owner',
      role: 'admin',
      show: (application, people) => ownerText({ application, person, people }),
    },
    { title: 'Created', show: ({ created_at: at }) => time(at) },
    { title: 'Last used', show: (it) => lastUsed(it) },
  ],
  empty: html`<p><strong>You have no applications yet.</strong> A website, a phone app or a job on a server needs an application to get access tokens.</p>`,
  create: { invitation: 'New application' },
};

/** Applications: the list, and making one. */
export function addApplicationRoutes({ get, postOnce }: DashboardRouter): void {
  get('/applications', (visit) => listView(APPLICATION_LIST, visit));

  get('/applications/new', ({ query, csrf }) => {
    const type = typeOf(query('type'));
    if (type === undefined) return newView('New application', typeChoice(`${APPLICATIONS}/new`));
    return newApplicationView(csrf, type, newValues(type));
  });

  postOnce('/applications/new', async ({ api, csrf, putFlash }, fields) => {
    const type = typeOf(fields.text('type')) ?? 'web';
    const values = sentValues(fields);
    try {
      const body = { ...settingsOf(values, type), type };
      const made = await api.send<ApiApplication & { client_secret?: string }>('POST', API, body);
      if (!isConfidential(made) || made.client_secret === undefined) return `${pathOf(made)}?done=created`;
      const path = `${pathOf(made)}/credentials`;
      await putFlash(path, JSON.stringify({ kind: 'secret', text: made.client_secret }));
      return `${path}?done=created`;
    } catch (error) {
      return newApplicationView(csrf, type, values, errorOf(error));
    }
  });
}

/** The page of an application. */
export const pathOf = ({ client_id: id }: ApiApplication) => `${APPLICATIONS}/${encodeURIComponent(id)}`;

/** The application that the path names. */
export function readApplication({ api, param }: Visit): Promise<ApiApplication> {
  return api.get<ApiApplication>(applicationPath(param('id')));
}

function typeOf(text: string): AppType | undefined {
  return Object.hasOwn(TYPES, text) ? (text as AppType) : undefined;
}

function newView(title: string, body: View['body'], failed = false): View {
  const trail = [{ href: APPLICATIONS, title: 'Applications' }];
  return { title, section: 'applications', trail, body, failed };
}

function newApplicationView(csrf: string, type: AppType, values: ApplicationValues, error?: ApiError): View {
  const { name, how } = TYPES[type];
  const body = html`<p>${how} <a href="${APPLICATIONS}/new">Choose another type</a>.</p>
${applicationForm({ action: `${APPLICATIONS}/new`, csrf, type, values, error, submit: 'Create application' })}`;
  return newView(`New ${name.toLowerCase()}`, body, error !== undefined);
}

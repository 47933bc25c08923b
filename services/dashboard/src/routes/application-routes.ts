import { html } from '@gatehouse/web/html';
import type { ApiError } from '../api/api-error.ts';
import {
  type ApiApplication,
  type AppType,
  applicationPath,
  isConfidential,
} from '../api/application-types.ts';
import { attempt } from '../api/attempt.ts';
import { findApplications, USER_HINT, userIdOf } from '../api/lookups.ts';
import { type Names, namesOfUsers } from '../api/names.ts';
import { transfersTo } from '../api/transfers.ts';
import { applicationForm, typeChoice } from '../pages/application-form.ts';
import { ownerText } from '../pages/application-settings-page.ts';
import { TYPES } from '../pages/application-texts.ts';
import type { ApplicationValues } from '../pages/application-values.ts';
import { errorOf } from '../pages/fields.ts';
import { type Column, list } from '../pages/list.ts';
import { entryOf, lastUsed, statusTag, time } from '../pages/parts.ts';
import { transferNotice } from '../pages/transfer-page.ts';
import type { View } from '../pages/view.ts';
import type { Person } from '../sessions/session.ts';
import { newValues, sentValues, settingsOf } from './application-values.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

export const APPLICATIONS = '/dashboard/applications';
const API = '/api/v1/applications';
const NOTICES: Record<string, string> = {
  deleted: 'The application is deleted. Its tokens, secrets and keys no longer work.',
  declined: 'You declined the application. It stays with its owner.',
};

/** Applications: the list, and making one. */
export function addApplicationRoutes({ get, postOnce }: DashboardRouter): void {
  get('/applications', async ({ api, query, person }) => {
    const isAdmin = person.role === 'admin';
    const values = isAdmin ? { q: query('q'), owner: query('owner') } : { q: query('q') };
    const cursor = query('cursor');
    const outcome = await attempt(
      userIdOf(api, values.owner ?? '').then((owner) => findApplications(api, { ...values, owner, cursor })),
    );
    const transfers = (await attempt(transfersTo(api))).value ?? [];
    const owners = (outcome.value?.data ?? []).map(({ owner }) => owner);
    const people: Names = isAdmin ? await namesOfUsers(api, owners) : new Map();
    return {
      title: 'Applications',
      section: 'applications',
      notice: entryOf(NOTICES, query('done')),
      actions: html`<a class="primary" href="${APPLICATIONS}/new">New application</a>`,
      body: html`${transferNotice(transfers)}
${list({
  path: APPLICATIONS,
  noun: ['application', 'applications'],
  search: [
    { kind: 'text', name: 'q', label: 'Name or client ID' },
    ...(isAdmin ? ([{ kind: 'text', name: 'owner', label: 'Owner', hint: USER_HINT }] as const) : []),
  ],
  values,
  cursor,
  outcome,
  columns: columns(isAdmin, person, people),
  empty: html`<p><strong>You have no applications yet.</strong> A website, a phone app or a job on a server needs an application to get access tokens.</p><p><a class="button primary" href="${APPLICATIONS}/new">New application</a></p>`,
})}`,
    };
  });

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

function columns(isAdmin: boolean, person: Person, people: Names): Column<ApiApplication>[] {
  return [
    {
      title: 'Name',
      show: (it) =>
        html`<a href="${pathOf(it)}"><bdi>${it.name}</bdi></a><br><code class="below">${it.client_id}</code>`,
    },
    {
      title: 'Type',
      show: ({ type, trusted }) => html`${TYPES[type].short} ${trusted && statusTag('trusted')}`,
    },
    ...(isAdmin
      ? [
          {
            title: 'Owner',
            show: (application: ApiApplication) => ownerText({ application, person, people }),
          },
        ]
      : []),
    { title: 'Created', show: ({ created_at: at }) => time(at) },
    { title: 'Last used', show: (it) => lastUsed(it) },
  ];
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

import { html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import {
  type ApiApplication,
  type ApplicationPage,
  type AppType,
  applicationPath,
  isConfidential,
} from '../api/application-types.ts';
import { attempt } from '../api/attempt.ts';
import type { Fields } from '../http/forms.ts';
import { type ApplicationValues, applicationForm, typeChoice } from '../pages/application-form.ts';
import {
  applicationFacts,
  applicationView,
  deleteForm,
  profileForm,
  transferForm,
} from '../pages/application-pages.ts';
import { PINS, TYPES, USUAL_SCOPES } from '../pages/application-texts.ts';
import { refusalOf } from '../pages/fields.ts';
import { list } from '../pages/list.ts';
import { statusTag, time } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

const PATH = '/dashboard/applications';
const API = '/api/v1/applications';
const NOTICES: Record<string, string> = {
  saved: 'Your changes are saved.',
  created: 'The application is created. The quick start shows how to use it.',
  pinned: 'The profiles are saved. Tokens that are issued from now on have them.',
  deleted: 'The application is deleted. Its tokens, secrets and keys no longer work.',
  transferred: 'The application belongs to its new owner.',
};

/** Applications: the list, making one, its settings and profiles, transferring and deleting it. */
export function addApplicationRoutes({ get, post }: DashboardRouter): void {
  get('/applications', async ({ api, query, person }) => {
    const q = query('q');
    const outcome = await attempt(
      api.get<ApplicationPage>(API, { cursor: query('cursor'), q: q || undefined }),
    );
    return {
      title: 'Applications',
      section: 'applications',
      notice: NOTICES[query('done')],
      actions: html`<a class="primary" href="${PATH}/new">New application</a>`,
      body: list({
        path: PATH,
        noun: ['application', 'applications'],
        search: [{ kind: 'text', name: 'q', label: 'Name', hint: 'Words of the name' }],
        values: { q },
        outcome,
        columns: [
          {
            title: 'Name',
            show: ({ client_id: id, name }) =>
              html`<a href="${PATH}/${encodeURIComponent(id)}"><bdi>${name}</bdi></a>`,
          },
          {
            title: 'Type',
            show: ({ type, trusted }) => html`${TYPES[type].name} ${trusted && statusTag('trusted')}`,
          },
          { title: 'Client ID', show: ({ client_id: id }) => html`<code>${id}</code>` },
          ...(person.role === 'admin'
            ? [
                {
                  title: 'Owner',
                  show: ({ owner }: ApiApplication) =>
                    owner === person.id
                      ? 'you'
                      : owner === null
                        ? 'the operator'
                        : html`<code>${owner}</code>`,
                },
              ]
            : []),
          { title: 'Created', show: ({ created_at: at }) => time(at) },
        ],
        empty: html`<p><strong>You have no application yet.</strong> An application is what gets access tokens: a website, an app on a phone, or a job on a server.</p><p><a class="button primary" href="${PATH}/new">Create your first application</a></p>`,
      }),
    };
  });

  get('/applications/new', ({ query, csrf }) => {
    const type = typeOf(query('type'));
    if (type === undefined) return newView('New application', typeChoice(`${PATH}/new`));
    return newApplicationView(csrf, type, { ...EMPTY, scopes: USUAL_SCOPES[type] });
  });

  post('/applications/new', async ({ api, csrf, putOnce }, fields) => {
    const type = typeOf(fields.text('type')) ?? 'web';
    try {
      const body = { ...settingsOf(fields, type), type };
      const made = await api.send<ApiApplication & { client_secret?: string }>('POST', API, body);
      const path = `${PATH}/${encodeURIComponent(made.client_id)}`;
      if (!isConfidential(made) || made.client_secret === undefined) return `${path}?done=created`;
      await putOnce(JSON.stringify({ kind: 'secret', text: made.client_secret }));
      return `${path}/credentials?done=created`;
    } catch (error) {
      return newApplicationView(csrf, type, valuesOf(fields), refusalOf(error));
    }
  });

  get('/applications/:id', async (visit) => {
    return settingsView(visit, await read(visit), { notice: NOTICES[visit.query('done')] });
  });

  post('/applications/:id', async (visit, fields) => {
    const application = await read(visit);
    try {
      const changes = settingsOf(fields, application.type);
      await visit.api.send('PATCH', applicationPath(application.client_id), changes);
      return `${pathOf(application)}?done=saved`;
    } catch (error) {
      return settingsView(visit, application, { values: valuesOf(fields), error: refusalOf(error) });
    }
  });

  get('/applications/:id/profiles', async (visit) => {
    return profilesView(visit, await read(visit), { notice: NOTICES[visit.query('done')] });
  });

  post('/applications/:id/profiles', async (visit, fields) => {
    const application = await read(visit);
    const chosen = Object.keys(PINS).map((pin) => [pin, fields.text(pin)] as const);
    // A pin that this page does not offer stays as it is.
    const profiles = Object.fromEntries([
      ...Object.entries(application.profiles).filter(([pin]) => PINS[pin] === undefined),
      ...chosen.filter(([, profile]) => profile !== ''),
    ]);
    try {
      await visit.api.send('PATCH', applicationPath(application.client_id), { profiles });
      return `${pathOf(application)}/profiles?done=pinned`;
    } catch (error) {
      return profilesView(visit, application, { error: refusalOf(error) });
    }
  });

  post('/applications/:id/transfer', async (visit, fields) => {
    const application = await read(visit);
    try {
      const to = fields.text('to');
      await visit.api.send('POST', `${applicationPath(application.client_id)}/transfer`, { to });
      return `${PATH}?done=transferred`;
    } catch (error) {
      return settingsView(visit, application, { transferError: refusalOf(error) });
    }
  });

  post('/applications/:id/delete', async (visit, fields) => {
    const application = await read(visit);
    if (fields.text('confirmation') !== application.name.trim()) {
      return settingsView(visit, application, { wrongName: true });
    }
    await visit.api.send('DELETE', applicationPath(application.client_id));
    return `${PATH}?done=deleted`;
  });
}

const EMPTY: ApplicationValues = {
  name: '',
  redirectUris: '',
  postLogoutRedirectUris: '',
  backchannelLogoutUri: '',
  scopes: [],
  dpopBound: false,
};

const pathOf = ({ client_id: id }: ApiApplication) => `${PATH}/${encodeURIComponent(id)}`;

function read({ api, param }: Visit): Promise<ApiApplication> {
  return api.get<ApiApplication>(applicationPath(param('id')));
}

function typeOf(text: string): AppType | undefined {
  return Object.hasOwn(TYPES, text) ? (text as AppType) : undefined;
}

function newView(title: string, body: View['body'], failed = false): View {
  const trail = [{ href: PATH, title: 'Applications' }];
  return { title, section: 'applications', trail, body, failed };
}

function newApplicationView(csrf: string, type: AppType, values: ApplicationValues, error?: ApiError): View {
  const { name, how } = TYPES[type];
  const body = html`<p>${how} <a href="${PATH}/new">Choose another type</a>.</p>
${applicationForm({ action: `${PATH}/new`, csrf, type, values, error, submit: 'Create application' })}`;
  return newView(`New ${name.toLowerCase()}`, body, error !== undefined);
}

function settingsView(
  { csrf }: Visit,
  application: ApiApplication,
  shown: {
    values?: ApplicationValues;
    error?: ApiError;
    transferError?: ApiError;
    wrongName?: boolean;
    notice?: string | undefined;
  },
): View {
  const path = pathOf(application);
  const { error, transferError, wrongName = false } = shown;
  return applicationView(application, {
    path: '',
    notice: shown.notice,
    failed: error !== undefined || transferError !== undefined || wrongName,
    body: html`${applicationFacts(application)}
<section><h2>Settings</h2>${applicationForm({
      action: path,
      csrf,
      type: application.type,
      values: shown.values ?? {
        name: application.name,
        redirectUris: application.redirect_uris.join('\n'),
        postLogoutRedirectUris: application.post_logout_redirect_uris.join('\n'),
        backchannelLogoutUri: application.backchannel_logout_uri ?? '',
        scopes: application.scopes,
        dpopBound: application.dpop_bound_access_tokens,
      },
      error,
      submit: 'Save',
    })}</section>
${transferForm({ action: `${path}/transfer`, csrf, error: transferError })}
${deleteForm({
  action: `${path}/delete`,
  csrf,
  name: application.name,
  what: 'application',
  consequence: 'Its tokens, secrets and API keys stop working at once. This cannot be undone.',
  wrong: wrongName,
})}`,
  });
}

function profilesView(
  { csrf }: Visit,
  application: ApiApplication,
  shown: { notice?: string | undefined; error?: ApiError },
): View {
  const action = `${pathOf(application)}/profiles`;
  const { error } = shown;
  return applicationView(application, {
    path: '/profiles',
    notice: shown.notice,
    failed: error !== undefined,
    body: profileForm({ action, csrf, pinned: application.profiles, error }),
  });
}

function valuesOf(fields: Fields): ApplicationValues {
  return {
    name: fields.text('name'),
    redirectUris: fields.text('redirect_uris'),
    postLogoutRedirectUris: fields.text('post_logout_redirect_uris'),
    backchannelLogoutUri: fields.text('backchannel_logout_uri'),
    scopes: fields.all('scopes'),
    dpopBound: fields.has('dpop_bound'),
  };
}

/** The settings in the form as the API takes them. */
function settingsOf(fields: Fields, type: AppType): Record<string, unknown> {
  const values = valuesOf(fields);
  const lines = (text: string) => text.split(/\s+/).filter((line) => line !== '');
  return {
    name: values.name,
    scopes: values.scopes,
    dpop_bound_access_tokens: values.dpopBound,
    ...(type === 'machine'
      ? {}
      : {
          redirect_uris: lines(values.redirectUris),
          post_logout_redirect_uris: lines(values.postLogoutRedirectUris),
          backchannel_logout_uri: values.backchannelLogoutUri || null,
        }),
  };
}

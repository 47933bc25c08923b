import { html } from '@gatehouse/ui/html';
import type { ApiError } from '../api/api-error.ts';
import {
  type ApiApplication,
  type ApiKey,
  type ApiSecret,
  applicationPath,
  isConfidential,
} from '../api/application-types.ts';
import { applicationView } from '../pages/application-pages.ts';
import { keySection, type NewCredential, newCredential, secretSection } from '../pages/credential-pages.ts';
import { refusalOf } from '../pages/fields.ts';
import { entryOf } from '../pages/parts.ts';
import type { View } from '../pages/view.ts';
import type { DashboardRouter, Visit } from './dashboard-router.ts';

const NOTICES: Record<string, string> = {
  created: 'The application is created. Copy its secret now; the quick start shows how to use it.',
  removed: 'The secret no longer works.',
  revoked: 'The API key no longer works.',
};

/** Client secrets and API keys of an application. New ones are shown on the page that follows, once. */
export function addCredentialRoutes({ get, post, postOnce }: DashboardRouter): void {
  const path = (visit: Visit) =>
    `/dashboard/applications/${encodeURIComponent(visit.param('id'))}/credentials`;
  const apiPath = (visit: Visit) => applicationPath(visit.param('id'));

  async function showFresh(visit: Visit, credential: NewCredential): Promise<string> {
    await visit.putOnce(path(visit), JSON.stringify(credential));
    return path(visit);
  }

  get('/applications/:id/credentials', (visit) =>
    view(visit, { notice: entryOf(NOTICES, visit.query('done')) }),
  );

  postOnce('/applications/:id/credentials/secrets', async (visit, fields) => {
    try {
      const body = lifetime(fields.text('expires_in'));
      const made = await visit.api.send<{ client_secret: string }>('POST', `${apiPath(visit)}/secrets`, body);
      return showFresh(visit, { kind: 'secret', text: made.client_secret });
    } catch (error) {
      return view(visit, { secretError: refusalOf(error) });
    }
  });

  post('/applications/:id/credentials/secrets/remove', async (visit, fields) => {
    await visit.api.send('DELETE', `${apiPath(visit)}/secrets/${encodeURIComponent(fields.required('id'))}`);
    return `${path(visit)}?done=removed`;
  });

  postOnce('/applications/:id/credentials/keys', async (visit, fields) => {
    const values = { name: fields.text('name'), scopes: fields.all('scopes') };
    try {
      const body = { ...values, ...lifetime(fields.text('key_expires_in')) };
      const made = await visit.api.send<{ api_key: string }>('POST', `${apiPath(visit)}/api-keys`, body);
      return showFresh(visit, { kind: 'key', text: made.api_key });
    } catch (error) {
      return view(visit, { keyError: refusalOf(error), values });
    }
  });

  postOnce('/applications/:id/credentials/keys/rotate', async (visit, fields) => {
    const key = `${apiPath(visit)}/api-keys/${encodeURIComponent(fields.required('id'))}`;
    try {
      const body = { overlap_seconds: Number(fields.text('overlap')) };
      const made = await visit.api.send<{ api_key: string }>('POST', `${key}/rotate`, body);
      return showFresh(visit, { kind: 'rotated_key', text: made.api_key });
    } catch (error) {
      return view(visit, { keyError: refusalOf(error) });
    }
  });

  post('/applications/:id/credentials/keys/revoke', async (visit, fields) => {
    await visit.api.send('DELETE', `${apiPath(visit)}/api-keys/${encodeURIComponent(fields.required('id'))}`);
    return `${path(visit)}?done=revoked`;
  });

  async function view(
    visit: Visit,
    shown: {
      notice?: string | undefined;
      secretError?: ApiError;
      keyError?: ApiError;
      values?: { name: string; scopes: readonly string[] };
    },
  ): Promise<View> {
    const { api, csrf } = visit;
    const { secretError, keyError, values } = shown;
    const [application, secrets, keys] = await Promise.all([
      api.get<ApiApplication>(apiPath(visit)),
      api.get<{ data: ApiSecret[] }>(`${apiPath(visit)}/secrets`),
      api.get<{ data: ApiKey[] }>(`${apiPath(visit)}/api-keys`),
    ]);
    const fresh = await visit.takeOnce();
    const common = { application, action: path(visit), csrf };
    const section = {
      ...common,
      keys: keys.data,
      error: keyError,
      ...(values === undefined ? {} : { values }),
    };
    return applicationView(application, {
      path: '/credentials',
      notice: shown.notice,
      failed: secretError !== undefined || keyError !== undefined,
      body: html`${fresh.map((text, at) => newCredential(JSON.parse(text) as NewCredential, at))}
${isConfidential(application) && secretSection({ ...common, secrets: secrets.data, error: secretError })}
${keySection(section)}`,
    });
  }
}

/** What the API takes for a lifetime in seconds; nothing for one without an end. */
function lifetime(text: string): { expires_in?: number } {
  return text === 'never' ? {} : { expires_in: Number(text) };
}

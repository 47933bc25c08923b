import { html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import { type ApiKey, type ApiSecret, applicationPath, isConfidential } from '../../api/application-types.ts';
import { errorOf, selectField } from '../../pages/fields.ts';
import { entryOf, exactTime, lastUseText } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { addConfirmed } from '../../resources/confirmed.ts';
import { type DashboardRouter, notFound, type Visit } from '../../routes/dashboard-router.ts';
import { applicationView } from './application-pages.ts';
import { readApplication } from './application-routes.ts';
import {
  ending,
  keySection,
  type NewCredential,
  newCredential,
  OVERLAPS,
  secretSection,
} from './credential-pages.ts';

const NOTICES: Record<string, string> = {
  created:
    'The application is created. Copy its client ID and secret now. The quick start shows how to use them.',
  removed: 'The secret no longer works.',
  revoked: 'The API key no longer works.',
};

/** Client secrets and API keys of an application. New ones are shown on the page that follows, once. */
export function addCredentialRoutes(router: DashboardRouter): void {
  const { get, postOnce } = router;
  const path = (visit: Visit) =>
    `/dashboard/applications/${encodeURIComponent(visit.param('id'))}/credentials`;
  const apiPath = (visit: Visit) => applicationPath(visit.param('id'));

  async function showFresh(visit: Visit, credential: NewCredential): Promise<string> {
    await visit.putFlash(path(visit), JSON.stringify(credential));
    return path(visit);
  }

  get('/applications/:id/credentials', (visit) =>
    view(visit, { notice: entryOf(NOTICES, visit.query('done')) }),
  );

  postOnce('/applications/:id/credentials/secrets', async (visit, fields) => {
    const label = fields.text('label');
    try {
      const body = { ...(label === '' ? {} : { label }), ...lifetime(fields.text('expires_in')) };
      const made = await visit.api.send<{ client_secret: string }>('POST', `${apiPath(visit)}/secrets`, body);
      return showFresh(visit, { kind: 'secret', text: made.client_secret });
    } catch (error) {
      return view(visit, { secretError: errorOf(error), label });
    }
  });

  addConfirmed(router, '/applications/:id/credentials/secrets/:credential/remove', async (visit) => {
    const [{ name }, secrets] = await Promise.all([readApplication(visit), secretsOf(visit)]);
    const secret = named(visit, secrets);
    const isLast = secrets.length === 1;
    return {
      ...common(visit, name),
      title: isLast ? 'Remove the last client secret?' : 'Remove this client secret?',
      lost: html`<p>Client secret ${secret.label !== null && html`<bdi>${secret.label}</bdi> `}${secret.last_four === null ? html`<code>${secret.id}</code>` : html`ending in ${ending(secret)}`}, created ${exactTime(secret.created_at)}, ${lastUseText(secret)}. Applications that use it stop working at once.</p>
${isLast && html`<p>It is the only secret of <strong><bdi>${name}</bdi></strong>: no tokens can be issued to the application until you add another.</p>`}`,
      ...(isLast ? { name } : {}),
      submit: 'Remove secret',
      async act() {
        await visit.api.send('DELETE', `${apiPath(visit)}/secrets/${encodeURIComponent(secret.id)}`);
        return `${path(visit)}?done=removed`;
      },
    };
  });

  postOnce('/applications/:id/credentials/keys', async (visit, fields) => {
    const values = { name: fields.text('name'), scopes: fields.all('scopes') };
    try {
      const body = { ...values, ...lifetime(fields.text('key_expires_in')) };
      const made = await visit.api.send<{ api_key: string }>('POST', `${apiPath(visit)}/api-keys`, body);
      return showFresh(visit, { kind: 'key', text: made.api_key });
    } catch (error) {
      return view(visit, { keyError: errorOf(error), values });
    }
  });

  const keyPath = (visit: Visit, { id }: ApiKey) => `${apiPath(visit)}/api-keys/${encodeURIComponent(id)}`;

  addConfirmed(router, '/applications/:id/credentials/keys/:credential/rotate', async (visit, sent) => {
    const [{ name }, keys] = await Promise.all([readApplication(visit), keysOf(visit)]);
    const key = named(visit, keys);
    return {
      ...common(visit, name),
      title: `Rotate the API key “${key.name}”?`,
      lost: html`<p>A new key with the same scopes replaces it. The old key, ${lastUseText(key)}, stops working after the time that you choose below. Put the new key in place before then.</p>`,
      fields: selectField({
        ...{ name: 'overlap', label: 'The old key keeps working for', required: true, options: OVERLAPS },
        value: sent?.fields.text('overlap') ?? '',
      }),
      submit: 'Rotate key',
      async act(fields) {
        const body = { overlap_seconds: Number(fields.required('overlap')) };
        const made = await visit.api.send<{ api_key: string }>('POST', `${keyPath(visit, key)}/rotate`, body);
        return showFresh(visit, { kind: 'rotated_key', text: made.api_key });
      },
    };
  });

  addConfirmed(router, '/applications/:id/credentials/keys/:credential/revoke', async (visit) => {
    const [{ name }, keys] = await Promise.all([readApplication(visit), keysOf(visit)]);
    const key = named(visit, keys);
    return {
      ...common(visit, name),
      title: `Revoke the API key “${key.name}”?`,
      lost: html`<p>API key <bdi>${key.name}</bdi>${key.last_four !== null && html` ending in ${ending(key)}`}, ${lastUseText(key)}. Programs that use it stop working at once.</p>`,
      submit: 'Revoke key',
      async act() {
        await visit.api.send('DELETE', keyPath(visit, key));
        return `${path(visit)}?done=revoked`;
      },
    };
  });

  const secretsOf = async (visit: Visit) =>
    (await visit.api.get<{ data: ApiSecret[] }>(`${apiPath(visit)}/secrets`)).data;
  const keysOf = async (visit: Visit) =>
    (await visit.api.get<{ data: ApiKey[] }>(`${apiPath(visit)}/api-keys`)).data;

  /** The one that the path names. */
  function named<T extends { id: string }>(visit: Visit, credentials: readonly T[]): T {
    const found = credentials.find(({ id }) => id === visit.param('credential'));
    if (found === undefined) throw notFound();
    return found;
  }

  const common = (visit: Visit, application: string) => ({
    section: 'applications' as const,
    trail: [
      { href: '/dashboard/applications', title: 'Applications' },
      { href: path(visit), title: application },
    ],
    back: path(visit),
  });

  async function view(
    visit: Visit,
    shown: {
      notice?: string | undefined;
      secretError?: ApiError;
      keyError?: ApiError;
      label?: string;
      values?: { name: string; scopes: readonly string[] };
    },
  ): Promise<View> {
    const { secretError, keyError, values, label } = shown;
    const [application, secrets, keys] = await Promise.all([
      readApplication(visit),
      secretsOf(visit),
      keysOf(visit),
    ]);
    const fresh = (await visit.takeFlashes()).map((text) => JSON.parse(text) as NewCredential);
    const target = { application, action: path(visit), csrf: visit.csrf, fresh };
    const section = {
      ...target,
      keys,
      error: keyError,
      ...(values === undefined ? {} : { values }),
    };
    return applicationView(application, {
      path: '/credentials',
      notice: shown.notice,
      failed: secretError !== undefined || keyError !== undefined,
      body: html`${fresh.map((it, at) => newCredential(it, at, application.client_id))}
${isConfidential(application) && secretSection({ ...target, secrets, error: secretError, label })}
${keySection(section)}`,
    });
  }
}

/** What the API takes for a lifetime in seconds; nothing for one without an end. */
function lifetime(text: string): { expires_in?: number } {
  return text === 'never' ? {} : { expires_in: Number(text) };
}

import { type Html, html } from '@gatehouse/web/html';
import type { Outcome } from '../../api/attempt.ts';
import { applicationLink, notAvailable, time } from '../../pages/parts.ts';
import { type Column, table } from '../../pages/table.ts';
import type { Resource, ResourceQuestion, Target } from '../../resources/resource.ts';
import { notFound, type Visit } from '../../routes/visit.ts';
import type { ApiUser } from './user-list.ts';

/** An application that a user has allowed to use the account, as the API lists it. */
export type ApiConsent = {
  client_id: string;
  name: string;
  scopes: readonly string[];
  allowed_since: string;
};
export type ConsentList = { data: readonly ApiConsent[] };

/** One that describes itself at a URL is not registered here, and has no page. */
const nameOf = ({ client_id: id, name }: ApiConsent): Html =>
  id.includes('/') ? html`<bdi>${name}</bdi>` : html`${applicationLink(id, new Map([[id, name]]))}`;

/** The applications that a user has allowed to use the account. */
export function consentSection(outcome: Outcome<ConsentList>, path: string): Html {
  if (outcome.error !== undefined) {
    return html`<section><h2>Applications with access</h2>${notAvailable('Applications', outcome.error, { again: path })}</section>`;
  }
  const columns: Column<ApiConsent>[] = [
    {
      title: 'Application',
      show: (it) => html`${nameOf(it)}<br><code class="below">${it.client_id}</code>`,
    },
    { title: 'Scopes', show: ({ scopes }) => scopes.join(' ') },
    { title: 'Allowed since', show: ({ allowed_since: at }) => time(at) },
    {
      title: 'Access',
      show: ({ client_id: id, name }) =>
        html`<a class="button danger" href="${path}/applications/${encodeURIComponent(id)}/end" aria-label="${`End access of ${name}`}">End access</a>`,
    },
  ];
  const { data } = outcome.value;
  return html`<section><h2>Applications with access</h2>
${data.length === 0 ? html`<p class="hint">This user has not allowed any application to use the account.</p>` : table(columns, data)}</section>`;
}

/** The consents of the user whose page it is. */
export const consentsPath = (visit: Visit, clientId = '') =>
  `/api/v1/consents${clientId && `/${encodeURIComponent(clientId)}`}?${new URLSearchParams({ user_id: visit.id('usr') })}`;

/** The question before the access of an application is ended. */
export const consentQuestions: NonNullable<Resource<ApiUser>['confirmed']> = {
  async 'applications/:client/end'({ visit, value, path }: Target<ApiUser>): Promise<ResourceQuestion> {
    const { data } = await visit.api.get<ConsentList>(consentsPath(visit));
    const consent = data.find(({ client_id: id }) => id === visit.param('client'));
    if (consent === undefined) throw notFound();
    const { client_id: id, name, scopes, allowed_since: since } = consent;
    return {
      title: `End the access of “${name}” to the account of ${value.username ?? value.id}?`,
      lost: html`<p>It has had access since ${time(since)}, with the scopes ${scopes.join(', ')}.</p>
<p>Its tokens for the account stop working at once. The person stays signed in elsewhere, and is asked again at the next sign-in to the application.</p>`,
      submit: 'End access',
      async act() {
        await visit.api.send('DELETE', consentsPath(visit, id));
        return `${path}?done=access_ended`;
      },
    };
  },
};

import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import type { ApiError } from '../../api/api-error.ts';
import type { ApiApplication, Application } from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import { namesOfUsers, withoutLinks } from '../../api/names.ts';
import { errorOf, formProblem } from '../../pages/fields.ts';
import { facts, lastUseText, time, userLink } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import type { ResourceQuestion, ResourceView, Target } from '../../resources/resource.ts';
import type { DashboardRouter } from '../../routes/dashboard-router.ts';
import { notFound, type Visit } from '../../routes/visit.ts';
import { TYPES } from './application-texts.ts';

/** An application that somebody offers, as the API returns it. */
type ApiTransfer = {
  id: string;
  sender: { id: string; username: string };
  /** The id of the person who may accept it. */
  to: string;
  expires_at: string;
  application: Pick<
    ApiApplication,
    'client_id' | 'name' | 'type' | 'redirect_uris' | 'scopes' | 'trusted'
  > & {
    grant_types: string[];
  };
};

const LIST = '/dashboard/applications';

/** The question before an application is offered to another person. */
export function askToTransfer({ visit, value, path, apiPath }: Target<Application>): ResourceQuestion {
  return {
    name: value.name,
    title: `Transfer “${value.name}”?`,
    lost: html`<p>The new owner has 7 days to accept. If you change the application before, the offer ends. When they accept, you lose access to the application, and its client secrets, API keys, tokens and the permissions that people gave it end. The new owner creates new secrets and keys. The application was ${lastUseText(value)}.</p>`,
    rows: [
      {
        name: 'to',
        label: 'New owner',
        required: true,
        hint: 'Their username, confirmed email address, or user ID.',
      },
    ],
    submit: 'Transfer application',
    async act(fields) {
      const body = { to: fields.text('to') };
      const result = await visit.api.send<ApiApplication | ApiTransfer>('POST', `${apiPath}/transfer`, body);
      // An admin who names themselves has it at once.
      return `${path}?done=${'application' in result ? 'offered' : 'accepted'}`;
    },
  };
}

/** Takes an offer back. */
export async function cancelTransfer({ visit, path, apiPath }: Target<Application>): Promise<string> {
  await visit.api.send('DELETE', `${apiPath}/transfer`);
  return `${path}?done=cancelled`;
}

/** Offering the application to another person, or the offer that waits. */
export async function transferSection({ visit, path, apiPath }: ResourceView<Application>): Promise<Html> {
  const { api, csrf, person } = visit;
  // Not found when there is none.
  const { value: transfer } = await attempt(api.get<ApiTransfer>(`${apiPath}/transfer`));
  if (transfer === undefined) {
    return html`<section class="panel"><h2>Transfer</h2><p>Another person becomes the owner, and you lose access.</p>
<p><a class="button secondary" href="${path}/transfer">Transfer application</a></p></section>`;
  }
  const people = person.role === 'user' ? withoutLinks() : await namesOfUsers(api, [transfer.to]);
  return html`<section class="panel"><h2>Transfer</h2><p>This application is offered to ${userLink(transfer.to, people)} until ${time(transfer.expires_at)}. It stays yours until they accept.</p>
${form({ action: `${path}/transfer/cancel`, csrf }, html`<div class="buttons"><button class="secondary">Cancel offer</button></div>`)}</section>`;
}

/** The applications that are offered to the person, with links to their pages. */
export async function transferNotice(api: Api): Promise<Content> {
  const { value: transfers = [] } = await attempt(transfersTo(api));
  if (transfers.length === 0) return false;
  return html`<section class="panel"><h2>Applications offered to you</h2><ul>${transfers.map(
    ({ id, application, sender, expires_at: expires }) =>
      html`<li><a href="/dashboard/transfers/${id}"><bdi>${application.name}</bdi></a>, offered by <bdi>${sender.username}</bdi> until ${time(expires)}</li>`,
  )}</ul></section>`;
}

/** The applications that were offered to the signed-in person. */
async function transfersTo(api: Api): Promise<ApiTransfer[]> {
  return (await api.get<{ data: ApiTransfer[] }>('/api/v1/transfers')).data;
}

/** An application that somebody offers: accepting and declining it. */
export function addTransferRoutes({ get, post }: DashboardRouter): void {
  get('/transfers/:id', (visit) => offerView(visit));

  post('/transfers/:id/accept', async (visit) => {
    try {
      const path = `/api/v1/transfers/${visit.id('trf')}/accept`;
      const { client_id: id } = await visit.api.send<ApiApplication>('POST', path);
      return `${LIST}/${encodeURIComponent(id)}?done=accepted`;
    } catch (error) {
      return offerView(visit, errorOf(error));
    }
  });

  post('/transfers/:id/decline', async (visit) => {
    await visit.api.send('POST', `/api/v1/transfers/${visit.id('trf')}/decline`);
    return `${LIST}?done=declined`;
  });
}

/** The facts about an application that a person needs before they accept it. */
async function offerView({ id, api, csrf }: Visit, error?: ApiError): Promise<View> {
  const transfer = (await transfersTo(api)).find((it) => it.id === id('trf'));
  if (transfer === undefined) throw notFound();
  const { application, sender, expires_at: expires } = transfer;
  const path = `/dashboard/transfers/${transfer.id}`;
  return {
    title: `Accept the application “${application.name}”?`,
    section: 'applications',
    trail: [{ href: LIST, title: 'Applications' }],
    failed: error !== undefined,
    body: html`<p><bdi>${sender.username}</bdi> wants to transfer this application to you. You can accept it until ${time(expires)}.</p>
${formProblem(error)}
<section class="panel">${facts([
      ['Name', html`<bdi>${application.name}</bdi>`],
      ['Client ID', html`<code>${application.client_id}</code>`],
      ['Type', TYPES[application.type].name],
      ['Redirect URIs', codes(application.redirect_uris)],
      ['Scopes', codes(application.scopes)],
      ['Grant types', codes(application.grant_types)],
      ['Trusted', application.trusted ? 'yes, but the trust ends when you accept' : 'no'],
    ])}</section>
<section class="panel"><h2>If you accept</h2><ul>
<li>You become the owner. The application acts with your role, and never has more permissions than you have.</li>
<li>People who sign in are sent to the redirect URIs of the application. Accept it only if you know who runs each of these sites, and remove the redirect URIs that you do not need.</li>
<li>Its client secrets, public keys, API keys and tokens stop working, and its trust ends. Its back-channel logout URI is removed.</li>
<li>All permissions that people gave the application end. People are asked again when they sign in.</li>
</ul><div class="buttons">${form({ action: `${path}/accept`, csrf }, html`<button class="primary">Accept</button>`)}
${form({ action: `${path}/decline`, csrf }, html`<button class="secondary">Decline</button>`)}</div></section>`,
  };
}

function codes(texts: readonly string[]): Html {
  return texts.length === 0
    ? html`none`
    : html`${texts.map((text, index) => html`${index > 0 && html`<br>`}<code dir="ltr">${text}</code>`)}`;
}

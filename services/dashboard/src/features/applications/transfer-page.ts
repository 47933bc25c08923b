import { form } from '@gatehouse/web/form';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { ApiError } from '../../api/api-error.ts';
import { formProblem } from '../../pages/fields.ts';
import { facts, time } from '../../pages/parts.ts';
import type { View } from '../../pages/view.ts';
import { TYPES } from './application-texts.ts';
import type { ApiTransfer } from './transfers.ts';

/** What somebody has to know of an application before they accept it. */
export function transferPage(it: {
  transfer: ApiTransfer;
  path: string;
  csrf: string;
  error: ApiError | undefined;
}): View {
  const { transfer, path, csrf } = it;
  const { application, sender, expires_at: expires } = transfer;
  return {
    title: `Accept the application “${application.name}”?`,
    section: 'applications',
    trail: [{ href: '/dashboard/applications', title: 'Applications' }],
    failed: it.error !== undefined,
    body: html`<p><bdi>${sender.username}</bdi> wants to transfer this application to you. You can accept it until ${time(expires)}.</p>
${formProblem(it.error, [])}
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

/** The applications that are offered to the person, with links to their pages. */
export function transferNotice(transfers: readonly ApiTransfer[]): Content {
  if (transfers.length === 0) return false;
  return html`<section class="panel"><h2>Applications offered to you</h2><ul>${transfers.map(
    ({ id, application, sender, expires_at: expires }) =>
      html`<li><a href="/dashboard/transfers/${id}"><bdi>${application.name}</bdi></a>, offered by <bdi>${sender.username}</bdi> until ${time(expires)}</li>`,
  )}</ul></section>`;
}

function codes(texts: readonly string[]): Html {
  return texts.length === 0
    ? html`none`
    : html`${texts.map((text, index) => html`${index > 0 && html`<br>`}<code dir="ltr">${text}</code>`)}`;
}

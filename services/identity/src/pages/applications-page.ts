import type { Role } from '@gatehouse/tokens/scopes';
import { type AccountFrame, accountDocument } from './account-document.ts';
import { permissionGroups } from './consent-page.ts';
import { form, type PageForm } from './form.ts';
import { day, hostname } from './formatting.ts';
import { type Html, html } from './html.ts';
import { describeScopes } from './scope-descriptions.ts';

export type AuthorizedApplication = {
  name: string;
  host?: string | undefined;
  scopes: readonly string[];
  since: Date;
  /** Takes the permission back. */
  revoke: PageForm;
};

export type ApplicationsModel = {
  frame: AccountFrame;
  role: Role;
  applications: readonly AuthorizedApplication[];
  notice?: 'revoked' | undefined;
};

export function applicationsPage(model: ApplicationsModel): string {
  const { applications, role } = model;
  return accountDocument({
    title: 'Applications',
    notice: model.notice && 'The application can no longer use your account.',
    frame: model.frame,
    current: 'applications',
    body:
      applications.length === 0
        ? html`<p class="empty">No application may use your account. When you allow one, it appears here.</p>`
        : html`<p>These applications may use your account. Take back what you no longer need: it takes effect at once, and you can allow it again later.</p>
<ul class="cards">${applications.map((application, index) => card(application, index, role))}</ul>`,
  });
}

function card(application: AuthorizedApplication, index: number, role: Role): Html {
  const { name, host, since, revoke } = application;
  const id = `application-${index + 1}`;
  return html`<li class="card"><h2 id="${id}"><bdi>${name}</bdi></h2>
<p class="card-facts">${host !== undefined && html`${hostname(host)}<br>`}Allowed on ${day(since)}</p>
<details><summary>What it can do<span class="visually-hidden">: <bdi>${name}</bdi></span></summary><div class="permissions">${permissionGroups(describeScopes(application.scopes, role))}</div></details>
${form(revoke, html`<button class="danger" aria-describedby="${id}">Take back permission</button>`)}</li>`;
}

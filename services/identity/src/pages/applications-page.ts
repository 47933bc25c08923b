import type { Role } from '@gatehouse/tokens/scopes';
import { form, type PageForm } from '@gatehouse/ui/form';
import { dateAndTime, day, hostname } from '@gatehouse/ui/formatting';
import { type Html, html } from '@gatehouse/ui/html';
import { type AccountFrame, accountDocument } from './account-document.ts';
import { permissionGroups } from './consent-page.ts';
import { describeScopes } from './scope-descriptions.ts';

export type AuthorizedApplication = {
  name: string;
  host?: string | undefined;
  scopes: readonly string[];
  since: Date;
  /** Takes the permission back. */
  revoke: PageForm;
};

/** An application that the person has registered. */
export type OwnApplicationView = {
  name: string;
  clientId: string;
  hasPublicKeys: boolean;
  secrets: readonly { createdAt: Date; lastUse: LastUse | null }[];
  keys: readonly { name: string; lastUse: LastUse | null }[];
  /** Of the application as a whole. */
  lastUse: LastUse | null;
};

type LastUse = { at: Date; address: string | null };

export type ApplicationsModel = {
  frame: AccountFrame;
  role: Role;
  applications: readonly AuthorizedApplication[];
  own: readonly OwnApplicationView[];
  /** Takes from all own applications what they can authenticate by. */
  endCredentials: PageForm;
  notice?: keyof typeof NOTICES | undefined;
};

const NOTICES = {
  revoked: 'The application can no longer use your account.',
  credentials_ended: 'The secrets and keys of your own applications no longer work.',
};

export function applicationsPage(model: ApplicationsModel): string {
  const { applications, role, own } = model;
  return accountDocument({
    title: 'Applications',
    notice: model.notice && NOTICES[model.notice],
    frame: model.frame,
    current: 'applications',
    body: html`${
      applications.length === 0
        ? html`<p class="empty">No application may use your account. When you allow one, it appears here.</p>`
        : html`<p>These applications may use your account. Take back what you no longer need: it takes effect at once, and you can allow it again later.</p>
<ul class="cards">${applications.map((application, index) => card(application, index, role))}</ul>`
    }
${own.length > 0 && ownApplications(own, model.endCredentials)}`,
  });
}

function ownApplications(own: readonly OwnApplicationView[], end: PageForm): Html {
  const haveCredentials = own.some((it) => it.hasPublicKeys || it.secrets.length + it.keys.length > 0);
  return html`<h2>Your own applications</h2>
<p>You have registered these. If you do not recognise one of them, or one of their secrets and keys, change your password, then end all secrets and keys. You manage them in the <a href="/dashboard/applications">dashboard</a>.</p>
<ul class="cards">${own.map(ownCard)}</ul>
${haveCredentials && form(end, html`<button class="danger">End all secrets and keys</button>`, { class: 'after-cards' })}`;
}

function ownCard({ name, clientId, hasPublicKeys, secrets, keys, lastUse }: OwnApplicationView): Html {
  return html`<li class="card"><h3><bdi>${name}</bdi></h3>
<dl class="card-facts">
<div><dt>Client ID</dt><dd>${hostname(clientId)}</dd></div>
<div><dt>Application</dt><dd>${used(lastUse)}</dd></div>
${secrets.map((it) => html`<div><dt>Secret</dt><dd>of ${day(it.createdAt)}, ${used(it.lastUse)}</dd></div>`)}
${keys.map((it) => html`<div><dt>API key</dt><dd><bdi>${it.name}</bdi>, ${used(it.lastUse)}</dd></div>`)}
${hasPublicKeys && html`<div><dt>Public keys</dt><dd>It signs its requests with keys of its own.</dd></div>`}
</dl></li>`;
}

function used(use: LastUse | null): Html {
  if (use === null) return html`never used`;
  return html`last used on ${dateAndTime(use.at)}${use.address !== null && html` from ${hostname(use.address)}`}`;
}

function card(application: AuthorizedApplication, index: number, role: Role): Html {
  const { name, host, since, revoke } = application;
  const id = `application-${index + 1}`;
  return html`<li class="card"><h2 id="${id}"><bdi>${name}</bdi></h2>
<p class="card-facts">${host !== undefined && html`${hostname(host)}<br>`}Allowed on ${day(since)}</p>
<details><summary>What it can do<span class="visually-hidden">: <bdi>${name}</bdi></span></summary><div class="permissions">${permissionGroups(describeScopes(application.scopes, role))}</div></details>
${form(revoke, html`<button class="danger" aria-describedby="${id}">Take back permission</button>`)}</li>`;
}

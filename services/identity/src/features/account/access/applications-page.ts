import type { Role } from '@gatehouse/tokens/scopes';
import { form, type PageForm } from '@gatehouse/web/form';
import { dateAndTime, day, hostname } from '@gatehouse/web/formatting';
import { type Content, type Html, html } from '@gatehouse/web/html';
import type { Acting } from '../../../core/oidc/acting.ts';
import type { ProtectedResource } from '../../../core/oidc/protected-resource.ts';
import { type AccountFrame, accountDocument } from '../../../pages/account/account-document.ts';
import { describeScopes } from '../../../pages/scope-descriptions.ts';
import { t } from '../../../texts/texts.ts';
import { describeActing, permissionGroups } from '../../sign-in/consent-page.ts';
import { ACCOUNT_PAGES, REVOKE_ACCESS } from '../account-pages.ts';

export type AuthorizedApplication = {
  name: string;
  hosts: readonly string[];
  scopes: readonly string[];
  resources?: readonly ProtectedResource[];
  acting?: readonly Acting[];
  since: Date;
  /** Revokes the access. */
  revoke: PageForm;
};

/** An application that the person has registered. */
export type OwnApplicationView = {
  name: string;
  clientId: string;
  hasPublicKeys: boolean;
  federated: readonly { name: string; issuer: string; lastUse: LastUse | null }[];
  secrets: readonly {
    label: string | null;
    lastFour: string | null;
    createdAt: Date;
    lastUse: LastUse | null;
  }[];
  keys: readonly { name: string; lastFour: string | null; lastUse: LastUse | null }[];
  /** The last use of the application as a whole. */
  lastUse: LastUse | null;
};

type LastUse = { at: Date; address: string | null };

export type ApplicationsModel = {
  frame: AccountFrame;
  role: Role;
  applications: readonly AuthorizedApplication[];
  own: readonly OwnApplicationView[];
  /** The page that asks whether to take from all own applications what they can authenticate by. */
  endCredentials: string;
};

export function applicationsPage(model: ApplicationsModel): string {
  const { applications, role, own } = model;
  return accountDocument({
    title: t('Applications'),
    frame: model.frame,
    current: ACCOUNT_PAGES.applications,
    body: html`${
      applications.length === 0
        ? html`<p class="empty">${t('No applications have access to your account. Applications that you allow appear here.')}</p>`
        : html`<p>${t('These applications have access to your account. Revoke the access of applications that you no longer use. Revoking takes effect at once, and you can allow an application again later.')}</p>
<ul class="cards">${applications.map((application, index) => card(application, index, role))}</ul>`
    }
${own.length > 0 && ownApplications(own, model.endCredentials)}
<p class="buttons after-cards"><a class="danger" href="${REVOKE_ACCESS}">${t('Revoke all access')}</a></p>`,
  });
}

function ownApplications(own: readonly OwnApplicationView[], end: string): Html {
  const haveCredentials = own.some(
    (it) => it.hasPublicKeys || it.secrets.length + it.keys.length + it.federated.length > 0,
  );
  return html`<h2>${t('Your own applications')}</h2>
<p>${t('You registered these applications. If you do not recognise an application, a secret or a key, change your password, then end all secrets and keys. Manage your applications in the {dashboard}.', { dashboard: html`<a href="/dashboard/applications">${t('dashboard')}</a>` })}</p>
<ul class="cards">${own.map(ownCard)}</ul>
${haveCredentials && html`<p class="buttons after-cards"><a class="danger" href="${end}">${t('End all secrets and keys')}</a></p>`}`;
}

function ownCard({ name, clientId, lastUse, ...its }: OwnApplicationView): Html {
  const { hasPublicKeys, secrets, keys, federated } = its;
  return html`<li class="card"><h3><bdi>${name}</bdi></h3>
<dl class="card-facts">
<div><dt>${t('Client ID')}</dt><dd>${hostname(clientId)}</dd></div>
<div><dt>${t('Usage')}</dt><dd>${used(lastUse)}</dd></div>
${secrets.map((it) => html`<div><dt>${t('Secret')}</dt><dd>${it.label !== null && html`<bdi>${it.label}</bdi> `}${endingOf(it)}${t('created on {date}', { date: day(it.createdAt) })}, ${used(it.lastUse)}</dd></div>`)}
${keys.map((it) => html`<div><dt>${t('API key')}</dt><dd><bdi>${it.name}</bdi> ${endingOf(it)}${used(it.lastUse)}</dd></div>`)}
${federated.map((it) => html`<div><dt>${t('Federated credential')}</dt><dd><bdi>${it.name}</bdi> (<bdi>${it.issuer}</bdi>) ${used(it.lastUse)}</dd></div>`)}
${hasPublicKeys && html`<div><dt>${t('Public keys')}</dt><dd>${t('The application signs its requests with its own keys.')}</dd></div>`}
</dl></li>`;
}

/** The last characters of a secret, which distinguish it from others. */
const endingOf = ({ lastFour }: { lastFour: string | null }) =>
  lastFour !== null &&
  html`${t('ending in {ending}', { ending: html`<code dir="ltr">…${lastFour}</code>` })}, `;

/** The time of the last use, and its address, in words. */
export function used(use: LastUse | null): Content {
  if (use === null) return t('never used');
  const time = dateAndTime(use.at);
  return use.address === null
    ? t('last used on {time}', { time })
    : t('last used on {time} from {address}', { time, address: hostname(use.address) });
}

function card(application: AuthorizedApplication, index: number, role: Role): Html {
  const { name, hosts, since, revoke } = application;
  const id = `application-${index + 1}`;
  return html`<li class="card"><h2 id="${id}"><bdi>${name}</bdi></h2>
<p class="card-facts">${hosts.map((host) => html`${hostname(host)}<br>`)}${t('Allowed on {date}', { date: day(since) })}</p>
<details><summary>${t('Permissions')}<span class="visually-hidden">: <bdi>${name}</bdi></span></summary><div class="permissions">${permissionGroups(describeScopes(application.scopes, role, application.resources))}${permissionGroups((application.acting ?? []).map((it) => describeActing({ ...it, role })))}</div></details>
${form(revoke, html`<button class="danger" aria-describedby="${id}">${t('Revoke access')}</button>`)}</li>`;
}

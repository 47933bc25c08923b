import { type Content, type Html, html } from '@gatehouse/web/html';
import { type Application, isConfidential } from '../../api/application-types.ts';
import type { Names } from '../../api/names.ts';
import { copyable, facts, lastUsed, time, userLink } from '../../pages/parts.ts';
import type { ResourceView } from '../../resources/resource.ts';
import type { ResourceField } from '../../resources/resource-form.ts';
import type { Person } from '../../sessions/session.ts';
import { TYPES } from './application-texts.ts';
import { deployerSection } from './deployer-mark.ts';
import { registrationSection } from './registered-client.ts';
import { ownerSettings } from './settings-fields.ts';
import { transferSection } from './transfers.ts';
import { trustSection } from './trust.ts';

/** The facts about an application, its settings, trust, mark as a deployer, transfer and deletion. */
export async function applicationPage(page: ResourceView<Application>): Promise<Html> {
  const { value, visit, people, form, deletion } = page;
  const { client_id: id, type, owner, created_at: created, role } = value;
  const isOwner = role === 'owner';
  return html`<section class="panel">${facts([
    ['Client ID', copyable('client-id', id)],
    ['Type', TYPES[type].name],
    ['Authentication', authentication(value)],
    ['Owner', ownerText({ owner, person: visit.person, people })],
    ['Created', time(created)],
    ['Last used', lastUsed(value, 'never')],
  ])}</section>
<section><h2>Settings</h2>${!isOwner && settingsOfOwner(value)}${role !== 'viewer' && form}</section>
${value.registered && registrationSection(page)}
${type === 'machine' && trustSection(page)}
${await deployerSection(page)}
${isOwner && (await transferSection(page))}
${isOwner && deletion}`;
}

/** The settings that a member sees and cannot change. */
function settingsOfOwner(application: Application): Html {
  const settings = ownerSettings(application);
  const shown = ({ kind, value }: Pick<ResourceField, 'kind'> & { value: string }) =>
    kind === 'json'
      ? html`<pre tabindex="0"><code>${value}</code></pre>`
      : value.split('\n').map((line) => html`<code>${line}</code><br>`);
  return html`<p>${
    application.role === 'viewer'
      ? 'You are a viewer of this application: its owner changes its settings, and its developers change its name and look.'
      : 'You are a developer of this application. You can change its name and look (Branding), and remove scopes. Only its owner adds scopes and changes its other settings.'
  }</p>
${settings.length > 0 && html`<div class="panel">${facts(settings.map((it) => [it.label, shown(it)]))}</div>`}`;
}

function authentication(application: Application): string {
  if (!isConfidential(application)) return 'PKCE, without a secret';
  return application.token_endpoint_auth_method === 'private_key_jwt'
    ? 'Signed assertion (private_key_jwt)'
    : 'Client secret';
}

/** The owner of an application, as text or a link. */
export function ownerText(it: {
  owner: string | null;
  person: Pick<Person, 'id' | 'role'>;
  people: Names;
}): Content {
  if (it.owner === null) return 'the operator';
  if (it.owner === it.person.id) return 'you';
  return userLink(it.owner, it.people);
}

import { type Content, type Html, html } from '@gatehouse/web/html';
import {
  type ApiApplication,
  type Application,
  hasSetting,
  isConfidential,
} from '../../api/application-types.ts';
import type { Names } from '../../api/names.ts';
import { copyable, facts, lastUsed, time, userLink } from '../../pages/parts.ts';
import type { ResourceView } from '../../resources/resource.ts';
import { hasRole, type Person } from '../../sessions/session.ts';
import { TYPES } from './application-texts.ts';
import { roleIn } from './members.ts';
import { transferSection } from './transfers.ts';
import { trustSection } from './trust.ts';

/** The facts about an application, its settings, trust, transfer and deletion. */
export async function applicationPage(page: ResourceView<Application>): Promise<Html> {
  const { value, visit, people, form, deletion } = page;
  const { client_id: id, type, owner, created_at: created } = value;
  const role = await roleIn(page);
  const isOwner = role === 'owner';
  return html`<section class="panel">${facts([
    ['Client ID', copyable('client-id', id)],
    ['Type', TYPES[type].name],
    ['Authentication', authentication(value)],
    ['Owner', ownerText({ owner, person: visit.person, people })],
    ['Created', time(created)],
    ['Last used', lastUsed(value, 'never')],
  ])}</section>
${role === 'viewer' ? settingsOf(value) : html`<section><h2>Settings</h2>${form}</section>`}
${hasSetting(type, 'primary_color') && previews(id)}
${type === 'machine' && trustSection(page)}
${isOwner && (await transferSection(page))}
${isOwner && deletion}`;
}

/** The settings for those who may not change them. */
function settingsOf({ scopes, redirect_uris: uris }: Application): Html {
  return html`<section><h2>Settings</h2><p>You are a viewer of this application: only its owner and its developers can change its settings.</p>
${facts([
  ['Scopes', scopes.join(' ') || 'none'],
  ['Redirect URIs', uris.length > 0 && uris.map((uri) => html`<code>${uri}</code><br>`)],
])}</section>`;
}

/** The pages of identity on which people see the application. */
function previews(id: string): Html {
  const path = `/account/applications/${encodeURIComponent(id)}/preview`;
  return html`<section><h2>Preview</h2><p>See the <a href="${path}/sign-in">sign-in page</a> and the <a href="${path}/consent">consent page</a> as people see them, with the settings that are saved.</p></section>`;
}

function authentication(application: ApiApplication): string {
  if (!isConfidential(application)) return 'PKCE, without a secret';
  return application.token_endpoint_auth_method === 'private_key_jwt'
    ? 'Signed assertion (private_key_jwt)'
    : 'Client secret';
}

/** Who an application belongs to. */
export function ownerText(it: {
  owner: string | null;
  person: Pick<Person, 'id' | 'role'>;
  people: Names;
}): Content {
  if (it.owner === null) return 'the operator';
  if (it.owner === it.person.id) return 'you';
  // Others may not see the page of a user.
  return hasRole(it.person, 'editor') ? userLink(it.owner, it.people) : html`<code>${it.owner}</code>`;
}

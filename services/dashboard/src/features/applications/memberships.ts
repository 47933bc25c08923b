import { form } from '@gatehouse/web/form';
import { type Content, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import type { MemberRole } from '../../api/application-types.ts';
import { attempt } from '../../api/attempt.ts';
import { time } from '../../pages/parts.ts';
import type { DashboardRouter } from '../../routes/dashboard-router.ts';
import type { Visit } from '../../routes/visit.ts';

/** An application of somebody else, as the API lists it for a member. */
export type Membership = {
  client_id: string;
  name: string;
  role: MemberRole;
  status: 'invited' | 'accepted';
  created_at: string;
};

const API = '/api/v1/memberships';
const LIST = '/dashboard/applications';

/** The path in the API of the memberships of a user, whom only an admin names. */
export const membershipsPath = (id: string) => `${API}?${new URLSearchParams({ user_id: id })}`;

/** The memberships of the person, and the invitations; none if they cannot be had. */
export async function membershipsOf(api: Api): Promise<readonly Membership[]> {
  const { value } = await attempt(api.get<{ data: Membership[] }>(API));
  return value?.data ?? [];
}

const PERMISSIONS: Readonly<Record<MemberRole, string>> = {
  viewer: 'A viewer sees its settings, requests and usage.',
  developer: 'A developer also changes its name and look, and creates and removes its secrets and API keys.',
};

/** The invitations to applications that wait for the person, each with buttons to accept and decline it. */
export async function invitationNotice(api: Api, csrf: string): Promise<Content> {
  const invitations = (await membershipsOf(api)).filter(({ status }) => status === 'invited');
  if (invitations.length === 0) return false;
  return html`<section class="panel"><h2>Invitations to applications</h2><ul>${invitations.map((it) => {
    const path = `/dashboard/memberships/${encodeURIComponent(it.client_id)}`;
    return html`<li><bdi>${it.name}</bdi>, as a ${it.role}, ${time(it.created_at)}<br><span class="hint">${PERMISSIONS[it.role]}</span>
<div class="row-buttons">${form({ action: `${path}/accept`, csrf }, html`<button class="primary" aria-label="${`Accept the invitation to ${it.name}`}">Accept</button>`)}
${form({ action: `${path}/decline`, csrf }, html`<button class="secondary" aria-label="${`Decline the invitation to ${it.name}`}">Decline</button>`)}</div></li>`;
  })}</ul></section>`;
}

/** Accepting and declining an invitation. */
export function addMembershipRoutes({ post }: DashboardRouter): void {
  const pathOf = ({ param }: Visit) => `${API}/${encodeURIComponent(param('id'))}`;

  post('/memberships/:id/accept', async (visit) => {
    await visit.api.send('POST', `${pathOf(visit)}/accept`);
    return `${LIST}/${encodeURIComponent(visit.param('id'))}?done=joined`;
  });

  post('/memberships/:id/decline', async (visit) => {
    await visit.api.send('DELETE', pathOf(visit));
    return `${LIST}?done=not-joined`;
  });
}

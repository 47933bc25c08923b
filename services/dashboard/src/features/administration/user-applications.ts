import { type Html, html } from '@gatehouse/web/html';
import type { Api } from '../../api/api.ts';
import type { ApplicationPage } from '../../api/application-types.ts';
import { attempt, type Outcome } from '../../api/attempt.ts';
import { applicationLink, notAvailable, statusTag, time } from '../../pages/parts.ts';
import { table } from '../../pages/table.ts';
import { type Membership, membershipsPath } from '../applications/memberships.ts';

/** An application that a user owns or takes part in; `more` is whether there are others. */
type Part = Pick<Membership, 'client_id' | 'name' | 'created_at'> & { role: string; isInvited: boolean };
export type UserApplications = { parts: readonly Part[]; more: boolean };

/** The applications of a user, the owned ones first, as an admin sees them. */
export function applicationsOf(api: Api, id: string): Promise<Outcome<UserApplications>> {
  const both = Promise.all([
    api.get<ApplicationPage>('/api/v1/applications', { owner: id, limit: 20 }),
    api.get<{ data: Membership[] }>(membershipsPath(id)),
  ]);
  return attempt(
    both.then(([owned, { data }]) => ({
      parts: [
        ...owned.data.map((it) => ({ ...it, role: 'owner', isInvited: false })),
        ...data.map((it) => ({ ...it, isInvited: it.status === 'invited' })),
      ],
      more: owned.links?.next !== undefined,
    })),
  );
}

/** Where a user is the owner or a member. */
export function applicationSection(
  { value, error }: Outcome<UserApplications>,
  { id, path }: { id: string; path: string },
): Html {
  const content =
    value === undefined
      ? notAvailable('Applications', error, { again: path })
      : value.parts.length === 0
        ? html`<p class="hint">This user has no applications, and is a member of none.</p>`
        : table<Part>(
            [
              {
                title: 'Application',
                show: ({ client_id: client, name }) => applicationLink(client, new Map([[client, name]])),
              },
              {
                title: 'Role in it',
                show: ({ role, isInvited }) => html`${role} ${isInvited && statusTag('invited')}`,
              },
              { title: 'Since', show: ({ created_at: at }) => time(at) },
            ],
            value.parts,
          );
  return html`<section><h2>Applications</h2>${content}${value?.more && html`<p><a href="/dashboard/applications?owner=${id}">All applications of this user</a></p>`}</section>`;
}

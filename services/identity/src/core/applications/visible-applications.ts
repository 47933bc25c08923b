import type { ListSource } from '@gatehouse/domain/list-query';
import { narrowList } from '@gatehouse/domain/narrow-list';
import type { Authority } from '../authority/authority.ts';
import {
  type Application,
  type ApplicationField,
  type ApplicationStore,
  MAX_APPLICATIONS,
} from './application.ts';
import type { MemberStore } from './member.ts';
import type { Manager } from './ownership.ts';

export type VisibleApplications = {
  /** The manager's own, without those of others, or all for admins; `next` is the id to go on after. */
  list(
    manager: Manager,
    page: { after: string | undefined; limit: number },
  ): Promise<{ applications: Application[]; next: string | undefined }>;
  /** The same as a list with filters. */
  source(manager: Manager): ListSource<ApplicationField, Application>;
  /** A person's applications. */
  ownedBy(userId: string): Promise<Application[]>;
  /** The ids of a person's applications, and of those that the person is a member of. */
  visibleTo(userId: string): Promise<string[]>;
};

/** The applications that people own, or are members of. */
export function createVisibility({
  store,
  members,
  authority,
}: {
  store: Pick<ApplicationStore, 'list' | 'source'>;
  members: Pick<MemberStore, 'ofPerson'>;
  authority: Pick<Authority, 'hasAccepted'>;
}): VisibleApplications {
  // One page: nobody owns more.
  const ownedBy = (owner: string) => store.list({ owner, after: undefined, limit: MAX_APPLICATIONS });

  /** The ids of the applications that a person is a member of. */
  async function joinedBy(userId: string): Promise<string[]> {
    const memberships = await members.ofPerson(userId);
    const accepted = await Promise.all(memberships.map(authority.hasAccepted));
    return memberships.filter((_, i) => accepted[i]).map(({ clientId }) => clientId);
  }

  return {
    ownedBy,

    async list(manager, { after, limit }) {
      const found = await store.list({
        owner: manager.role === 'admin' ? undefined : manager.id,
        after,
        // One more shows whether there is a next page.
        limit: limit + 1,
      });
      const applications = found.slice(0, limit);
      return { applications, next: found.length > limit ? applications.at(-1)?.id : undefined };
    },

    source({ id, role }) {
      if (role === 'admin') return store.source;
      // Also where another owner is asked for: then both conditions have to be met.
      return narrowList(store.source, async (conditions) => {
        const joined = await joinedBy(id);
        if (joined.length === 0) return [{ field: 'owner', operator: 'eq', values: [id] }, ...conditions];
        const owned = (await ownedBy(id)).map((it) => it.id);
        return [{ field: 'id', operator: 'in', values: [...owned, ...joined] }, ...conditions];
      });
    },

    visibleTo: async (userId) => [
      ...(await ownedBy(userId)).map(({ id }) => id),
      ...(await joinedBy(userId)),
    ],
  };
}

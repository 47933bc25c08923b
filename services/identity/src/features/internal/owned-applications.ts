import type { Application } from '../../core/applications/application.ts';
import { type FindOwner, ownerPermissions } from '../../core/applications/ownership.ts';

/** Who owns applications, in the names of the internal route. `role` is null for whoever may do nothing any more. */
export type OwnedApplications = { client_ids: string[]; role: string | null; scopes: string[] };

/**
 * The applications of a person, and what these may read together now; or a trusted application, which is limited by no person and
 * stands for itself.
 */
export function createOwnedApplications(options: {
  findOwner: FindOwner;
  findApplication: (id: string) => Promise<Pick<Application, 'owner' | 'trusted' | 'scopes'> | undefined>;
  ownedBy: (userId: string) => Promise<Pick<Application, 'id' | 'owner' | 'trusted' | 'scopes'>[]>;
}): (id: string) => Promise<OwnedApplications> {
  const { findOwner, findApplication, ownedBy } = options;
  return async (id) => {
    const application = await findApplication(id);
    if (application?.trusted) return { client_ids: [id], role: 'machine', scopes: [...application.scopes] };
    const owned = await ownedBy(id);
    const person = await findOwner(id);
    const permissions = await Promise.all(owned.map((it) => ownerPermissions(it, findOwner)));
    const scopes = owned.flatMap((it, i) => permissions[i]?.within(it.scopes) ?? []);
    return {
      client_ids: owned.map((it) => it.id),
      role: person?.status === 'active' ? person.role : null,
      scopes: [...new Set(scopes)],
    };
  };
}

import type { Application } from '../../core/applications/application.ts';
import { type FindOwner, ownerPermissions } from '../../core/applications/ownership.ts';

/** Who owns applications, in the names of the internal route. `role` is null for whoever may do nothing any more. */
export type OwnedApplications = {
  client_ids: string[];
  /** Those, and the ones that the person is a member of. */
  visible_client_ids: string[];
  role: string | null;
  person: string | null;
  scopes: string[];
};

/** The applications of a person, and what these may read together now; or one application, with the role of its owner. */
export function createOwnedApplications(options: {
  findOwner: FindOwner;
  findApplication: (id: string) => Promise<Pick<Application, 'owner' | 'trusted' | 'scopes'> | undefined>;
  visibleTo: (userId: string) => Promise<string[]>;
  ownedBy: (userId: string) => Promise<Pick<Application, 'id' | 'owner' | 'trusted' | 'scopes'>[]>;
}): (id: string) => Promise<OwnedApplications> {
  const { findOwner, findApplication, ownedBy } = options;
  return async (id) => {
    const application = await findApplication(id);
    if (application !== undefined) {
      const { owner, active, within } = await ownerPermissions(application, findOwner);
      const role = owner?.role ?? 'machine';
      const person = owner === undefined ? null : application.owner;
      return {
        client_ids: [id],
        visible_client_ids: [id],
        role: active ? role : null,
        person,
        scopes: within(application.scopes),
      };
    }
    const owned = await ownedBy(id);
    const person = await findOwner(id);
    // The owner of each, who is asked for once.
    const permissions = await Promise.all(owned.map((it) => ownerPermissions(it, async () => person)));
    const scopes = owned.flatMap((it, i) => permissions[i]?.within(it.scopes) ?? []);
    return {
      client_ids: owned.map((it) => it.id),
      visible_client_ids: await options.visibleTo(id),
      person: id,
      role: person?.status === 'active' ? person.role : null,
      scopes: [...new Set(scopes)],
    };
  };
}

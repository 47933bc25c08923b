import type { Account } from '../../core/accounts/account.ts';
import type { Application } from '../../core/applications/application.ts';
import { type FindOwner, type Owner, ownerPermissions } from '../../core/applications/ownership.ts';

/** Who owns applications, in the names of the internal route. `role` is null for whoever may do nothing any more. */
export type OwnedApplications = {
  client_ids: string[];
  /** Those, and the ones that the person is a member of. */
  visible_client_ids: string[];
  role: string | null;
  person: string | null;
  scopes: string[];
  /** The person that owns it, also where the application is trusted; null if there is none. */
  owner: string | null;
  /** The epochs of that person. */
  epochs: { recovery: number; authority: number };
  /** Of an application: the ids of its valid API keys, and of those that they replaced. */
  key_ids: string[];
};

type OwningAccount = Owner & Pick<Account, 'recovery_epoch' | 'authority_epoch'>;

/** The applications of a person, and what these may read together now; or one application, with the role of its owner. */
export function createOwnedApplications(options: {
  findOwner: FindOwner<OwningAccount>;
  /** As it is stored, since what rests on its owner ends by the response. */
  findApplication: (id: string) => Promise<Pick<Application, 'owner' | 'trusted' | 'scopes'> | undefined>;
  visibleTo: (userId: string) => Promise<string[]>;
  ownedBy: (userId: string) => Promise<Pick<Application, 'id' | 'owner' | 'trusted' | 'scopes'>[]>;
  liveKeys: (clientId: string) => Promise<string[]>;
}): (id: string) => Promise<OwnedApplications> {
  const { findOwner, findApplication, ownedBy } = options;
  return async (id) => {
    const application = await findApplication(id);
    if (application !== undefined) {
      const account = application.owner === null ? undefined : await findOwner(application.owner);
      const { owner, active, within } = await ownerPermissions(application, async () => account);
      const role = owner?.role ?? 'machine';
      const person = owner === undefined ? null : application.owner;
      return {
        client_ids: [id],
        visible_client_ids: [id],
        role: active ? role : null,
        person,
        scopes: within(application.scopes),
        owner: application.owner,
        epochs: epochsOf(account),
        key_ids: await options.liveKeys(id),
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
      owner: person === undefined ? null : id,
      epochs: epochsOf(person),
      key_ids: [],
    };
  };
}

const epochsOf = (account: OwningAccount | undefined) => ({
  recovery: account?.recovery_epoch ?? 0,
  authority: account?.authority_epoch ?? 0,
});

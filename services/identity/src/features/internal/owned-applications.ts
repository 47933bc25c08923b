import type { Account } from '../../core/accounts/account.ts';
import { type Application, liveSecrets } from '../../core/applications/application.ts';
import {
  credentialPermissions,
  type FindOwner,
  ownerPermissions,
} from '../../core/applications/ownership.ts';
import { publicKeyIds } from '../../core/applications/public-keys.ts';
import type { Authority } from '../../core/authority/authority.ts';
import type { GivenCapability } from '../../core/authority/authority-table.ts';
import type { Given } from '../../core/authority/given.ts';
import type { Extensions } from '../../core/extensions.ts';

/** The applications of an owner, in the names of the internal route. `role` is null for an account that has no rights any more. */
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
  /** Of an application: its valid credentials. */
  credentials: OwnedCredential[];
};

/** A credential of an application, and what a webhook rests on that is made with it. */
type OwnedCredential = {
  /** Its own, and those of the API keys that it replaced. */
  ids: string[];
  /** The person who gave it; null if it is the operator's. */
  given_by: string | null;
  /** The epoch of that person's account. */
  epoch: number;
  role: string;
  /** Those that the application may use with that role. */
  scopes: string[];
};

type OwningAccount = Pick<
  Account,
  'id' | 'role' | 'status' | 'epoch' | 'sign_in_epoch' | 'recovery_epoch' | 'authority_epoch' | 'admin_epoch'
>;
type OwnedApplication = Pick<Application, 'id' | 'owner' | 'trusted' | 'scopes'>;
type OfMachines = Pick<Application, 'secrets' | 'federatedCredentials' | 'jwks' | 'jwksGiven'>;
type Credential = { ids: string[]; kind: GivenCapability; given: Given | undefined };

/** The applications of a person, and what these may read together now; or one application, with the role of its owner. */
export function createOwnedApplications(options: {
  findOwner: FindOwner<OwningAccount>;
  /** As it is stored, since what rests on its owner ends by the response. */
  findApplication: (id: string) => Promise<(OwnedApplication & OfMachines) | undefined>;
  visibleTo: (userId: string) => Promise<string[]>;
  ownedBy: (userId: string) => Promise<OwnedApplication[]>;
  keysOf: (clientId: string) => Promise<Pick<Credential, 'ids' | 'given'>[]>;
  /** Whether tokens of an issuer authenticate applications. */
  isTrusted: (issuer: string) => Promise<boolean>;
  extensions: Pick<Extensions, 'publicKeyListeners'>;
  authority: Pick<Authority<OwningAccount>, 'giverOf' | 'givenBy'>;
}): (id: string) => Promise<OwnedApplications> {
  const { findOwner, findApplication, ownedBy, authority } = options;

  /** Undefined once it has ended. */
  async function permitted(
    application: OwnedApplication,
    { ids, kind, given }: Credential,
    account: OwningAccount | undefined,
  ): Promise<OwnedCredential | undefined> {
    const by = { authority, findOwner: async () => account };
    const permissions = await credentialPermissions(application, { kind, given }, by);
    if (permissions?.active !== true) return undefined;
    const giver = given === undefined ? account : await authority.giverOf(kind, given, application);
    return {
      ids,
      given_by: permissions.givenBy ?? application.owner,
      epoch: giver === undefined ? 0 : authority.givenBy('application_webhook', giver).epoch,
      role: permissions.owner?.role ?? 'machine',
      scopes: permissions.within(application.scopes),
    };
  }

  return async (id) => {
    const application = await findApplication(id);
    if (application !== undefined) {
      for (const listen of options.extensions.publicKeyListeners) listen(application);
      const account = application.owner === null ? undefined : await findOwner(application.owner);
      const { owner, active, within } = await ownerPermissions(application, async () => account);
      const role = owner?.role ?? 'machine';
      const person = owner === undefined ? null : application.owner;
      const keys = (await options.keysOf(id)).map((it) => ({ ...it, kind: 'api_key' as const }));
      const all = [...keys, ...(await machineCredentials(application, options.isTrusted))];
      const found = await Promise.all(all.map((it) => permitted(application, it, account)));
      const credentials = found.filter((it) => it !== undefined);
      return {
        client_ids: [id],
        visible_client_ids: [id],
        role: active ? role : null,
        person,
        scopes: within(application.scopes),
        owner: application.owner,
        epochs: epochsOf(account),
        credentials,
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
      credentials: [],
    };
  };
}

/** The credentials by which an application gets its tokens: federated ones, and its public keys or else its secrets. */
async function machineCredentials(
  { id, secrets, federatedCredentials, jwks, jwksGiven }: OfMachines & { id: string },
  isTrusted: (issuer: string) => Promise<boolean>,
): Promise<Credential[]> {
  const all = (kind: GivenCapability, those: readonly { id: string; given?: Given | undefined }[]) =>
    those.map(({ id, given }) => ({ ids: [id], kind, given }));
  const trusted = await Promise.all(federatedCredentials.map(({ issuer }) => isTrusted(issuer)));
  const federated = all(
    'federated_credential',
    federatedCredentials.filter((_, i) => trusted[i]),
  );
  if (jwks === undefined) return [...federated, ...all('client_secret', liveSecrets({ secrets }))];
  return [...federated, { ids: await publicKeyIds(id, jwks), kind: 'public_keys', given: jwksGiven }];
}

const epochsOf = (account: OwningAccount | undefined) => ({
  recovery: account?.recovery_epoch ?? 0,
  authority: account?.authority_epoch ?? 0,
});

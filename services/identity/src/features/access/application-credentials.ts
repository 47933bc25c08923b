import {
  type Application,
  type ApplicationStore,
  type FederatedCredential,
  liveSecrets,
  publicKeysId,
} from '../../core/applications/application.ts';
import type { ApplicationKeys } from '../../core/applications/application-keys.ts';
import type { Applications } from '../../core/applications/applications.ts';
import type { MemberStore } from '../../core/applications/member.ts';
import type { Manager } from '../../core/applications/ownership.ts';
import type { Authority, Giver } from '../../core/authority/authority.ts';
import type { Given } from '../../core/authority/given.ts';
import type { AccessSource, StandingAccess } from '../../core/authority/standing-access.ts';
import { ACCOUNT_CLIENT } from '../../core/oidc/clients/client-metadata.ts';

type NamedCredential = Pick<FederatedCredential, 'id' | 'name' | 'createdAt' | 'lastUse'> & {
  given?: Given | undefined;
};
const NOWHERE = { address: '', userAgent: undefined, requestId: '' };

/** The credentials and members of a person's applications, those that the person made in applications of others, and the applications that the person trusts. */
export function applicationCredentials(options: {
  applications: Pick<Applications, 'ownedBy' | 'changeGivers'>;
  store: Pick<ApplicationStore, 'givenBy'>;
  authority: Pick<Authority, 'roleOf'>;
  applicationKeys: readonly Pick<ApplicationKeys, 'list'>[];
  members: Pick<MemberStore, 'of'>;
}): { own: AccessSource; elsewhere: AccessSource; trusted: AccessSource } {
  const { applications, store, authority, members } = options;

  async function accessTo(application: Application, { id, role, epoch }: Giver): Promise<StandingAccess[]> {
    const { id: clientId, name: clientName, owner, jwks, jwksGiven, federatedCredentials } = application;
    const manager: Manager = { id, role, epoch, clientId: ACCOUNT_CLIENT, origin: NOWHERE };
    const keys = (await Promise.all(options.applicationKeys.map((it) => it.list(manager, clientId)))).flat();
    const common = (given: Given | undefined) => ({
      ...{ clientId, clientName, madeBy: given?.by ?? owner ?? undefined },
    });
    const uses = (use: { at: Date } | null) => ({ lastUsedAt: use?.at ?? null });
    const named = (kind: 'api_key' | 'federated_credential', those: readonly NamedCredential[]) =>
      those.map(({ id, name, createdAt, lastUse, given }) => {
        return { id, kind, name, createdAt, ...common(given), ...uses(lastUse) };
      });
    return [
      ...liveSecrets(application).map(({ id, label, createdAt, lastUse, given }) => {
        return {
          id,
          kind: 'client_secret' as const,
          name: label,
          createdAt,
          ...common(given),
          ...uses(lastUse),
        };
      }),
      ...named('api_key', keys),
      ...named('federated_credential', federatedCredentials),
      ...(jwks === undefined
        ? []
        : [
            {
              ...{ id: publicKeysId(clientId), kind: 'public_keys' as const, name: null },
              ...{ createdAt: null, lastUsedAt: null, ...common(jwksGiven) },
            },
          ]),
      ...(await members.of(clientId)).map(({ id, userId: member, createdAt, given }) => {
        return { id, kind: 'member' as const, name: member, createdAt, lastUsedAt: null, ...common(given) };
      }),
    ];
  }

  return {
    own: {
      async list(account) {
        const owned = await applications.ownedBy(account.id);
        return (await Promise.all(owned.map((it) => accessTo(it, account)))).flat();
      },
      async keep(userId, ids, givenAs) {
        const own = givenAs('api_key');
        // A member's credential stays the member's: only the part of its stamp that rests on the owner is renewed.
        const renewed = (given: Given | undefined) =>
          given === undefined || given.by === userId ? own : { ...given, ownerEpoch: own.epoch };
        for (const { id } of await applications.ownedBy(userId)) {
          await applications.changeGivers(id, ids, renewed);
        }
      },
    },
    elsewhere: {
      async list(account) {
        const found = (await store.givenBy(account.id)).map(async (application) => {
          const isOther = application.owner !== account.id;
          const role = isOther ? await authority.roleOf(application, account) : undefined;
          return role === undefined ? [] : accessTo(application, account);
        });
        return (await Promise.all(found)).flat().filter(({ madeBy }) => madeBy === account.id);
      },
    },
    trusted: {
      async list({ id: person }) {
        const found = [...(await applications.ownedBy(person)), ...(await store.givenBy(person))];
        return found.flatMap(({ id: clientId, name: clientName, trust }): StandingAccess[] => {
          if (trust?.by !== person) return [];
          const about = { id: `${clientId} trust`, kind: 'trust' as const, name: null, createdAt: trust.at };
          return [{ ...about, clientId, clientName, madeBy: person, lastUsedAt: null }];
        });
      },
    },
  };
}

import { liveSecrets } from '../../core/applications/application.ts';
import type { ApplicationKeys } from '../../core/applications/application-keys.ts';
import type { Applications } from '../../core/applications/applications.ts';
import type { MemberStore } from '../../core/applications/member.ts';
import type { Manager } from '../../core/applications/ownership.ts';
import type { Given } from '../../core/authority/given.ts';
import type { AccessSource } from '../../core/authority/standing-access.ts';
import { ACCOUNT_CLIENT } from '../../core/oidc/clients/client-metadata.ts';

const NOWHERE = { address: '', userAgent: undefined, requestId: '' };

/** The credentials and members of a person's applications. */
export function applicationCredentials(options: {
  applications: Pick<Applications, 'ownedBy' | 'changeGivers'>;
  applicationKeys: readonly Pick<ApplicationKeys, 'list'>[];
  members: Pick<MemberStore, 'of'>;
}): AccessSource {
  const { applications, members } = options;
  return {
    async list({ id: userId, epoch }) {
      const manager: Manager = {
        ...{ id: userId, role: 'user', epoch, clientId: ACCOUNT_CLIENT, origin: NOWHERE },
      };
      const found = (await applications.ownedBy(userId)).map(async (application) => {
        const { id: clientId, jwks } = application;
        const keys = (
          await Promise.all(options.applicationKeys.map((it) => it.list(manager, clientId)))
        ).flat();
        const uses = (use: { at: Date } | null) => ({ lastUsedAt: use?.at ?? null });
        return [
          ...liveSecrets(application).map(({ id, label, createdAt, lastUse }) => {
            return { id, kind: 'client_secret' as const, name: label, clientId, createdAt, ...uses(lastUse) };
          }),
          ...keys.map(({ id, name, createdAt, lastUse }) => {
            return { id, kind: 'api_key' as const, name, clientId, createdAt, ...uses(lastUse) };
          }),
          ...(jwks === undefined
            ? []
            : [
                {
                  ...{ id: `${clientId}/public-keys`, kind: 'public_keys' as const, name: null, clientId },
                  ...{ createdAt: null, lastUsedAt: null },
                },
              ]),
          ...(await members.of(clientId)).map(({ id, userId: member, createdAt }) => {
            return { id, kind: 'member' as const, name: member, clientId, createdAt, lastUsedAt: null };
          }),
        ];
      });
      return (await Promise.all(found)).flat();
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
  };
}

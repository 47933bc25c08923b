import { type Authority, givenByOwner } from '../authority/authority.ts';
import type { Given } from '../authority/given.ts';
import { retried } from '../optimistic-writes.ts';
import { type Application, type ApplicationStore, publicKeysId } from './application.ts';
import type { ApplicationKeys } from './application-keys.ts';
import type { ApplicationWrites } from './application-writes.ts';
import type { MemberStore } from './member.ts';
import { lowerRole } from './ownership.ts';
import type { Trusts } from './trust.ts';

type OfApplication =
  | 'client_secret'
  | 'public_keys'
  | 'federated_credential'
  | 'assertion_rules'
  | 'member'
  | 'member_invitation';

/** The credentials and members of applications, which end when the person who gave them could no longer give them. */
export type GivenCredentials = {
  /** Whether a credential of an application still holds. */
  holds(kind: OfApplication, application: Application, given: Given | undefined): Promise<boolean>;
  /**
   * Revokes the tokens of a person's applications, except of those that stay trusted, that were issued before this epoch of
   * the person's account: the trust ends that no longer rests on the person, as an owner or as the admin who granted it. Removes what the person has given and cannot give any more, also in applications of others. Durable when
   * it resolves. Repeated after it was broken off, it goes on where it was.
   */
  giverChanged(person: string, epoch: number): Promise<void>;
  /** Removes the credentials and members of an application that have ended, and their tokens. Durable when it resolves. */
  removeEnded(id: string): Promise<void>;
  /** Changes who gave the credentials and members of an application that have these ids. */
  changeGivers(
    id: string,
    ids: ReadonlySet<string>,
    change: (given: Given | undefined) => Given,
  ): Promise<void>;
};

export function createGivenCredentials(options: {
  store: ApplicationStore;
  members: Pick<MemberStore, 'of' | 'setGiven' | 'remove'>;
  authority: Pick<Authority, 'giverOf'>;
  writes: ApplicationWrites;
  keys: readonly Pick<ApplicationKeys, 'removeEnded' | 'changeGivers'>[];
  trusts: Pick<Trusts, 'endIfUnsupported'>;
  ownedBy(person: string): Promise<readonly Application[]>;
}): GivenCredentials {
  const { store, members, authority, writes, trusts, ownedBy } = options;

  /** Whether a credential of an application still holds. */
  async function holds(
    kind: OfApplication,
    application: Application,
    given: Given | undefined = givenByOwner(application),
  ): Promise<boolean> {
    return given === undefined || (await authority.giverOf(kind, given, application)) !== undefined;
  }

  /** The credentials and rules of an application that have not ended. */
  async function withoutEnded(
    application: Application,
  ): Promise<
    Pick<Application, 'secrets' | 'federatedCredentials' | 'jwks' | 'jwksGiven' | 'identityAssertions'>
  > {
    const { jwks, jwksGiven, identityAssertions, identityAssertionsGiven } = application;
    async function held<C extends { given?: Given | undefined }>(kind: OfApplication, all: readonly C[]) {
      const each = await Promise.all(all.map((it) => holds(kind, application, it.given)));
      return all.filter((_, i) => each[i]);
    }
    const keepsRules = await holds('assertion_rules', application, identityAssertionsGiven);
    const others = {
      identityAssertions: keepsRules ? identityAssertions : [],
      secrets: await held('client_secret', application.secrets),
      federatedCredentials: await held('federated_credential', application.federatedCredentials),
    };
    const keeps = jwks === undefined || (await holds('public_keys', application, jwksGiven));
    return { ...others, ...(keeps ? { jwks, jwksGiven } : { jwks: undefined, jwksGiven: undefined }) };
  }

  async function removeEnded(id: string, { endTokens = false } = {}): Promise<void> {
    let isChanged = false;
    const application = await retried(async () => {
      const before = await store.findNow(id);
      if (before === undefined) return false;
      const held = await withoutEnded(before);
      isChanged =
        endTokens ||
        held.secrets.length < before.secrets.length ||
        held.federatedCredentials.length < before.federatedCredentials.length ||
        held.identityAssertions.length < before.identityAssertions.length ||
        held.jwks !== before.jwks;
      return isChanged ? store.change(before, held, true) : before;
    });
    if (application === false) return;
    for (const kind of options.keys) await kind.removeEnded(application);
    for (const { userId, given, isPending, invited } of await members.of(id)) {
      const isInvited =
        !isPending || invited === undefined || (await holds('member_invitation', application, invited));
      if (isInvited && (await holds('member', application, given))) continue;
      isChanged = true;
      await members.remove(id, userId);
    }
    // Makes the other services ask again which applications people see.
    if (isChanged) await writes.revoke([{ application, over: false }]);
  }

  return {
    holds,

    async giverChanged(person, epoch) {
      const owned = await ownedBy(person);
      const given = await store.givenBy(person);
      for (const { id, trusted } of [...owned, ...given]) if (trusted) await trusts.endIfUnsupported(id);
      await store.raiseEpochsOf(person, epoch);
      while ((await writes.revokeWhatIsDue(person)) > 0);
      for (const { id } of owned) await removeEnded(id);
      // Its tokens name the owner, and may have the role that the giver of the secret had.
      for (const { id } of given) await removeEnded(id, { endTokens: true });
    },

    removeEnded: (id) => removeEnded(id),

    async changeGivers(id, ids, change) {
      // Somebody else may know a credential that is taken over or kept: it does not grow with its giver.
      const restamp = (before: Given | undefined): Given => {
        const next = change(before);
        const madeBy = before?.madeBy ?? (before?.by === next.by ? undefined : before?.by);
        const role = next.role && before?.role ? lowerRole(next.role, before.role) : next.role;
        return { ...next, role, madeBy };
      };
      await retried(async () => {
        const before = await store.findNow(id);
        if (before === undefined) return false;
        const restamped = <C extends { id: string; given?: Given | undefined }>(all: readonly C[]) =>
          all.map((it) => (ids.has(it.id) ? { ...it, given: restamp(it.given) } : it));
        const secrets = restamped(before.secrets);
        const federatedCredentials = restamped(before.federatedCredentials);
        const keys = ids.has(publicKeysId(id)) ? { jwksGiven: restamp(before.jwksGiven) } : {};
        return writes.change(before, { secrets, federatedCredentials, ...keys });
      });
      for (const kind of options.keys) await kind.changeGivers(id, ids, restamp);
      for (const { id: memberId, userId, given } of await members.of(id)) {
        if (ids.has(memberId)) await members.setGiven(id, userId, restamp(given));
      }
    },
  };
}

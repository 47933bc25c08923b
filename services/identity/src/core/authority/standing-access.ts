import { ServiceError } from '@gatehouse/core/errors';
import type { Authority, Giver } from './authority.ts';
import {
  AUTHORITY,
  type AuthorityEvent,
  type GivenCapability,
  OUTCOMES,
  type Outcome,
} from './authority-table.ts';
import type { Given } from './given.ts';

/** Something that acts for a person. */
export type StandingAccess = {
  id: string;
  kind: GivenCapability;
  /** The name that the person gave it; null if it has none. */
  name: string | null;
  /** The application that it belongs to. */
  clientId: string | null;
  clientName?: string;
  /** The person who made it or added the member, for kinds that somebody else may make. */
  madeBy?: string | undefined;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};

/** A source of the list of what acts for a person (GET /api/v1/access). */
export type AccessSource<A extends Giver = Giver> = {
  list(account: A): Promise<StandingAccess[]>;
  /** Stamps the entries with these ids, so that they hold after a revocation. Undefined where nothing can be kept. */
  keep?(userId: string, ids: ReadonlySet<string>, givenAs: (kind: GivenCapability) => Given): Promise<void>;
};

/** Everything that acts for a person, and whether a revocation of all access can keep it. */
export async function listAccess<A extends Giver>(
  sources: readonly AccessSource<A>[],
  account: A,
): Promise<(StandingAccess & { canBeKept: boolean })[]> {
  const lists = sources.map(async ({ list, keep }) =>
    (await list(account)).map((it) => ({ ...it, canBeKept: keep !== undefined })),
  );
  return (await Promise.all(lists)).flat();
}

/** A credential that is kept without the member who made it, and so would end with the member. */
export function findKeptWithoutMember(
  access: readonly StandingAccess[],
  kept: readonly string[],
): StandingAccess | undefined {
  const ended = access.filter(({ kind, id }) => kind === 'member' && !kept.includes(id));
  return access.find(
    ({ id, kind, clientId, madeBy }) =>
      kept.includes(id) &&
      kind !== 'member' &&
      ended.some((member) => member.clientId === clientId && member.name === madeBy),
  );
}

/**
 * Before all access of a person is revoked: stamps entries with the epochs after that, so that they hold. Throws `invalid` unless all ids
 * are of entries that can be kept, each with the member who made it.
 */
export async function keepAccess<A extends Giver>(
  { sources, authority }: { sources: readonly AccessSource<A>[]; authority: Pick<Authority, 'givenBy'> },
  account: A,
  ids: readonly string[],
): Promise<void> {
  const keepers = sources.filter(({ keep }) => keep !== undefined);
  const listed = await listAccess(keepers, account);
  if (!ids.every((id) => listed.some((it) => it.id === id))) {
    throw new ServiceError('invalid', 'Name only entries of GET /api/v1/access with can_be_kept.');
  }
  const lone = findKeptWithoutMember(listed, ids);
  if (lone !== undefined) {
    const message = `Keep the member who made ${lone.id} as well, or take it over first.`;
    throw new ServiceError('invalid', message);
  }
  const afterwards = withRaisedEpochs(account);
  const givenAs = (kind: GivenCapability) => authority.givenBy(kind, afterwards);
  for (const { keep } of keepers) await keep?.(account.id, new Set(ids), givenAs);
}

/** The account after a revocation of all access, which raises each epoch by one. */
function withRaisedEpochs(account: Giver): Giver {
  const { epoch, sign_in_epoch, recovery_epoch, authority_epoch, admin_epoch } = account;
  return {
    ...account,
    epoch: epoch + 1,
    sign_in_epoch: sign_in_epoch + 1,
    recovery_epoch: recovery_epoch + 1,
    authority_epoch: authority_epoch + 1,
    admin_epoch: admin_epoch + 1,
  };
}

/** The outcome of an event for a capability; undefined when the event does not concern it. */
export function outcomeOf(kind: GivenCapability, event: AuthorityEvent): Outcome | undefined {
  const cells: Partial<Record<Outcome, Readonly<Record<string, readonly AuthorityEvent[]>>>> =
    AUTHORITY[kind].cells;
  return OUTCOMES.find((outcome) =>
    Object.values(cells[outcome] ?? {}).some((events) => events.includes(event)),
  );
}

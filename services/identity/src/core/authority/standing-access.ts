import type { Giver } from './authority.ts';
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
  /** How the person calls it; null for what has no name. */
  name: string | null;
  /** The application that it belongs to. */
  clientId: string | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};

/** A part of what acts for people. */
export type AccessSource<A extends Giver = Giver> = {
  list(account: A): Promise<StandingAccess[]>;
  /** Records what is kept, of these ids, as given with the authority that `givenAs` says. Sources of what cannot be kept have none. */
  keep?(userId: string, ids: ReadonlySet<string>, givenAs: (kind: GivenCapability) => Given): Promise<void>;
};

/** What becomes of a capability at an event; undefined when the event does not concern it. */
export function outcomeOf(kind: GivenCapability, event: AuthorityEvent): Outcome | undefined {
  const cells: Partial<Record<Outcome, Readonly<Record<string, readonly AuthorityEvent[]>>>> =
    AUTHORITY[kind].cells;
  return OUTCOMES.find((outcome) =>
    Object.values(cells[outcome] ?? {}).some((events) => events.includes(event)),
  );
}

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
  /** The name that the person gave it; null if it has none. */
  name: string | null;
  /** The application that it belongs to. */
  clientId: string | null;
  createdAt: Date | null;
  lastUsedAt: Date | null;
};

/** A source of the list of what acts for a person (GET /api/v1/access). */
export type AccessSource<A extends Giver = Giver> = {
  list(account: A): Promise<StandingAccess[]>;
  /** Stamps the entries with these ids, so that they hold after a revocation. Undefined where nothing can be kept. */
  keep?(userId: string, ids: ReadonlySet<string>, givenAs: (kind: GivenCapability) => Given): Promise<void>;
};

/** The outcome of an event for a capability; undefined when the event does not concern it. */
export function outcomeOf(kind: GivenCapability, event: AuthorityEvent): Outcome | undefined {
  const cells: Partial<Record<Outcome, Readonly<Record<string, readonly AuthorityEvent[]>>>> =
    AUTHORITY[kind].cells;
  return OUTCOMES.find((outcome) =>
    Object.values(cells[outcome] ?? {}).some((events) => events.includes(event)),
  );
}

import { PRIORITIES, type Priority } from '@gatehouse/data/job-document';

/** The jobs of an owner with one priority. */
export type OwnerJobs = { priority: Priority; owner: string };
/** The turn of an owner: one job, and the slot-time that was expected of it, in milliseconds. */
export type Turn = OwnerJobs & { expectedMs: number };

type Owner = {
  inFlight: number;
  /** The slot-time that it has used, in milliseconds, on the clock of all owners (start-time fair queueing). */
  used: number;
  /** The slot-time of its last jobs. */
  costMs: number;
};

/** The part of the slots that an owner gets while others wait, and that is kept for owners who have no job under way. */
const SHARE = 1 / 8;
const INITIAL_COST_MS = 10;
/** The shares of the slots while jobs of every priority wait. */
const WEIGHTS = { high: 6, normal: 3, low: 1 };
/** Owners that are compared at a time, of whom there may be very many. */
const MAX_COMPARED = 1000;

/**
 * Says whose job is next. Each priority gets its share of the turns. Of its owners, the one comes first that has used the least
 * slot-time. While others wait, an owner has a share of an eighth of the slots at most. Another eighth is reserved for
 * owners who have few jobs under way, so that nobody waits for the slow jobs of another.
 */
export function createOwnerTurns(slots: number) {
  const share = Math.max(1, Math.floor(slots * SHARE));
  const reserved = Math.floor(slots * SHARE);
  const quantum = Math.max(1, Math.floor(share / 2));
  const fewInFlight = Math.max(1, Math.floor(reserved / 4));
  const nextPriority = createShares();
  const owners = new Map<string, Owner>();
  /** By priority: the owners who may have jobs that are due. */
  const ready = { high: new Set<string>(), normal: new Set<string>(), low: new Set<string>() };
  let occupied = 0;
  /** The virtual time of the fair queue: an owner who comes back starts at that of the owner who was served last. */
  let clock = 0;

  /** Whether only the slots are left that are kept for owners with few jobs. */
  const isCrowded = () => slots - occupied <= reserved;

  function ownerOf(id: string): Owner {
    const known = owners.get(id) ?? { inFlight: 0, used: clock, costMs: INITIAL_COST_MS };
    owners.set(id, known);
    return known;
  }

  /** Forgets an owner without jobs: there may be many, over time. */
  function forget(id: string): void {
    const { inFlight = 0, used = 0 } = owners.get(id) ?? {};
    if (inFlight === 0 && used <= clock && PRIORITIES.every((it) => !ready[it].has(id))) owners.delete(id);
    if (occupied === 0 && PRIORITIES.every((it) => ready[it].size === 0)) owners.clear();
  }

  /** The owner of this priority whose turn it is. */
  function nextOwner(priority: Priority): { id: string; isOver: boolean } | undefined {
    const isReserved = isCrowded();
    let best: { id: string; isOver: boolean; used: number } | undefined;
    let seen = 0;
    for (const id of ready[priority]) {
      seen += 1;
      if (seen > MAX_COMPARED) break;
      const { inFlight, used } = ownerOf(id);
      if (isReserved && inFlight >= fewInFlight) continue;
      const isOver = inFlight >= share;
      const isBetter =
        best === undefined || (isOver === best.isOver ? used < best.used : best.isOver && !isOver);
      if (isBetter) best = { id, isOver, used };
    }
    return best;
  }

  return {
    /** The owner may have jobs that are due. */
    ready({ priority, owner }: OwnerJobs): void {
      const known = ownerOf(owner);
      if (!ready[priority].has(owner)) known.used = Math.max(known.used, clock);
      ready[priority].add(owner);
    },
    /** The owner has no more of them. */
    drained({ priority, owner }: OwnerJobs): void {
      ready[priority].delete(owner);
      forget(owner);
    },
    /** Takes up to `max` turns, each of which occupies a slot until it has ended. */
    take(max: number): Turn[] {
      const turns: Turn[] = [];
      while (turns.length < max && occupied < slots) {
        const candidates = new Map(PRIORITIES.map((priority) => [priority, nextOwner(priority)]));
        const possible = PRIORITIES.filter((priority) => candidates.get(priority) !== undefined);
        if (possible.length === 0) break;
        const under = possible.filter((priority) => candidates.get(priority)?.isOver === false);
        const priority = nextPriority(under.length > 0 ? under : possible);
        const owner = candidates.get(priority)?.id as string;
        // Behind those that were not compared.
        ready[priority].delete(owner);
        ready[priority].add(owner);
        const known = ownerOf(owner);
        clock = Math.max(clock, known.used);
        // Several at a time, as jobs are claimed by owner.
        const limit = isCrowded() ? fewInFlight : share;
        const free = slots - occupied - (isCrowded() ? 0 : reserved);
        const count = Math.min(quantum, max - turns.length, free, limit - known.inFlight);
        for (let i = 0; i < Math.max(1, count); i += 1) {
          known.used += known.costMs;
          known.inFlight += 1;
          occupied += 1;
          turns.push({ priority, owner, expectedMs: known.costMs });
        }
      }
      return turns;
    },
    /** The turn has ended after this time; undefined if there was no job. */
    ended({ owner, expectedMs }: Turn, ms: number | undefined): void {
      const known = ownerOf(owner);
      known.inFlight -= 1;
      known.used += (ms ?? 0) - expectedMs;
      if (ms !== undefined) known.costMs = Math.max(1, (known.costMs + ms) / 2);
      occupied -= 1;
      forget(owner);
    },
    free: () => slots - occupied,
    /** Forgets owners whose slot-time no longer counts. */
    prune(): void {
      for (const id of owners.keys()) forget(id);
    },
    /** The number of owners that are known. */
    size: () => owners.size,
  };
}

/** The slot-time of an owner, in milliseconds. */
export type SlotTime = { owner: string; ms: number };

/** The number of owners that are known at a time, and the length in milliseconds of each of the two periods that are added up. */
const KNOWN_OWNERS = 1000;
const PERIOD_MS = 1_800_000;
const TOP = 10;

/**
 * Adds up the slot-time of owners, over half an hour to an hour. If there are very many owners, those with little are forgotten.
 *
 * @param now the time in milliseconds
 */
export function createSlotTimes(now = () => performance.now()) {
  let current = new Map<string, number>();
  let former = new Map<string, number>();
  let begun = now();

  const sorted = (times: ReadonlyMap<string, number>) => [...times].toSorted((a, b) => b[1] - a[1]);

  function turnOver(): void {
    const passed = now() - begun;
    if (passed < PERIOD_MS) return;
    former = passed < 2 * PERIOD_MS ? current : new Map();
    current = new Map();
    begun = now();
  }

  return {
    add(owner: string, ms: number): void {
      turnOver();
      current.set(owner, (current.get(owner) ?? 0) + ms);
      if (current.size > KNOWN_OWNERS) current = new Map(sorted(current).slice(0, KNOWN_OWNERS / 2));
    },
    /** The owners with the most, in its order. */
    top(): SlotTime[] {
      turnOver();
      const all = new Map(former);
      for (const [owner, ms] of current) all.set(owner, (all.get(owner) ?? 0) + ms);
      const most = sorted(all).slice(0, TOP);
      return most.map(([owner, ms]) => ({ owner, ms }));
    },
  };
}

/**
 * Returns a function that says which of the open priorities is next, so that each is as often as its weight and they
 * alternate as evenly as possible: the smooth weighted round-robin of nginx.
 */
function createShares() {
  const current = { high: 0, normal: 0, low: 0 };
  return (open: readonly Priority[]): Priority => {
    let best = open[0] ?? 'high';
    for (const priority of open) {
      current[priority] += WEIGHTS[priority];
      if (current[priority] > current[best]) best = priority;
    }
    for (const priority of open) current[best] -= WEIGHTS[priority];
    return best;
  };
}

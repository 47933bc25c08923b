import type { RequestedBy } from '@gatehouse/server/requests';

/** The action of an operator on a queue, for identity's audit log. */
export type QueueAction = {
  action:
    | 'queue.paused'
    | 'queue.resumed'
    | 'dead_letters.replayed'
    | 'dead_letters.removed'
    | 'dead_letters.purged';
  /** To what: names, ids and numbers. */
  details: Readonly<Record<string, string | number | readonly string[]>>;
  by: RequestedBy;
};

/** The state of a lane of a queue. */
export type LaneState = {
  /** Whether an operator has paused it. */
  paused: boolean;
  /** The number of attempts by their outcome, since the beginning. */
  outcomes: Readonly<Record<string, number>>;
};

/** By the key of each lane (see laneKey). */
export type LaneStore = {
  readAll(): Promise<ReadonlyMap<string, LaneState>>;
  /** Stores the action in the same write, unless the lane already has this state. */
  setPaused(key: string, paused: boolean, action: QueueAction): Promise<void>;
  /** Stores an action that changes something else than the state. */
  record(key: string, action: QueueAction): Promise<void>;
  /** Adds to the numbers of attempts. */
  add(key: string, outcomes: Readonly<Record<string, number>>): Promise<void>;
};

export function laneKey(queue: string, lane: string): string {
  return `${queue}_${lane}`;
}

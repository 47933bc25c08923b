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
  setPaused(lane: string, paused: boolean): Promise<void>;
  /** Adds to the numbers of attempts. */
  add(lane: string, outcomes: Readonly<Record<string, number>>): Promise<void>;
};

export function laneKey(queue: string, lane: string): string {
  return `${queue}_${lane}`;
}

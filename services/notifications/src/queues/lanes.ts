import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask, type PeriodicTask } from '@gatehouse/core/periodic';
import type { Broadcast } from '@gatehouse/events/broadcast';
import type { RequestedBy } from '@gatehouse/server/requests';
import { type LaneState, type LaneStore, laneKey, type QueueAction } from './lane.ts';

/** How often counts are saved. States are read this often while broadcasts of other processes may be missed. */
const EVERY_MS = 1000;
/** How often the states are read otherwise, with the counts of other processes. */
const REREAD_MS = 60_000;
/** The broadcast subject of a changed state. */
const CHANGED = 'jobs.notifications.lanes';
const NEW: LaneState = { paused: false, outcomes: {} };

/** The states of the lanes, as this process knows them. */
export type Lanes = PeriodicTask & {
  /** Reads the states: a lane that is paused must not run after a start. */
  load(): Promise<void>;
  isPaused(queue: string, lane: string): boolean;
  /** Also writes it down, as `record` does. */
  setPaused(queue: string, lane: string, paused: boolean, by: RequestedBy): Promise<void>;
  /** Records an action of an operator for the audit log. Durable when it resolves. */
  record(queue: string, lane: string, action: QueueAction): Promise<void>;
  /** Counts an attempt by its outcome. */
  count(queue: string, lane: string, outcome: string): void;
  stateOf(queue: string, lane: string): LaneState;
};

/**
 * @param options.broadcast reaches the other processes that change the states; undefined where there are none
 * @param options.publish takes what was written down of a lane to identity; never rejects
 */
export function createLanes(
  store: LaneStore,
  options: {
    broadcast: Broadcast | undefined;
    logger: Logger;
    publish(key: string): Promise<unknown>;
  },
): Lanes {
  const { broadcast, logger, publish } = options;
  let states: ReadonlyMap<string, LaneState> = new Map();
  /** The counts that are not in the store yet. */
  let counts = new Map<string, Record<string, number>>();

  let lastRead = 0;
  /** The read that the states are from. */
  let known = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  /** Whether other processes may change a state without this one hearing of it. */
  let mayMissChanges = broadcast !== undefined;

  /** An earlier read may resolve last with an older state: a lane that was paused meanwhile would run again. */
  async function load(): Promise<void> {
    lastRead += 1;
    const turn = lastRead;
    const read = await store.readAll();
    if (turn < known) return;
    known = turn;
    states = read;
    readAt = performance.now();
  }

  /** Returns whether there was anything to save. */
  async function flush(): Promise<boolean> {
    const unsaved = counts;
    counts = new Map();
    for (const [key, outcomes] of unsaved) await store.add(key, outcomes);
    return unsaved.size > 0;
  }

  const task = createPeriodicTask({
    async run() {
      const isSaved = await flush();
      if (mayMissChanges || isSaved || performance.now() - readAt >= REREAD_MS) await load();
    },
    everyMs: EVERY_MS,
    onError: (error) => logger.warn({ err: error }, 'the states of the lanes are not known; trying again'),
  });
  const reread = () => {
    readAt = Number.NEGATIVE_INFINITY;
    task.wake();
  };
  broadcast?.subscribe(CHANGED, reread);
  broadcast?.onReconnect(() => {
    mayMissChanges = false;
    reread();
  });
  broadcast?.onDisconnect(() => {
    mayMissChanges = true;
  });
  const stateOf = (queue: string, lane: string) => states.get(laneKey(queue, lane)) ?? NEW;

  return {
    ...task,
    async stop() {
      await task.stop();
      await flush().catch((error: unknown) => logger.warn({ err: error }, 'some attempts are not counted'));
    },
    load,
    isPaused: (queue, lane) => stateOf(queue, lane).paused,
    async setPaused(queue, lane, paused, by) {
      const key = laneKey(queue, lane);
      const action = paused ? 'queue.paused' : 'queue.resumed';
      // Read again in any case, even if it is unknown whether the write succeeded.
      readAt = Number.NEGATIVE_INFINITY;
      await store.setPaused(key, paused, { action, details: { queue, lane }, by });
      // They read it within a minute if this is lost.
      broadcast?.publish(CHANGED, null).catch(() => {});
      await load();
      await publish(key);
    },
    async record(queue, lane, action) {
      const key = laneKey(queue, lane);
      await store.record(key, action);
      await publish(key);
    },
    count(queue, lane, outcome) {
      const key = laneKey(queue, lane);
      const outcomes = counts.get(key) ?? {};
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      counts.set(key, outcomes);
    },
    stateOf,
  };
}

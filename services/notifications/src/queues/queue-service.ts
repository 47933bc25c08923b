import { invalidFields } from '@gatehouse/api/http/schema';
import { ServiceError } from '@gatehouse/core/errors';
import type { DeadLetter, Depth, JobQueue } from '@gatehouse/events/job-queue';
import type { SlotTime } from '@gatehouse/events/owner-turns';
import type { RequestedBy } from '@gatehouse/server/requests';
import { laneKey, type QueueAction } from './lane.ts';
import type { Lanes } from './lanes.ts';

/** The state of a lane, for operators. */
export type LaneStatus = {
  queue: string;
  lane: string;
  paused: boolean;
  /** Since when its provider fails, as this process sees it. */
  failing: { since: Date; error: string } | undefined;
  /** The number of attempts by their outcome. */
  outcomes: Readonly<Record<string, number>>;
  /** The owners whose jobs have used the most slot-time of this process in the last hour or so. */
  slotTimes: readonly SlotTime[];
  /** By priority. */
  depth: readonly Depth[];
};

export type QueuedDeadLetter = DeadLetter & { queue: string };

/** A queue with what its lanes say of themselves. */
export type QueueAdmin = {
  queue: JobQueue;
  lanes: readonly string[];
  failureOf?(lane: string): { since: Date; error: string } | undefined;
};

/**
 * The administration of queues. Actions on dead letters are recorded before they are done, so that nothing is done
 * without being recorded.
 */
export type QueueService = {
  status(): Promise<LaneStatus[]>;
  /** Reads the depth of the queues for observed(), which has none after a failure. */
  observe(): Promise<void>;
  /** The status with the depth that observe() has read, if any. */
  observed(): LaneStatus[];
  /** Throws `not_found`. A paused lane keeps its jobs, and none of them is worked on. */
  setPaused(queue: string, lane: string, paused: boolean, by: RequestedBy): Promise<LaneStatus>;
  /** A page of the dead letters of all queues, one queue after the other, or of one. */
  deadLetters(options: {
    queue: string | undefined;
    limit: number;
    cursor: string | undefined;
  }): Promise<{ data: QueuedDeadLetter[]; next?: string }>;
  /** Throws `not_found`. */
  readDeadLetter(id: string): Promise<QueuedDeadLetter>;
  /** Puts jobs back into their queues; returns the ids for which there is no dead letter. */
  replay(ids: readonly string[], by: RequestedBy): Promise<string[]>;
  /** Throws `not_found`. */
  removeDeadLetter(id: string, by: RequestedBy): Promise<void>;
  /** Removes all of a queue, or of a lane of it; returns their number. Throws `not_found`. */
  purge(queue: string, lane: string | undefined, by: RequestedBy): Promise<number>;
};

type FoundLetter = { queue: JobQueue; letter: DeadLetter };

const laneOf = ({ queue, letter }: FoundLetter) => laneKey(queue.name, letter.lane);

export function createQueueService(operated: readonly QueueAdmin[], lanes: Lanes): QueueService {
  function named(name: string): QueueAdmin {
    const found = operated.find(({ queue }) => queue.name === name);
    if (found === undefined) throw missing('queue');
    return found;
  }

  let observed = new Map<JobQueue, Depth[]>();

  const statusOf = async (each: QueueAdmin) => statusWith(lanes, each, await each.queue.depth());

  /** The dead letter of this id, and its queue. */
  async function find(id: string): Promise<FoundLetter | undefined> {
    for (const { queue } of operated) {
      const letter = await queue.deadLetters.read(id);
      if (letter !== undefined) return { queue, letter };
    }
    return undefined;
  }

  /** Records what is to be done to dead letters of one lane. */
  async function record(
    action: QueueAction['action'],
    letters: readonly FoundLetter[],
    by: RequestedBy,
  ): Promise<void> {
    const [first] = letters;
    if (first === undefined) return;
    const { queue, letter } = first;
    const { lane } = letter;
    const ids = letters.map(({ letter }) => letter.id);
    await lanes.record(queue.name, lane, { action, details: { queue: queue.name, lane, ids }, by });
  }

  return {
    status: async () => (await Promise.all(operated.map(statusOf))).flat(),

    async observe() {
      try {
        observed = new Map(
          await Promise.all(operated.map(async ({ queue }) => [queue, await queue.depth()] as const)),
        );
      } catch (error) {
        observed = new Map();
        throw error;
      }
    },

    observed: () => operated.flatMap((each) => statusWith(lanes, each, observed.get(each.queue) ?? [])),

    async setPaused(name, lane, paused, by) {
      const found = named(name);
      if (!found.lanes.includes(lane)) throw missing('lane');
      await lanes.setPaused(name, lane, paused, by);
      const status = (await statusOf(found)).find((each) => each.lane === lane);
      if (status === undefined) throw missing('lane');
      return status;
    },

    async deadLetters({ queue, limit, cursor }) {
      return pageOf(queue === undefined ? operated : [named(queue)], { limit, cursor });
    },

    async readDeadLetter(id) {
      const found = await find(id);
      if (found === undefined) throw missing('dead letter');
      return { ...found.letter, queue: found.queue.name };
    },

    async replay(ids, by) {
      const unique = [...new Set(ids)];
      const found: FoundLetter[] = [];
      for (const id of unique) {
        const letter = await find(id);
        if (letter !== undefined) found.push(letter);
      }
      const replayed = new Set<string>();
      for (const letters of Map.groupBy(found, laneOf).values()) {
        await record('dead_letters.replayed', letters, by);
        for (const { queue, letter } of letters) {
          if (await queue.deadLetters.replay(letter.id)) replayed.add(letter.id);
        }
      }
      return unique.filter((id) => !replayed.has(id));
    },

    async removeDeadLetter(id, by) {
      const found = await find(id);
      if (found === undefined) throw missing('dead letter');
      await record('dead_letters.removed', [found], by);
      if (!(await found.queue.deadLetters.remove(id))) throw missing('dead letter');
    },

    async purge(name, lane, by) {
      const { queue, lanes: names } = named(name);
      const purged = lane === undefined ? names : names.filter((each) => each === lane);
      const [first] = purged;
      if (first === undefined) throw missing('lane');
      const depth = (await queue.depth()).filter((part) => purged.includes(part.lane));
      const number = depth.reduce((sum, { deadLetters }) => sum + deadLetters, 0);
      const details = { queue: name, lanes: purged, number };
      await lanes.record(name, first, { action: 'dead_letters.purged', details, by });
      return queue.deadLetters.purge(lane);
    },
  };
}

const missing = (what: string) => new ServiceError('not_found', `There is no such ${what}.`);

function statusWith(
  lanes: Lanes,
  { queue, lanes: names, failureOf }: QueueAdmin,
  depth: readonly Depth[],
): LaneStatus[] {
  return names.map((lane) => ({
    queue: queue.name,
    lane,
    ...lanes.stateOf(queue.name, lane),
    failing: failureOf?.(lane),
    slotTimes: queue.slotTimes(lane),
    depth: depth.filter((part) => part.lane === lane),
  }));
}

/** A page of the dead letters of these queues, one queue after the other. */
async function pageOf(
  among: readonly QueueAdmin[],
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ data: QueuedDeadLetter[]; next?: string }> {
  const [name = among[0]?.queue.name, position] = cursor === undefined ? [] : splitCursor(cursor);
  const begin = among.findIndex(({ queue }) => queue.name === name);
  if (begin < 0) throw invalidCursor();
  const data: QueuedDeadLetter[] = [];
  for (let i = begin, after = position; ; i += 1, after = undefined) {
    const queue = among[i]?.queue;
    if (queue === undefined) return { data };
    const page = await queue.deadLetters.list({
      limit: limit - data.length,
      ...(after === undefined ? {} : { after }),
    });
    data.push(...page.data.map((letter) => ({ ...letter, queue: queue.name })));
    if (page.next !== undefined) return { data, next: `${queue.name}.${page.next}` };
    const following = among[i + 1]?.queue.name;
    if (data.length === limit) return following === undefined ? { data } : { data, next: `${following}.` };
  }
}

/** The name of a queue, and a position in its list; without one, the list begins. */
function splitCursor(cursor: string): [string, string | undefined] {
  const [, name, position] = /^([a-z0-9]{1,40})\.(.*)$/.exec(cursor) ?? [];
  if (name === undefined) throw invalidCursor();
  return [name, position === '' ? undefined : position];
}

function invalidCursor(): ServiceError {
  return invalidFields([{ field: 'cursor', message: 'is not a cursor of this list' }]);
}

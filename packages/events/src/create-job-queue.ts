import { ServiceError } from '@gatehouse/core/errors';
import type { Logger } from '@gatehouse/core/logger';
import { PRIORITIES } from './job.ts';
import type { DeadLetter, JobQueue, JobQueueOptions } from './job-queue.ts';
import type { JobStore, StoredLetter } from './job-store.ts';
import { checkWord, type JobAddress, jobSubject, parseJobSubject } from './job-subject.ts';
import { createJobWorker } from './job-worker.ts';

/** The lease of a job unless the queue has another. */
export const DEFAULT_LEASE_MS = 10_000;

const JOB_ID = /^[\w-]+$/;

/** A queue on a store. */
export function createJobQueue(
  options: JobQueueOptions & { service: string; store: JobStore; logger: Logger },
): JobQueue {
  const { service, name, lanes, jobStates, store, logger } = options;
  const addressOf = (subject: string) => {
    const address = parseJobSubject(service, subject);
    if (address?.queue === name && lanes.includes(address.lane)) return address;
    throw new TypeError(`'${subject}' is not a subject of the jobs of ${service}.${name}.`);
  };

  /** Ids are part of subjects, in which other characters have a meaning of their own. */
  const find = async (id: string) => (JOB_ID.test(id) ? store.dead.find(id) : undefined);

  return {
    name,
    subject(priority, lane) {
      const subject = jobSubject(service, { queue: name, priority, lane });
      addressOf(subject);
      return subject;
    },
    async publish({ id, subject, at, data, traceparent }) {
      const address: JobAddress = addressOf(subject);
      if (!JOB_ID.test(id)) throw new TypeError('The id of a job consists of letters, digits, `-` and `_`.');
      await store.put({ id, at: new Date(at), data, ...address, ...(traceparent && { traceparent }) }, id);
    },
    work(work) {
      if (!lanes.includes(work.lane)) throw new TypeError(`${name} has no lane '${work.lane}'.`);
      return createJobWorker({
        ...work,
        store,
        jobStates,
        logger: logger.child({ queue: name, lane: work.lane }),
      });
    },
    depth: store.depth,
    deadLetters: {
      async list({ limit, after }) {
        if (after !== undefined && !/^\d{1,15}(?:-[\w-]{1,100})?$/.test(after)) {
          const details = [{ field: 'cursor', message: 'is not a cursor of this list' }];
          throw new ServiceError('invalid', 'The cursor is not valid.', { details });
        }
        const found = await store.dead.list(limit + 1, after);
        const page = found.slice(0, limit);
        const last = page.at(-1);
        return {
          data: page.map(withoutPosition),
          ...(found.length > limit && last !== undefined ? { next: last.position } : {}),
        };
      },
      async read(id) {
        const letter = await find(id);
        return letter && withoutPosition(letter);
      },
      async replay(id) {
        const letter = await find(id);
        if (letter === undefined) return false;
        await jobStates.reset(letter.job);
        // Its own key for each death, so that neither a repeated replay nor a later one is taken for another.
        await store.put(letter.job, `${id}.replay.${letter.position}`);
        await store.dead.remove(letter);
        return true;
      },
      async remove(id) {
        const letter = await find(id);
        return letter !== undefined && (await store.dead.remove(letter));
      },
      purge: store.dead.purge,
    },
  };
}

/** Throws a TypeError for a name or a lane that cannot be part of a subject. */
export function checkQueue({ name, lanes }: JobQueueOptions): void {
  checkWord('queue', name);
  for (const lane of lanes) checkWord('lane', lane);
}

/** Each lane with each priority. */
export function partsOf(lanes: readonly string[]) {
  return lanes.flatMap((lane) => PRIORITIES.map((priority) => ({ lane, priority })));
}

function withoutPosition({ position: _, ...letter }: StoredLetter): DeadLetter {
  return letter;
}

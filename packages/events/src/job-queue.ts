import { ServiceError } from '@gatehouse/core/errors';
import { newId } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { type JobDocument, type JobState, PRIORITIES, type Priority } from '@gatehouse/data/job-document';
import type { Broadcast } from './broadcast.ts';
import type { Job } from './job.ts';
import { createJobCollection, type JobCollection } from './job-collection.ts';
import type { JobKind } from './job-kind.ts';
import type { WorkOptions } from './job-runner.ts';
import { createJobWorker, type JobWorker } from './job-worker.ts';
import type { OwnerJobs, SlotTime } from './owner-turns.ts';

/** The lease of a job unless the queue has another, in milliseconds. */
const LEASE_MS = 10_000;
/** How often the jobs of an owner are announced to other processes at most. */
const ANNOUNCE_MS = 50;

/** The state of one lane and priority. */
export type Depth = {
  lane: string;
  priority: Priority;
  /** Jobs that are due, and that no worker has claimed. */
  waiting: number;
  /** Jobs that are running, or whose next attempt is due later. */
  inFlight: number;
  /** The time since the first of all these jobs was accepted; 0 when there is none. */
  oldestMs: number;
  deadLetters: number;
};

/** A job whose attempts all failed. */
export type DeadLetter = Pick<Job, 'id' | 'lane' | 'priority'> & {
  /** Its document: what it is, and its id. */
  data: Readonly<Record<string, string>>;
  /** When it was accepted. */
  at: Date;
  attempts: number;
  /** The message of the last error. */
  error: string;
  failedAt: Date;
};

/** The dead letters of one queue. They stay until they are replayed or removed. */
export type DeadLetters = {
  /**
   * A page, in the order in which the jobs failed.
   *
   * @param options.after the `next` of the page before. Another text is a ServiceError `invalid`
   */
  list(options: { limit: number; after?: string }): Promise<{ data: DeadLetter[]; next?: string }>;
  read(id: string): Promise<DeadLetter | undefined>;
  /** Makes the job due again, with all its attempts; resolves to false when there is none with this id. */
  replay(id: string): Promise<boolean>;
  /** Resolves to false when there is none with this id. */
  remove(id: string): Promise<boolean>;
  /** Removes all of the queue, or of one lane; resolves to their number. */
  purge(lane?: string): Promise<number>;
};

/** A durable queue of jobs, each of which is a document of a collection, and is worked on at least once. */
export type JobQueue<D extends JobDocument = JobDocument, R = unknown> = {
  readonly name: string;
  /** Call this after you have written a job. It returns at once, and the workers of all processes learn of the job. */
  announce(job: Pick<JobState, 'lane' | 'priority' | 'owner' | 'due'>): void;
  /** Makes a worker for one lane, to be started. Several workers, in one process or many, share the jobs of a lane. */
  work(options: WorkOptions<D, R>): JobWorker;
  /** The jobs of each lane and priority, counted. */
  depth(): Promise<Depth[]>;
  /** The ten owners whose jobs have used the most slot-time of this process in the last hour or so. */
  slotTimes(lane: string): SlotTime[];
  deadLetters: DeadLetters;
};

/** Makes a queue of a service. */
export type JobQueues = <D extends JobDocument, R>(options: {
  /** One word of lower-case letters, unique in the service. */
  name: string;
  /**
   * Independent parts of the queue, each a word of lower-case letters: a lane that is paused, slow or full of bad jobs
   * holds up no other.
   */
  lanes: readonly string[];
  kind: JobKind<D, R>;
  /** After this time, 10 seconds unless given, another process takes over the jobs of one that was killed. */
  leaseMs?: number | undefined;
}) => JobQueue<D, R>;

/** @param service.broadcast tells other processes of jobs; undefined for a service that is one process */
export function createJobQueues(service: {
  name: string;
  broadcast: Pick<Broadcast, 'publish' | 'subscribe'> | undefined;
  logger: Logger;
}): JobQueues {
  return <D extends JobDocument, R>({
    name,
    lanes,
    kind,
    leaseMs = LEASE_MS,
  }: Parameters<JobQueues>[0] & { kind: JobKind<D, R> }): JobQueue<D, R> => {
    const jobs = createJobCollection(name, kind);
    const workers: (Pick<ReturnType<typeof createJobWorker>, 'announced' | 'slotTimes'> & {
      lane: string;
    })[] = [];
    const announcements = createAnnouncements(
      `jobs.${service.name}.${name}`,
      service.broadcast,
      (lane, of) => {
        for (const worker of workers) if (worker.lane === lane) worker.announced(of);
      },
    );
    return {
      name,
      announce: announcements.announce,
      work(options) {
        if (!lanes.includes(options.lane)) throw new TypeError(`${name} has no lane '${options.lane}'.`);
        const logger = service.logger.child({ queue: name, lane: options.lane });
        const worker = createJobWorker({ ...options, jobs, leaseMs, logger });
        const { announced, slotTimes } = worker;
        workers.push({ lane: options.lane, announced, slotTimes });
        return worker;
      },
      depth: () =>
        Promise.all(lanes.flatMap((lane) => PRIORITIES.map((priority) => jobs.depth(lane, priority)))),
      slotTimes: (lane) => workers.find((worker) => worker.lane === lane)?.slotTimes() ?? [],
      deadLetters: deadLettersOf(jobs, kind.noun, announcements.announce),
    };
  };
}

/** Tells the workers of this process of a job at once, and those of others at most every ANNOUNCE_MS for each owner. */
function createAnnouncements(
  subject: string,
  broadcast: Pick<Broadcast, 'publish' | 'subscribe'> | undefined,
  tell: (lane: string, of: OwnerJobs & { due: Date }) => void,
) {
  const recent = new Map<string, { isAgain: boolean }>();
  const from = newId('prc');
  type Announced = { from: string; lane: string; priority: Priority; owner: string; due: string };

  function publish(key: string, message: Announced): void {
    const known = recent.get(key);
    if (known !== undefined) {
      known.isAgain = true;
      return;
    }
    const own = { isAgain: false };
    recent.set(key, own);
    // The sweep of the workers finds jobs whose announcement is lost.
    broadcast?.publish(subject, message).catch(() => {});
    setTimeout(() => {
      recent.delete(key);
      if (own.isAgain) publish(key, message);
    }, ANNOUNCE_MS).unref();
  }

  broadcast?.subscribe(subject, (message) => {
    const { from: sender, lane, priority, owner, due } = message as Announced;
    // It was told at once.
    if (sender === from) return;
    tell(lane, { priority, owner, due: new Date(due) });
  });
  return {
    announce({ lane, priority, owner, due }: Pick<JobState, 'lane' | 'priority' | 'owner' | 'due'>): void {
      const at = due ?? new Date();
      tell(lane, { priority, owner, due: at });
      if (broadcast === undefined) return;
      const isDue = at.getTime() <= Date.now();
      const key = `${lane} ${priority} ${owner} ${isDue ? '' : at.getTime()}`;
      publish(key, { from, lane, priority, owner, due: at.toISOString() });
    },
  };
}

function deadLettersOf<D extends JobDocument, R>(
  jobs: JobCollection<D, R>,
  noun: string,
  announce: JobQueue['announce'],
): DeadLetters {
  const letterOf = ({ _id: id, job }: JobDocument): DeadLetter => {
    const { lane, priority, since, attempts, dead } = job as JobState;
    return {
      ...{ id, lane, priority, data: { [noun]: id }, at: since, attempts },
      ...{ error: dead?.error ?? '', failedAt: dead?.at ?? since },
    };
  };
  return {
    async list({ limit, after }) {
      const found = await jobs.deadLetters(limit + 1, after === undefined ? undefined : positionOf(after));
      const page = found.slice(0, limit).map(letterOf);
      const last = page.at(-1);
      if (found.length <= limit || last === undefined) return { data: page };
      return { data: page, next: `${last.failedAt.getTime()}-${last.id}` };
    },
    async read(id) {
      const found = await jobs.deadLetter(id);
      return found === null ? undefined : letterOf(found);
    },
    async replay(id) {
      const found = await jobs.deadLetter(id);
      const isReplayed = found !== null && (await jobs.replay(id));
      if (isReplayed) announce({ ...(found.job as JobState), due: new Date() });
      return isReplayed;
    },
    remove: async (id) => (await jobs.forget({ id })) === 1,
    purge: (lane) => jobs.forget(lane === undefined ? {} : { lane }),
  };
}

/** The place of a dead letter in its list. */
function positionOf(cursor: string): { at: Date; id: string } {
  const [, ms, id] = /^(\d{1,15})-([\w-]{1,100})$/.exec(cursor) ?? [];
  if (id !== undefined) return { at: new Date(Number(ms)), id };
  const details = [{ field: 'cursor', message: 'is not a cursor of this list' }];
  throw new ServiceError('invalid', 'The cursor is not valid.', { details });
}

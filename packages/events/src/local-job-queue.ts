import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gatehouse/core/logger';
import { defineCollection } from '@gatehouse/data/collection';
import { checkQueue, createJobQueue, DEFAULT_LEASE_MS, partsOf } from './create-job-queue.ts';
import type { Job } from './job.ts';
import type { JobQueue, JobQueueOptions, JobQueues } from './job-queue.ts';
import type { Delivery, JobStore } from './job-store.ts';
import { jobSubject } from './job-subject.ts';
import { encode } from './listeners.ts';
import { createLocalDeadLetters, defineDeadLetters } from './local-dead-letters.ts';

/** A stored job wakes the calls that wait for it in this process; polling is only a safeguard. */
const WAIT_MS = 300_000;

/** The collection of the jobs that wait or are worked on. */
export const JOBS = 'jobs';

type JobDocument = {
  /** The queue, the priority and the key. */
  _id: string;
  subject: string;
  job: Job;
  /** When it was published, in milliseconds. */
  published: number;
  /** The time from which it may be handed out, in milliseconds. */
  due: number;
  deliveries: number;
};

/**
 * The queues of a service in its own MongoDB, for a service that is one process: the running jobs are known to that process
 * alone, so that after a kill it is there at once. Make the queues before the database starts, each once.
 */
export function createLocalJobQueues(service: {
  connection: Parameters<typeof defineCollection>[0];
  name: string;
  logger: Logger;
}): JobQueues {
  let collections: ReturnType<typeof defineCollections> | undefined;
  return (options) => {
    collections ??= defineCollections(service.connection);
    return createLocalJobQueue(options, service, collections);
  };
}

function defineCollections(connection: Parameters<typeof defineCollection>[0]) {
  const due = { fields: { subject: 1, due: 1 }, options: { name: 'due' } } as const;
  return {
    jobs: defineCollection<JobDocument>(connection, JOBS, [due]),
    letters: defineDeadLetters(connection),
  };
}

function createLocalJobQueue(
  options: JobQueueOptions,
  { name: service, logger }: { name: string; logger: Logger },
  { jobs, letters }: ReturnType<typeof defineCollections>,
): JobQueue {
  const { name, lanes, leaseMs = DEFAULT_LEASE_MS } = options;
  checkQueue(options);
  const dead = createLocalDeadLetters(letters, name);
  /** By subject: the documents that are worked on. */
  const taken = new Map<string, Set<string>>();
  /** By subject: calls that wait for a job. */
  const waiting = new Map<string, Set<() => void>>();
  const takenOf = (subject: string) => entryOf(taken, subject);

  function notify(subject: string): void {
    for (const wake of entryOf(waiting, subject)) wake();
  }

  async function take(subject: string, max: number): Promise<Delivery[]> {
    const busy = takenOf(subject);
    const filter = { subject, due: { $lte: Date.now() }, _id: { $nin: [...busy] } };
    const found = await jobs.find(filter).sort({ due: 1 }).limit(max).toArray();
    const free = found.filter(({ _id }) => !busy.has(_id));
    for (const { _id } of free) busy.add(_id);
    return free.map(deliveryOf);
  }

  function deliveryOf({ _id, subject, job, deliveries }: JobDocument): Delivery {
    const settle = async (write: () => Promise<unknown>) => {
      try {
        await write();
      } finally {
        // Whatever became of the write: what is still there is handed out again.
        takenOf(subject).delete(_id);
        notify(subject);
      }
    };
    return {
      job,
      deliveries: deliveries + 1,
      done: () => settle(() => jobs.deleteOne({ _id })),
      retry: (afterMs) =>
        settle(() =>
          jobs.updateOne({ _id }, { $set: { due: Date.now() + afterMs }, $inc: { deliveries: 1 } }),
        ),
      // Nobody else hands it out.
      working() {},
    };
  }

  /** Resolves when a job may be due, at `deadline` at the latest. */
  async function wait(subject: string, deadline: number, signal: AbortSignal, listening: Promise<void>) {
    const filter = { subject, _id: { $nin: [...takenOf(subject)] } };
    const next = await jobs.findOne(filter, { sort: { due: 1 }, projection: { due: 1 } });
    const ms = Math.min(next?.due ?? deadline, deadline) - Date.now();
    if (ms <= 0 || signal.aborted) return;
    const timer = new AbortController();
    const elapsed = sleep(ms, undefined, { signal: AbortSignal.any([signal, timer.signal]) }).catch(() => {});
    await Promise.race([listening, elapsed]);
    timer.abort();
  }

  const store: JobStore = {
    leaseMs,
    waitMs: WAIT_MS,
    async put(job, key) {
      const subject = jobSubject(service, job);
      const document: JobDocument = {
        _id: `${name}.${job.priority}.${key}`,
        subject,
        // As it would be between processes.
        job: { ...job, data: JSON.parse(encode(job.data)) },
        published: Date.now(),
        due: Date.now(),
        deliveries: 0,
      };
      const { _id, ...fields } = document;
      await jobs.updateOne({ _id }, { $setOnInsert: fields }, { upsert: true });
      notify(subject);
    },
    async pull({ lane, priority, max, waitMs, signal }) {
      const subject = jobSubject(service, { queue: name, lane, priority });
      const deadline = Date.now() + waitMs;
      for (;;) {
        const heard = Promise.withResolvers<void>();
        entryOf(waiting, subject).add(heard.resolve);
        try {
          const deliveries = await take(subject, max);
          if (deliveries.length > 0 || signal.aborted || Date.now() >= deadline) return deliveries;
          await wait(subject, deadline, signal, heard.promise);
        } finally {
          entryOf(waiting, subject).delete(heard.resolve);
        }
      }
    },
    async depth() {
      return Promise.all(
        partsOf(lanes).map(async ({ lane, priority }) => {
          const subject = jobSubject(service, { queue: name, lane, priority });
          const untaken = { subject, deliveries: 0, _id: { $nin: [...takenOf(subject)] } };
          const [all, waits, first, deadLetters] = await Promise.all([
            jobs.countDocuments({ subject }),
            jobs.countDocuments(untaken),
            jobs.findOne({ subject }, { sort: { published: 1 }, projection: { published: 1 } }),
            dead.count(lane, priority),
          ]);
          const oldestMs = first === null ? 0 : Math.max(0, Date.now() - first.published);
          return { lane, priority, waiting: waits, inFlight: all - waits, oldestMs, deadLetters };
        }),
      );
    },
    dead,
  };
  return createJobQueue({ ...options, service, store, logger });
}

function entryOf<T>(map: Map<string, Set<T>>, key: string): Set<T> {
  const set = map.get(key) ?? new Set<T>();
  map.set(key, set);
  return set;
}

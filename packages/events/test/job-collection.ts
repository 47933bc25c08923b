import { newId } from '@gatehouse/core/ids';
import type { Logger } from '@gatehouse/core/logger';
import { defineCollection } from '@gatehouse/data/collection';
import type { Database } from '@gatehouse/data/database';
import { JOB_INDEXES, type JobDocument, type JobState, newJob } from '@gatehouse/data/job-document';
import type { Broadcast } from '../src/broadcast.ts';
import type { JobKind } from '../src/job-kind.ts';
import { createJobQueues, type JobQueue } from '../src/job-queue.ts';

export type TestJob = JobDocument & { version: number; data: Record<string, unknown>; result?: unknown };

const LANES = ['email', 'sms'];

/** A collection of jobs. Defines it on the connection. */
export function defineJobs(connection: Database['connection'], name: string) {
  return defineCollection<TestJob>(connection, name, Object.values(JOB_INDEXES));
}

/** A queue of the jobs of a collection, as one process has it. */
export function openQueue(
  connection: Database['connection'],
  name: string,
  options: {
    logger: Logger;
    broadcast?: Pick<Broadcast, 'publish' | 'subscribe'>;
    leaseMs?: number;
    kind?: Partial<JobKind<TestJob, unknown>>;
  },
) {
  const { logger, broadcast, leaseMs, kind } = options;
  const collection = connection.collection(name);
  const queue: JobQueue<TestJob> = createJobQueues({ name: 'test', broadcast, logger })({
    ...{ name: 'messages', lanes: LANES, leaseMs },
    kind: {
      ...{ collection, noun: 'thing', mayEndProcess: true },
      changesOf: (_job, { outcome, result }) => ({ set: { result: result ?? outcome.result } }),
      applied: { version: { $add: ['$version', 1] } },
      ...kind,
    },
  });
  return {
    queue,
    /** Stores a job and announces it. */
    async add(data: Record<string, unknown> = {}, place: Partial<JobState> = {}): Promise<string> {
      const [_id, job] = [newId('job'), jobOf(place)];
      await connection.collection<TestJob>(name).insertOne({ _id, version: 0, data, job });
      queue.announce(job);
      return _id;
    },
  };
}

export const jobOf = (place: Partial<JobState> = {}): JobState => ({
  ...newJob({ lane: 'email', priority: 'normal', owner: 'ann' }),
  ...place,
});

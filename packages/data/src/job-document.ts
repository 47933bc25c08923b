import type { IndexDefinition } from './collection.ts';

/** From the highest to the lowest. */
export const PRIORITIES = ['high', 'normal', 'low'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** The `job` of a document: its place in a queue, until it has ended. */
export type JobState = {
  lane: string;
  priority: Priority;
  /** Owners take turns, so that the jobs of one do not delay those of another. */
  owner: string;
  /** When it was accepted. */
  since: Date;
  /** The time from which it may be claimed. While it runs, this is the end of its lease. Null for a dead letter. */
  due: Date | null;
  /** The attempts that have begun. */
  attempts: number;
  /** The ID of its claim. If it is still set after the lease has expired, the attempt was interrupted. */
  holder: string | null;
  /** The trace context of its cause, when traces are recorded. */
  traceparent?: string;
  /** For a dead letter. */
  dead?: { at: Date; error: string };
};

/** A document that is a job while `job` is set. */
export type JobDocument = { _id: string; job?: JobState | null };

export const EPOCH = new Date(0);

/** The indexes of a collection of jobs; those that have ended are in none of them. */
export const JOB_INDEXES = {
  due: {
    fields: { 'job.lane': 1, 'job.priority': 1, 'job.owner': 1, 'job.due': 1 },
    options: { name: 'jobs_due', partialFilterExpression: { 'job.due': { $gt: EPOCH } } },
  },
  since: {
    fields: { 'job.lane': 1, 'job.priority': 1, 'job.since': 1 },
    options: { name: 'jobs_since', partialFilterExpression: { 'job.due': { $gt: EPOCH } } },
  },
  held: {
    fields: { 'job.lane': 1, 'job.due': 1 },
    options: { name: 'jobs_held', partialFilterExpression: { 'job.holder': { $type: 'string' } } },
  },
  dead: {
    fields: { 'job.dead.at': 1, _id: 1 },
    options: { name: 'jobs_dead', partialFilterExpression: { 'job.dead.at': { $gt: EPOCH } } },
  },
} as const satisfies Record<string, IndexDefinition>;

/** The condition under which the partial indexes of open jobs can be used. */
export const IS_OPEN = { $gt: EPOCH };

/** The state of a job that is accepted now. */
export function newJob(
  of: Pick<JobState, 'lane' | 'priority' | 'owner'> & { traceparent?: string | undefined },
  due = new Date(),
): JobState {
  const { traceparent, ...place } = of;
  return { ...place, since: due, due, attempts: 0, holder: null, ...(traceparent && { traceparent }) };
}

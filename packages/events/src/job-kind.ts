import type { defineCollection } from '@gatehouse/data/collection';
import type { Database } from '@gatehouse/data/database';
import type { JobDocument } from '@gatehouse/data/job-document';
import type { Job, Outcome } from './job.ts';

/** Fields of a document with aggregation expressions. */
export type Expressions = Readonly<Record<string, unknown>>;

/** The collection of the jobs of a queue, and what attempts change in its documents besides `job`. */
export type JobKind<D extends JobDocument, R = unknown> = {
  /** With JOB_INDEXES, of which it needs `held` only if `mayEndProcess` is true. */
  collection: ReturnType<Database['connection']['collection']>;
  /** A word for the document, by which operators see it. */
  noun: string;
  /** The fields to set when an attempt begins, also after one that was interrupted. */
  begun?(now: Date): Expressions;
  /**
   * Changed when an attempt ends: `set` are values; `change` is for the expressions of `applied`, where it is `$$change`.
   *
   * @param result what the handler has noted last
   */
  changesOf(
    job: Job<D>,
    end: { outcome: Outcome; result: R | undefined; now: Date },
  ): { set: Readonly<Record<string, unknown>>; change?: Readonly<Record<string, unknown>> };
  applied?: Expressions;
  /** Whether an attempt that was postponed counts all the same. */
  wasMade?(result: R | undefined): boolean;
  /** The values of a job that is to be done again after it has failed. */
  reset?: Readonly<Record<string, unknown>>;
  /**
   * Whether the handler can crash the process. If so, an interrupted job runs alone.
   */
  mayEndProcess: boolean;
  /** Journaled unless given. A job whose write is lost in a crash is done again. */
  writeConcern?: { w: 1; journal: boolean };
};

export type Jobs = ReturnType<typeof defineCollection<JobDocument>>;

/** The options of writes to the jobs of a kind. */
export function writeOptions<D extends JobDocument, R>({ writeConcern }: JobKind<D, R>) {
  return writeConcern ? { writeConcern } : {};
}

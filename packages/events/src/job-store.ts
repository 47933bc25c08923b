import type { Job, Priority } from './job.ts';
import type { DeadLetter, Depth } from './job-queue.ts';

/** A job that was taken from the store. Unless one of these is called within the lease, the store hands it out again. */
export type Delivery = {
  job: Job;
  /** How often the store has handed it out, from 1. */
  deliveries: number;
  /** The job has left the queue. */
  done(): Promise<void>;
  /** The store hands it out again after this time. */
  retry(afterMs: number): Promise<void>;
  /** It is being worked on: the lease is renewed. */
  working(): void;
};

/** Where the jobs of one queue are kept; what a transport brings. */
export type JobStore = {
  leaseMs: number;
  /** How long a worker's pull waits for a job, in milliseconds: for longer, the fewer pulls there are at rest. */
  waitMs: number;
  /** Resolves when the job is stored. The same key again, while the job is there, changes nothing. */
  put(job: Job, key: string): Promise<void>;
  /**
   * Takes up to `max` jobs, of those that are due the first. With `waitMs`, `max` is 1: when there is none, waits for one,
   * until the time is over or the signal is aborted.
   */
  pull(options: PullOptions): Promise<Delivery[]>;
  depth(): Promise<Depth[]>;
  dead: DeadLetterStore;
};

export type PullOptions = {
  lane: string;
  priority: Priority;
  max: number;
  waitMs: number;
  signal: AbortSignal;
};

/** A dead letter with its place in the store, by which it is removed even when another of the same job takes its place. */
export type StoredLetter = DeadLetter & { position: string };

export type DeadLetterStore = {
  /** Resolves when the letter is stored, in place of an earlier one of the same job. */
  put(letter: DeadLetter): Promise<void>;
  /** The first letters after a position, in the order in which they were put. */
  list(limit: number, after: string | undefined): Promise<StoredLetter[]>;
  find(id: string): Promise<StoredLetter | undefined>;
  /** Resolves to whether it was there. */
  remove(letter: StoredLetter): Promise<boolean>;
  purge(lane: string | undefined): Promise<number>;
};

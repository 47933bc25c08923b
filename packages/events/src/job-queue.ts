import type { Job, JobHandler, JobStateStore, Priority } from './job.ts';
import type { EventTransport } from './local-events.ts';

/** The description of a queue, the same in every process of the service. */
export type JobQueueOptions = {
  /** One word of lower-case letters, unique in the service. */
  name: string;
  /**
   * Independent parts of the queue, each a word of lower-case letters: a lane that is paused, slow or full of bad jobs
   * holds up no other.
   */
  lanes: readonly string[];
  jobStates: JobStateStore;
  /** After this time, 10 seconds unless given, another process takes over the jobs of one that was killed. */
  leaseMs?: number;
};

/**
 * A durable queue of jobs, each worked on at least once. A document says which jobs there are, and createJobPublisher
 * publishes them: outboxEvent(queue.subject('high', 'email'), data) is a job.
 */
export type JobQueue = EventTransport & {
  readonly name: string;
  /** `jobs.{service}.{queue}.{priority}.{lane}`, the subject of events that are jobs of this queue. */
  subject(priority: Priority, lane: string): string;
  /**
   * Resolves when the job is durably stored; rejects with `unavailable` to be called again. An event that is published
   * again, while the job waits, is stored once; a job that is published again later is recognized by its state. Throws a
   * TypeError for a subject of another queue.
   */
  publish: EventTransport['publish'];
  /** Makes a worker for one lane, to be started. Several workers, in one process or many, share the jobs of a lane. */
  work(options: WorkOptions): JobWorker;
  /** The jobs of each lane and priority, counted. */
  depth(): Promise<Depth[]>;
  deadLetters: DeadLetters;
};

/** Makes a queue of a service, each once and before the database of the service starts. */
export type JobQueues = (options: JobQueueOptions) => JobQueue;

export type WorkOptions = {
  lane: string;
  handler: JobHandler;
  /** Handlers that run at the same time in this process. As many jobs again may wait for their outcome to be recorded. */
  slots: number;
  /**
   * The longest time of an attempt. Then its signal is aborted, the attempt has failed, and its slot is free, even when
   * the handler goes on.
   */
  timeoutMs: number;
  /** 8 unless given. A job that has failed so often becomes a dead letter. */
  maxAttempts?: number;
  /** Shares of the slots while jobs of every priority wait; each at least 1. 6, 3 and 1 unless given. */
  weights?: Readonly<Record<Priority, number>>;
  /** The pause after the first failed attempt, and the longest one. Between them it doubles, with jitter. */
  backoffMs?: { first: number; max: number };
  /**
   * Jobs of this lane and priority that need not wait for those before them, `max` at most: for a queue in which one sender's jobs
   * must not keep another's waiting. They are in the queue, too, where their states say that they have ended. While jobs
   * wait it is asked for half of what is taken; a failure counts as none.
   */
  overtaking?: (priority: Priority, max: number) => Promise<Job[]>;
  /** While it returns true, jobs stay in the queue and burn no attempts. It is called often. */
  paused?: () => boolean;
};

export type JobWorker = {
  /** Starts to take jobs, in the background, for as long as it takes to reach the queue. */
  start(): void;
  /**
   * Takes no more jobs, and resolves when those under way have ended, which takes 5 seconds at most: then their signals
   * are aborted, and other processes repeat them.
   */
  stop(): Promise<void>;
};

/** The state of one lane and priority. */
export type Depth = {
  lane: string;
  priority: Priority;
  /** Jobs that no worker has taken yet. */
  waiting: number;
  /** Jobs that a worker has taken and that have not ended: it works on them, or they wait for their next attempt. */
  inFlight: number;
  /** The time since the first of all these jobs was published; 0 when there is none. */
  oldestMs: number;
  deadLetters: number;
};

/** A job whose attempts all failed. It is identified by the id of its job. */
export type DeadLetter = {
  job: Job;
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
  /** Puts the job back into its queue, with all its attempts; resolves to false when there is none with this id. */
  replay(id: string): Promise<boolean>;
  /** Resolves to false when there is none with this id. */
  remove(id: string): Promise<boolean>;
  /** Removes all of the queue, or of one lane; resolves to their number. */
  purge(lane?: string): Promise<number>;
};

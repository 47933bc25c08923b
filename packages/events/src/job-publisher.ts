import type { Logger } from '@gatehouse/core/logger';
import { createPeriodicTask } from '@gatehouse/core/periodic';
import type { Database } from '@gatehouse/data/database';
import { type JobDocument, OPEN_JOBS_INDEX } from '@gatehouse/data/open-jobs';
import type { OutboxEvent } from '@gatehouse/data/outbox';
import { createFailureLog } from './failure-log.ts';
import type { JobQueue } from './job-queue.ts';
import { publishTraced } from './publish-traced.ts';

const EVERY_MS = 30_000;
/** How long a document may be overdue before its job is taken for lost. */
const OVERDUE_MS = 30_000;
/** The number of jobs that one sweep publishes: more when more are missing from the queue. */
const BATCH = { min: 500, max: 20_000 };
/** The longest time between two checks whether the job of a document is still there. */
const MAX_PAUSE_MS = 3_600_000;
/** Jobs that a sweep publishes at a time. */
const CONCURRENCY = 50;
/** After which a job is published again that the queue did not take. Others come first. */
const REFUSED_PAUSE_MS = 5000;
/** How much too early a timer may end: pauses end together. */
const EARLY_MS = 1000;
/** The pause after the queue could not be reached. */
const RETRY_MS = 2000;
/** Publications under way above which jobs wait, and waiting jobs above which they are left to the sweep. */
const MAX_IN_FLIGHT = 256;
const MAX_WAITING = 10_000;

export type JobPublisher = {
  /** Publishes what was left by processes that were killed, now, and what is overdue in intervals. */
  start(): void;
  /** Lets the publications under way end, and begins no other. */
  stop(): Promise<void>;
  /** To be called when the document of a job has been written; it is not waited for. */
  publish(event: OutboxEvent): void;
};

/**
 * Publishes the jobs of a collection: each right after the write that causes it, and again while the document says that it
 * should have ended. So it does not matter whether the process died in between, or the queue has lost the job with its store.
 * A job that is in the queue is recognized by its id there, or by its document when it is worked on.
 *
 * @param options.collection with the OPEN_JOBS_INDEX
 * @param options.projection the fields that `eventOf` needs
 * @param options.eventOf the event that is the job of a document; its id is always the same
 */
export function createJobPublisher<D extends JobDocument>(options: {
  queue: Pick<JobQueue, 'publish' | 'depth'>;
  collection: ReturnType<Database['connection']['collection']>;
  projection: Readonly<Partial<Record<keyof D, 1>>>;
  eventOf: (document: D) => OutboxEvent;
  logger: Logger;
  everyMs?: number | undefined;
  overdueMs?: number | undefined;
}): JobPublisher {
  const { queue, collection, eventOf, logger, everyMs = EVERY_MS, overdueMs = OVERDUE_MS } = options;
  const stopping = new AbortController();
  const logFailure = createFailureLog(logger, 'a job could not be published; trying again', stopping.signal);
  const inFlight = new Set<Promise<void>>();
  /** For their turn, and after a failure. */
  const next: OutboxEvent[] = [];
  let waiting: OutboxEvent[] = [];
  let retrying: NodeJS.Timeout | undefined;
  let isFirstSweep = true;

  function wait(event: OutboxEvent): void {
    if (waiting.length < MAX_WAITING) waiting.push(event);
    retrying ??= setTimeout(retry, RETRY_MS).unref();
  }

  function publish(event: OutboxEvent): void {
    if (stopping.signal.aborted) return;
    if (inFlight.size >= MAX_IN_FLIGHT) {
      if (next.length < MAX_WAITING) next.push(event);
      return;
    }
    const publication = publishTraced(event, queue.publish)
      .catch((error: unknown) => {
        logFailure(error, { job: event.id });
        wait(event);
      })
      .finally(() => {
        inFlight.delete(publication);
        const first = next.shift();
        if (first !== undefined) publish(first);
      });
    inFlight.add(publication);
  }

  function retry(): void {
    retrying = undefined;
    const events = waiting;
    waiting = [];
    for (const event of events) publish(event);
  }

  /** The documents that were to be checked at this time. */
  async function overdue(at: Date, limit: number): Promise<D[]> {
    const projection = { ...options.projection };
    const found = await collection
      .find({ check_at: { $gt: new Date(0), $lte: at } }, { projection, sort: { check_at: 1 }, limit })
      .hint(OPEN_JOBS_INDEX.options.name)
      .toArray();
    return found as unknown as D[];
  }

  /**
   * Publishes the jobs of documents. Each is checked again after half of its age, and soon if its publication failed: only then, so
   * that a process that dies in between leaves it to the next sweep. Returns the errors.
   */
  async function publishAgain(documents: readonly D[]): Promise<unknown[]> {
    const results = await Promise.allSettled(documents.map((it) => queue.publish(eventOf(it))));
    const now = new Date();
    const halfOfAge = { $max: [0, { $divide: [{ $subtract: [now, '$created_at'] }, 2] }] };
    const next = { fulfilled: { $min: [MAX_PAUSE_MS, halfOfAge] }, rejected: REFUSED_PAUSE_MS };
    for (const status of ['fulfilled', 'rejected'] as const) {
      const ids = documents.filter((_, i) => results[i]?.status === status).map(({ _id }) => _id);
      if (ids.length === 0) continue;
      await collection.updateMany({ _id: { $in: ids as never[] }, check_at: { $gt: new Date(0) } }, [
        { $set: { check_at: { $add: [now, next[status]] } } },
      ]);
    }
    return results.flatMap((it) => (it.status === 'rejected' ? [it.reason] : []));
  }

  const sweeping = createPeriodicTask({
    async run(signal) {
      const open = await collection.countDocuments(OPEN_JOBS_INDEX.options.partialFilterExpression);
      const depth = open === 0 ? [] : await queue.depth();
      const queued = depth.reduce((sum, part) => sum + part.waiting + part.inFlight, 0);
      const missing = open - queued;
      const limit = Math.min(Math.max(missing, BATCH.min), BATCH.max);
      // When fewer jobs are there than documents, those that were to be checked later may be lost, too.
      const lateMs = isFirstSweep ? -EARLY_MS : overdueMs;
      const aheadMs = missing > BATCH.min ? MAX_PAUSE_MS : -lateMs;
      const documents = open === 0 ? [] : await overdue(new Date(Date.now() + aheadMs), limit);
      const failures: unknown[] = [];
      for (let i = 0; i < documents.length && !signal.aborted; i += CONCURRENCY) {
        failures.push(...(await publishAgain(documents.slice(i, i + CONCURRENCY))));
      }
      const count = documents.length - failures.length;
      if (count > 0) logger.info({ count, open, queued }, 'jobs that are overdue were published again');
      isFirstSweep = count === 0 && failures.length > 0;
      if (failures.length > 0) throw failures[0];
    },
    everyMs: () => (isFirstSweep ? Math.min(REFUSED_PAUSE_MS, everyMs) : everyMs),
    immediately: true,
    onError: (error) => logFailure(error),
  });

  return {
    start: sweeping.start,
    async stop() {
      stopping.abort();
      clearTimeout(retrying);
      await sweeping.stop();
      await Promise.all(inFlight);
    },
    publish,
  };
}

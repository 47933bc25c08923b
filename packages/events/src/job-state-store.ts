import { newId } from '@gatehouse/core/ids';
import { createBatches } from '@gatehouse/data/batches';
import { defineCollection } from '@gatehouse/data/collection';
import { duplicateKeyField } from '@gatehouse/data/duplicate-key';
import { insertNew } from '@gatehouse/data/insert-new';
import type { BeginResult, Job, JobStateStore, Outcome } from './job.ts';

/** The collection of the default store. The sweeper removes expired documents. */
export const JOB_ATTEMPTS = 'job_attempts';

type JobStateDocument = {
  /** `{queue}.{id of the job}` */
  _id: string;
  attempts: number;
  /** Set while an attempt has not ended; when it is over, the attempt never did. */
  leased_until: Date | null;
  /** The attempt that was begun last, after the first one. */
  holder?: string;
  /** Whether an attempt ever was interrupted. */
  interrupted?: boolean;
  ended?: boolean;
  expires_at: Date;
};

/** How long it is known that a job has ended: longer than one that was published twice may wait in a queue. */
const KEEP_MS = 30 * 86_400_000;

/** Jobs that are begun or ended with one command. */
const MAX_BATCH = 500;

/**
 * The states of jobs without a document of their own. Define it before the database starts; the service names JOB_ATTEMPTS
 * among its expiring collections.
 */
export function createJobStateStore(connection: Parameters<typeof defineCollection>[0]): JobStateStore {
  const index = { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } } as const;
  const jobs = defineCollection<JobStateDocument>(connection, JOB_ATTEMPTS, [index]);
  const keyOf = ({ queue, id }: Job) => `${queue}.${id}`;
  /** Matches a job whose latest attempt this is, and has not ended. */
  const latest = (attempts: number) => ({
    attempts,
    ended: { $ne: true },
    leased_until: { $ne: null },
  });
  const inMs = (ms: number) => ({ $add: ['$$NOW', ms] });

  /** Applies the stages to the document, which is made when there is none. */
  async function change(job: Job, stages: Record<string, unknown>[]): Promise<JobStateDocument> {
    const { attempts, leased_until, interrupted, ended, holder } = {
      attempts: { $ifNull: ['$attempts', 0] },
      leased_until: { $ifNull: ['$leased_until', null] },
      interrupted: { $ifNull: ['$interrupted', false] },
      ended: { $ifNull: ['$ended', false] },
      holder: { $ifNull: ['$holder', ''] },
    };
    const defaults = { attempts, leased_until, interrupted, ended, holder, expires_at: inMs(KEEP_MS) };
    for (;;) {
      try {
        const document = await jobs.findOneAndUpdate(
          { _id: keyOf(job) },
          [{ $set: defaults }, ...stages.map((stage) => ({ $set: stage }))],
          { upsert: true, returnDocument: 'after' },
        );
        if (document !== null) return document;
      } catch (error) {
        // Somebody else has just made it.
        if (duplicateKeyField(error) !== '_id') throw error;
      }
    }
  }

  /** Most jobs have one attempt: those that are begun for the first time are inserted together. */
  const beginFirst = createBatches<{ job: Job; leaseMs: number }, BeginResult | undefined>({
    max: MAX_BATCH,
    async run(begun) {
      const now = Date.now();
      const inserted = await insertNew(
        jobs,
        begun.map(({ job, leaseMs }) => ({
          _id: keyOf(job),
          attempts: 1,
          leased_until: new Date(now + leaseMs),
          expires_at: new Date(now + KEEP_MS),
        })),
      );
      return inserted.map((isNew) => (isNew ? { attempt: 1 } : undefined));
    },
  });

  /** Outcomes are recorded together. */
  const recordEnd = createBatches<{ job: Job; attempt: number; result: Outcome['result'] }, void>({
    max: MAX_BATCH,
    async run(ends) {
      const same = Map.groupBy(ends, ({ attempt, result }) => `${attempt} ${result}`);
      const operations = [...same.values()].map((group) => {
        const { attempt = 0, result } = group[0] ?? {};
        return {
          updateMany: {
            filter: { _id: { $in: group.map(({ job }) => keyOf(job)) }, ...latest(attempt) },
            update: {
              $set: { leased_until: null, ended: ['succeeded', 'rejected', 'dead'].includes(`${result}`) },
              $inc: { attempts: result === 'postponed' ? -1 : 0 },
            },
          },
        };
      });
      await jobs.bulkWrite(operations, { ordered: false });
      return ends.map(() => undefined);
    },
  });

  return {
    async begin(job, { leaseMs, exclusive }) {
      const first = await beginFirst({ job, leaseMs });
      if (first !== undefined) return first;
      const holder = newId('att');
      const leased = { $and: [{ $ne: ['$leased_until', null] }, { $gt: ['$leased_until', '$$NOW'] }] };
      const over = { $and: [{ $ne: ['$leased_until', null] }, { $lte: ['$leased_until', '$$NOW'] }] };
      const begins = { $not: { $or: ['$ended', leased, exclusive ? false : '$interrupted'] } };
      const ifBegun = (yes: unknown, no: string) => ({ $cond: [{ $eq: ['$holder', holder] }, yes, no] });
      const now = new Date();
      const document = await change(job, [
        { interrupted: { $or: ['$interrupted', over] } },
        { holder: { $cond: [begins, holder, '$holder'] } },
        {
          attempts: ifBegun({ $add: ['$attempts', 1] }, '$attempts'),
          leased_until: ifBegun(inMs(leaseMs), '$leased_until'),
        },
      ]);
      if (document.holder === holder) return { attempt: document.attempts };
      if (document.ended) return 'ended';
      const busyMs = (document.leased_until?.getTime() ?? 0) - now.getTime();
      // Near the end of the lease the clocks may disagree; a repeated call soon gets the same response or another.
      return document.interrupted && busyMs <= 0 ? 'exclusive' : { busyMs: Math.max(busyMs, 0) };
    },
    async renew(job, attempt, leaseMs) {
      const lease = [{ $set: { leased_until: inMs(leaseMs) } }];
      const { matchedCount } = await jobs.updateOne({ _id: keyOf(job), ...latest(attempt) }, lease);
      return matchedCount === 1;
    },
    end: (job, attempt, { result }) => recordEnd({ job, attempt, result }),
    async reset(job) {
      await change(job, [{ attempts: 0, leased_until: null, ended: false }]);
    },
  };
}

import { newId } from '@gatehouse/kit/ids';
import { defineCollection } from '@gatehouse/mongo/collection';
import { duplicateKeyField } from '@gatehouse/mongo/duplicate-key';
import type { Job, JobLedger } from './job.ts';

/** The collection of the default ledger. The sweeper removes what has expired. */
export const JOB_ATTEMPTS = 'job_attempts';

type LedgerDocument = {
  /** `{queue}.{id of the job}` */
  _id: string;
  attempts: number;
  /** The attempt that was begun last. */
  holder: string;
  /** Set while an attempt has not ended; when it is over, the attempt never did. */
  leased_until: Date | null;
  /** Whether an attempt ever was interrupted. */
  interrupted: boolean;
  ended: boolean;
  expires_at: Date;
};

/** How long it is known that a job has ended: longer than one that was published twice may wait in a queue. */
const KEEP_MS = 30 * 86_400_000;

/**
 * A ledger for jobs without a document of their own. Define it before the database starts; the service names JOB_ATTEMPTS
 * among its expiring collections.
 */
export function createJobLedger(connection: Parameters<typeof defineCollection>[0]): JobLedger {
  const index = { fields: { expires_at: 1 }, options: { name: 'expires_at_1' } } as const;
  const jobs = defineCollection<LedgerDocument>(connection, JOB_ATTEMPTS, [index]);
  const keyOf = ({ queue, id }: Job) => `${queue}.${id}`;
  const latest = (job: Job, attempts: number) => ({
    _id: keyOf(job),
    attempts,
    ended: false,
    leased_until: { $ne: null },
  });
  const inMs = (ms: number) => ({ $add: ['$$NOW', ms] });

  /** Applies the stages to the document, which is made when there is none. */
  async function change(job: Job, stages: Record<string, unknown>[]): Promise<LedgerDocument> {
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

  return {
    async begin(job, { leaseMs, alone }) {
      const holder = newId('att');
      const leased = { $and: [{ $ne: ['$leased_until', null] }, { $gt: ['$leased_until', '$$NOW'] }] };
      const over = { $and: [{ $ne: ['$leased_until', null] }, { $lte: ['$leased_until', '$$NOW'] }] };
      const begins = { $not: { $or: ['$ended', leased, alone ? false : '$interrupted'] } };
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
      // Near the end of the lease the clocks may disagree; whoever asks again soon gets the same answer or another.
      return document.interrupted && busyMs <= 0 ? 'alone' : { busyMs: Math.max(busyMs, 0) };
    },
    async renew(job, attempt, leaseMs) {
      const lease = [{ $set: { leased_until: inMs(leaseMs) } }];
      const { matchedCount } = await jobs.updateOne(latest(job, attempt), lease);
      return matchedCount === 1;
    },
    async end(job, attempt, { result }) {
      await jobs.updateOne(latest(job, attempt), {
        $set: { leased_until: null, ended: ['succeeded', 'rejected', 'dead'].includes(result) },
        $inc: { attempts: result === 'postponed' ? -1 : 0 },
      });
    },
    async reset(job) {
      await change(job, [{ attempts: 0, leased_until: null, ended: false }]);
    },
  };
}

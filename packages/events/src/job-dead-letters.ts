import { IS_OPEN, type JobDocument } from '@gatehouse/data/job-document';
import type { JobKind, Jobs } from './job-kind.ts';

/** Reads, replays and forgets the jobs of a collection that have become dead letters. */
export function createDeadLetters<D extends JobDocument, R>(jobs: Jobs, kind: JobKind<D, R>) {
  return {
    async deadLetters(limit: number, after?: { at: Date; id: string }): Promise<D[]> {
      const later = after && {
        $or: [{ 'job.dead.at': { $gt: after.at } }, { 'job.dead.at': after.at, _id: { $gt: after.id } }],
      };
      const found = await jobs
        .find({ 'job.dead.at': IS_OPEN, ...later }, { sort: { 'job.dead.at': 1, _id: 1 }, limit })
        .toArray();
      return found as unknown as D[];
    },

    deadLetter: async (id: string) =>
      (await jobs.findOne({ _id: id, 'job.dead.at': IS_OPEN })) as unknown as D | null,

    /** Makes a dead letter due again, with all its attempts. Returns whether it was there. */
    async replay(id: string): Promise<boolean> {
      const due = { 'job.due': new Date(), 'job.attempts': 0, 'job.holder': null };
      const update = { $set: { ...kind.reset, ...due }, $unset: { 'job.dead': '' }, $inc: { version: 1 } };
      const { matchedCount } = await jobs.updateOne({ _id: id, 'job.dead.at': IS_OPEN }, update as never);
      return matchedCount === 1;
    },

    /** Forgets dead letters; their documents stay. Returns their number. */
    async forget(of: { id: string } | { lane?: string }): Promise<number> {
      const which = 'id' in of ? { _id: of.id } : of.lane === undefined ? {} : { 'job.lane': of.lane };
      const ended = { $set: { job: null } };
      return (await jobs.updateMany({ ...which, 'job.dead.at': IS_OPEN }, ended)).modifiedCount;
    },
  };
}
